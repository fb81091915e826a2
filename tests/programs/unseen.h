/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unseen.h - processes that have a pipe open for writing, and close it unseen by cpa
 */
#ifndef CPA_TESTS_PROGRAMS_UNSEEN_H
#define CPA_TESTS_PROGRAMS_UNSEEN_H

#include <stdio.h>
#include <unistd.h>

#include "tests/programs/stream_work.h"

#define ASLEEP 3 /* looks, 10 ms apart, at which a process sleeps */

/* Ends for main, for who lets the unseen one go, and for that one. */
static int the_pipe[2], go[2];

/* The unseen one: it has the pipe until nobody has the other end of `go` any more. */
static void hold(void)
{
	char byte;

	close(go[1]);
	(void)!read(go[0], &byte, 1);
	_exit(0);
}

static char *no_environment[] = { NULL };
static char *shell[] = { "/bin/sh", "-c", "read x", NULL };

/* Before the shell is executed: its standard input. */
static void prepare_shell(void)
{
	must(dup2(go[0], STDIN_FILENO) == STDIN_FILENO && !close(go[1]));
}

static void by_strange_output(void)
{
	if (fork())
		return;
	prepare_shell();
	execve(shell[0], shell, no_environment);
	_exit(9);
}

static void by_bare_fork(void)
{
	if (!_Fork())
		hold();
}

static void await_sleep(pid_t process)
{
	char name[64], state;

	for (unsigned i = 0; i < ASLEEP; i = state == 'S' ? i + 1 : 0) {
		FILE *f;

		snprintf(name, sizeof(name), "/proc/%d/stat", process);
		f = fopen(name, "re");
		must(f && fscanf(f, "%*[^)]) %c", &state) == 1);
		fclose(f);
		usleep(10000);
	}
}

#endif
