/* SPDX-License-Identifier: MIT */
/* analysis/symbols/packages.c - the Debian package that has the symbols of a file */
#include "analysis/symbols/packages.h"

#include <errno.h>
#include <fcntl.h>
#include <libiberty/libiberty.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/symbols/symbols.h"
#include "analysis/util/format.h"

#define USR   "/usr"
#define KNOWN 16u

/*
 * ms until dpkg-query answers. It reads the lists of files of all packages first, which takes many seconds on a disk
 * that is busy.
 */
#define PATIENCE 2000

extern char **environ;

/*
 * Start dpkg-query -S with the @paths, which NULL ends; *@out reads what it prints. 0: it cannot.
 */
static pid_t ask(const char *const *paths, FILE **out)
{
	const char *arguments[8] = { "dpkg-query", "-S" };
	posix_spawn_file_actions_t actions;
	int ends[2];
	pid_t pid = 0;

	for (size_t i = 0; paths[i] && i + 3 < ARRAY_SIZE(arguments); i++)
		arguments[i + 2] = paths[i];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return 0;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
	if (posix_spawnp(&pid, arguments[0], &actions, NULL, (char **)arguments, environ) != 0)
		pid = 0;
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*out = pid ? fdopen(ends[0], "r") : NULL;
	if (!*out)
		close(ends[0]);
	return pid;
}

/*
 * The package of a line of its answer, "libc6:amd64: /lib/x86_64-linux-gnu/libc.so.6"; NULL: a line
 * of another kind, as those about diversions are.
 */
static char *package_of(const char *line)
{
	size_t length = strcspn(line, ":, \n");

	return length && line[length] == ':' && strstr(line, ": /") ? xstrndup(line, length) : NULL;
}

/* Whether @pid, which prints to @out, does so in time. Else it is killed. */
static bool answers(pid_t pid, FILE *out)
{
	struct pollfd answer = { .fd = fileno(out), .events = POLLIN };
	int ready;

	while ((ready = poll(&answer, 1, PATIENCE)) < 0 && errno == EINTR)
		;
	if (ready <= 0)
		kill(pid, SIGKILL);
	return ready > 0;
}

/* The package with one of the @paths; NULL: not known. */
static char *find_package(const char *const *paths)
{
	FILE *out = NULL;
	pid_t pid = ask(paths, &out);
	char *package = NULL, *line = NULL;
	size_t room = 0;
	bool answered;

	if (!pid)
		return NULL;
	answered = out && answers(pid, out);
	while (answered && getline(&line, &room, out) >= 0)
		if (!package)
			package = package_of(line);
	free(line);
	if (out)
		fclose(out);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return package;
}

/* @path as it is in the other of / and /usr, which Debian has merged; the caller frees it. */
static char *other_path(const char *path)
{
	bool is_usr = strncmp(path, USR "/", strlen(USR "/")) == 0;

	return is_usr ? xstrdup(path + strlen(USR)) : cpa_format_text(USR "%s", path);
}

static char *find_debug(const char *path)
{
	char *real, *package, *name = NULL;

	/* dpkg-query takes patterns. */
	if (cpa_symbols_here || path[0] != '/' || strpbrk(path, "*?[]\\"))
		return NULL;
	real = realpath(path, NULL);
	if (real && !strpbrk(real, "*?[]\\")) {
		char *other = other_path(path), *real_other = other_path(real);

		package = find_package((const char *[]){ path, other, real, real_other, NULL });
		free(other);
		free(real_other);
		/* The one package of Debian's core that has no automatic package of symbols. */
		if (package)
			name = cpa_format_text("%s-%s", package,
					       strcmp(package, "libc6") == 0 ? "dbg" : "dbgsym");
		free(package);
	}
	free(real);
	return name;
}

char *cpa_packages_debug(const char *path)
{
	/* cpa top asks for the same few again and again; cpa-diff for those of each run. */
	static struct {
		char *path, *name;
	} known[KNOWN];
	static size_t next;
	size_t i = 0;

	while (i < KNOWN && known[i].path && strcmp(known[i].path, path) != 0)
		i++;
	if (i == KNOWN || !known[i].path) {
		i = next++ % KNOWN;
		free(known[i].path);
		free(known[i].name);
		known[i].path = xstrdup(path);
		known[i].name = find_debug(path);
	}
	return known[i].name ? xstrdup(known[i].name) : NULL;
}
