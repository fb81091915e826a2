/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/ctl.c - cpa-ctl: switch the profiling of a program, keep a budget, mark a moment,
 * copy the profile
 *
 * Works through the mapped session file only: it never stops, signals or attaches to the process.
 */
#include <errno.h>
#include <getopt.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/ctl/budget.h"
#include "analysis/ctl/control.h"
#include "analysis/ctl/windows.h"
#include "analysis/input/copy.h"
#include "analysis/input/find_dump.h"
#include "analysis/input/process.h"

#define EXIT_FAILED    1
#define EXIT_BAD_USAGE 2

static const char help[] =
	"Usage: cpa ctl PID|DUMP start|stop\n"
	"       cpa ctl PID|DUMP budget SHARE\n"
	"       cpa ctl PID|DUMP mark NAME\n"
	"       cpa ctl PID|DUMP snapshot FILE\n"
	"Control the profiling of a running program: process PID, started by cpa run, or the "
	"process\n"
	"that writes DUMP.\n"
	"\n"
	"  start, stop     switch profiling on or off; the report covers only the profiled parts\n"
	"  budget SHARE    profile in windows, so that cpa takes about SHARE (2%, 0.5%) of the\n"
	"                  program's CPU time, by an estimate; ends with the program, or by Ctrl-C:\n"
	"                  profiling is then off\n"
	"  mark NAME       record the present moment under NAME; the report lists it\n"
	"  snapshot FILE   copy the present profile to FILE\n"
	"\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0, 1 for a process or a dump that cannot be controlled, 2 for wrong usage.\n";

static int complain(int status, char *what)
{
	fprintf(stderr, "cpa-ctl: %s\n", what);
	free(what);
	return status;
}

/* Number of arguments that @command takes; -1: unknown command. */
static int operands(const char *command)
{
	static const struct {
		const char *name;
		int operands;
	} known[] = {
		{ "start", 0 }, { "stop", 0 }, { "budget", 1 }, { "mark", 1 }, { "snapshot", 1 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(command, known[i].name) == 0)
			return known[i].operands;
	return -1;
}

static int parse_options(int argc, char **argv)
{
	static const struct option options[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		{ 0 },
	};
	double share;
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == '?')
			exit(complain(EXIT_BAD_USAGE,
				      concat("option ", argv[optind - 1],
					     ": not known (see cpa ctl --help)", NULL)));
		fputs(option == 'h' ? help : "cpa-ctl " CPA_VERSION "\n", stdout);
		exit(fflush(stdout) ? EXIT_FAILED : 0);
	}
	argc -= optind;
	argv += optind;
	if (argc < 2)
		exit(complain(EXIT_BAD_USAGE, xstrdup("a process or dump and a command expected "
						      "(see cpa ctl --help)")));
	if (operands(argv[1]) < 0)
		exit(complain(EXIT_BAD_USAGE, concat(argv[1],
						     ": no such command (one of start, "
						     "stop, budget, mark, snapshot)",
						     NULL)));
	if (argc - 2 != operands(argv[1]))
		exit(complain(EXIT_BAD_USAGE, concat(argv[1],
						     operands(argv[1]) ? ": one argument expected" :
									 ": no argument expected",
						     " (see cpa ctl --help)", NULL)));
	if (strcmp(argv[1], "mark") == 0 && !argv[2][0])
		exit(complain(EXIT_BAD_USAGE, xstrdup("mark: a name expected")));
	if (strcmp(argv[1], "budget") == 0 && !cpa_windows_budget(argv[2], &share))
		exit(complain(EXIT_BAD_USAGE,
			      concat("budget ", argv[2], ": not a share from 0.01% to 100% (as 2%)",
				     NULL)));
	return optind;
}

static int act(struct cpa_control *control, uint32_t pid, char **argv, char **error)
{
	double share;

	if (strcmp(argv[1], "budget") == 0 && cpa_windows_budget(argv[2], &share))
		return cpa_budget_keep(control, pid, share, error);
	if (strcmp(argv[1], "mark") == 0)
		return cpa_control_mark(control, argv[2], error);
	if (strcmp(argv[1], "snapshot") == 0)
		return cpa_copy_session(control->file, argv[2], error);
	if (strcmp(argv[1], "stop") == 0)
		return cpa_windows_stop(control, error);
	return cpa_control_switch(control, true, error);
}

int main(int argc, char **argv)
{
	struct cpa_control control;
	char *error = NULL, *file;
	uint32_t pid = 0;
	int ret;

	argv += parse_options(argc, argv);
	file = cpa_dump_find(argv[0], &pid, &error);
	if (!file)
		return complain(EXIT_FAILED, error);
	if (cpa_control_open(&control, file, &error) < 0) {
		free(file);
		return complain(EXIT_FAILED, error);
	}
	pid = pid ? pid : control.header->pid;
	ret = cpa_process_writes(pid, file) ? act(&control, pid, argv, &error) :
					      cpa_control_dead(&control, &error);
	cpa_control_close(&control);
	free(file);
	return ret < 0 ? complain(EXIT_FAILED, error) : 0;
}
