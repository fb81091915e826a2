/* SPDX-License-Identifier: MIT */
/* analysis/report/pager.c - show long text page by page, as git does */
#include "analysis/report/pager.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static pid_t pager; /* 0: none */

/* The command, NULL: none. */
static const char *choose(void)
{
	const char *command = getenv("CPA_PAGER");

	if (!command)
		command = getenv("PAGER");
	if (!command)
		command = "less";
	return *command && strcmp(command, "cat") != 0 ? command : NULL;
}

void cpa_pager_start(void)
{
	const char *command = choose();
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
	posix_spawn_file_actions_t files;
	int ends[2], error;

	if (!command || !isatty(STDOUT_FILENO) || pipe2(ends, O_CLOEXEC) < 0)
		return;
	setenv("LESS", "FRX", 0);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
	error = posix_spawn(&pager, "/bin/sh", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	close(ends[0]);
	if (error)
		pager = 0;
	else
		dup2(ends[1], STDOUT_FILENO);
	close(ends[1]);
}

int cpa_pager_end(void)
{
	int ret = fflush(stdout) || ferror(stdout) ? EOF : 0, error = errno;

	if (pager) {
		close(STDOUT_FILENO);
		while (waitpid(pager, NULL, 0) < 0 && errno == EINTR)
			;
		pager = 0;
	}
	errno = error;
	return ret;
}
