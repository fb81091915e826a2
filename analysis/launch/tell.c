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

#define TEXT	4096
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

/* Cut @text behind its first line. Return the rest. */
static char *cut_line(char *text)
{
	char *end = text + strcspn(text, "\n");

	if (!*end)
		return end;
	*end = '\0';
	return end + 1;
}

/* Read up to the end of the second line. */
static void read_lines(int fd, char *text, size_t size)
{
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	size_t length = 0;

	text[0] = '\0';
	while (length + 1 < size && poll(&ready, 1, WAIT_MS) > 0) {
		const char *first;
		ssize_t more = read(fd, text + length, size - 1 - length);

		if (more <= 0)
			break;
		length += (size_t)more;
		text[length] = '\0';
		first = strchr(text, '\n');
		if (first && strchr(first + 1, '\n'))
			break;
	}
}

/* Whether @line, the report's first one, is a reason to doubt the verdict, which follows then. */
static bool is_doubt(const char *line)
{
	static const char *const begins[] = { "This may be off: ", "Only " };

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (strncmp(line, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

/* Tell the verdict in @text, and then why it may be off. */
static void tell(char *text)
{
	char *second = cut_line(text);

	cut_line(second);
	if (is_doubt(text) && *second)
		cpa_complain("%s", second);
	if (*text)
		cpa_complain("%s", text);
}

void cpa_tell_verdict(const char *path, const char *dump, const sigset_t *mask)
{
	char text[TEXT];
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = start(path, dump, ends[1], mask);
	close(ends[1]);
	if (pid > 0) {
		read_lines(ends[0], text, sizeof(text));
		tell(text);
		kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
}
