/* SPDX-License-Identifier: MIT */
#include "analysis/launch/repeat.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analysis/launch/child.h"
#include "analysis/launch/program.h"

/* Behind the options of the user: "run" PROGRAM's own; a later option replaces an earlier one. */
#define ADDED 5

bool cpa_repeat_read(const char *text, unsigned *runs)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || number < 1 || number > CPA_REPEAT_MOST)
		return false;
	*runs = (unsigned)number;
	return true;
}

/* Whether @name is @prefix, a number and ".dump". */
static bool is_numbered(const char *name, const char *prefix)
{
	const char *number = name + strlen(prefix) + 1;

	return strcmp(number + strspn(number, "0123456789"), ".dump") == 0;
}

/* Profiles of earlier runs would be taken for some of these. Return 0, or an exit status. */
static int make_room(const struct cpa_repeat *repeat)
{
	char *pattern;
	glob_t found;
	int ret = 0;

	if (asprintf(&pattern, "%s.[0-9]*.dump", repeat->output) < 0)
		return CPA_EXIT_CANNOT_EXECUTE;
	if (glob(pattern, 0, NULL, &found) == 0) {
		for (size_t i = 0; i < found.gl_pathc && ret == 0; i++) {
			const char *name = found.gl_pathv[i];

			if (!is_numbered(name, repeat->output))
				continue;
			if (repeat->force && unlink(name) == 0)
				continue;
			cpa_complain("run: --repeat: %s exists already (remove it, name another "
				     "--output, or use --force to remove all of this name)",
				     name);
			ret = CPA_EXIT_USAGE;
		}
		globfree(&found);
	}
	free(pattern);
	return ret;
}

/* Run number @run with @argv, of which @name is the output. Return its wait status, or -errno. */
static int run_once(char **argv)
{
	struct cpa_parts none = { 0 };
	struct cpa_child child;
	int ret = cpa_child_start(&child, "/proc/self/exe", argv);

	if (ret < 0)
		return ret;
	ret = cpa_child_wait(&child, &none);
	sigprocmask(SIG_SETMASK, &child.old_mask, NULL);
	return ret;
}

/* The run ended with wait status @status: end alike. */
static void __attribute__((noreturn))
fail(const struct cpa_repeat *repeat, unsigned run, int status)
{
	const char *how = WIFSIGNALED(status) ? "signal" : "exit status";
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);

	cpa_complain("run %u of %u failed, %s %d: no comparison of failed runs, the rest was not "
		     "started",
		     run, repeat->runs, how, number);
	cpa_child_end_alike(status);
}

/* The arguments of one run; the place of its output in them is at @name. The caller frees them. */
static char **make_arguments(const struct cpa_repeat *repeat, char ***name)
{
	static char command[] = "run", once[] = "--single", quiet[] = "-q", output[] = "-o",
		    dashes[] = "--";
	size_t count = 2 + (size_t)repeat->options + ADDED, used = 0;
	char **argv;

	for (char **each = repeat->program; *each; each++)
		count++;
	argv = calloc(count + 1, sizeof(*argv));
	if (!argv)
		return NULL;
	argv[used++] = repeat->argv[0];
	argv[used++] = command;
	for (int i = 0; i < repeat->options; i++)
		argv[used++] = repeat->argv[1 + i];
	argv[used++] = once;
	argv[used++] = quiet;
	argv[used++] = output;
	*name = &argv[used++];
	argv[used++] = dashes;
	for (char **each = repeat->program; *each; each++)
		argv[used++] = *each;
	return argv;
}

int cpa_repeat_run(const struct cpa_repeat *repeat)
{
	char **name, **argv = make_arguments(repeat, &name);
	int ret = argv ? make_room(repeat) : CPA_EXIT_CANNOT_EXECUTE;

	for (unsigned run = 1; run <= repeat->runs && ret == 0; run++) {
		if (asprintf(name, "%s.%u.dump", repeat->output, run) < 0)
			ret = -errno;
		else
			ret = run_once(argv);
		free(*name);
		if (ret > 0)
			fail(repeat, run, ret);
		if (ret < 0) {
			cpa_complain("run %u of %u cannot be started: %s", run, repeat->runs,
				     strerror(-ret));
			ret = CPA_EXIT_CANNOT_EXECUTE;
		}
	}
	free(argv);
	return ret;
}
