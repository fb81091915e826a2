/* SPDX-License-Identifier: MIT */
#include "analysis/launch/tell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/launch/program.h"

#define LINE	1024
#define WAIT_MS 10000 /* for more output; names of a large program take seconds */

/* Start cpa-report with its output in @out. Return its pid, or -1. */
static pid_t start(const char *path, const char *dump, int out, const sigset_t *mask)
{
	char *const argv[] = { (char *)path, "--level", "verdict",    "--color", "never",
			       "--width",    "1000",	(char *)dump, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	pid_t pid = -1;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigmask(&attributes, mask);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
	if (posix_spawn(&pid, path, &files, &attributes, argv, environ) != 0)
		pid = -1;
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&files);
	return pid;
}

/* Read up to the end of the first line. Return whether there is one. */
static bool read_line(int fd, char *line, size_t size)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t length = 0;

	while (length + 1 < size && poll(&ready, 1, WAIT_MS) > 0) {
		ssize_t more = read(fd, line + length, size - 1 - length);

		if (more <= 0)
			break;
		length += (size_t)more;
		line[length] = '\0';
		if (strchr(line, '\n'))
			break;
	}
	line[length] = '\0';
	line[strcspn(line, "\n")] = '\0';
	return *line;
}

void cpa_tell_verdict(const char *path, const char *dump, const sigset_t *mask)
{
	char line[LINE];
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = start(path, dump, ends[1], mask);
	close(ends[1]);
	if (pid > 0) {
		if (read_line(ends[0], line, sizeof(line)))
			cpa_complain("%s", line);
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
}
