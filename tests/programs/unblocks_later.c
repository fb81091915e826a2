/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unblocks_later.c - a child process that blocks all signals at first, as those of PostgreSQL do
 *
 * It prints how many perf events are mapped in it: while it blocks signals, and later.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define BLOCKED_MS 50
#define LATER_MS   400 /* in an exact run a perf event has a quarter of a second */

static int perf_events(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int found = 0;

	if (!maps)
		exit(1);
	while (fgets(line, sizeof(line), maps))
		found += strstr(line, "[perf_event]") != NULL;
	fclose(maps);
	return found;
}

static void be_child(void)
{
	sigset_t none;
	int blocked;

	burn_ms(BLOCKED_MS);
	blocked = perf_events();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	burn_ms(LATER_MS);
	printf("%d %d\n", blocked, perf_events());
	exit(0);
}

int main(void)
{
	sigset_t all;
	int status;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	pid = fork();
	if (!pid)
		be_child();
	return pid < 0 || waitpid(pid, &status, 0) != pid || status;
}
