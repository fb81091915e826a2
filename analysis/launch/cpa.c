/* SPDX-License-Identifier: MIT */
/* analysis/launch/cpa.c - cpa: its commands, most of which are programs of their own */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/launch/beside.h"
#include "analysis/launch/folder.h"
#include "analysis/launch/help.h"
#include "analysis/launch/program.h"
#include "analysis/launch/run.h"

/* cpa-report --view, with the arguments that follow argv[0], which is the command. */
static int view(int argc, char **argv)
{
	static char option[] = "--view";
	char **longer = malloc(((size_t)argc + 2) * sizeof(*longer));
	int ret;

	if (!longer) {
		cpa_complain("view: out of memory");
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	longer[0] = argv[0];
	longer[1] = option;
	memcpy(longer + 2, argv + 1, (size_t)argc * sizeof(*longer));
	ret = cpa_beside_become("cpa-report", longer);
	free(longer);
	return ret;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : NULL;

	if (!command) {
		fputs(cpa_help, stderr);
		return CPA_EXIT_USAGE;
	}
	if (strcmp(command, "run") == 0)
		return cpa_run(argv[0], argc - 1, argv + 1);
	if (strcmp(command, "report") == 0)
		return cpa_beside_become("cpa-report", argv + 1);
	if (strcmp(command, "view") == 0)
		return view(argc - 1, argv + 1);
	if (strcmp(command, "diff") == 0)
		return cpa_beside_become("cpa-diff", argv + 1);
	if (strcmp(command, "top") == 0)
		return cpa_beside_become("cpa-top", argv + 1);
	if (strcmp(command, "ctl") == 0)
		return cpa_beside_become("cpa-ctl", argv + 1);
	if (strcmp(command, "ls") == 0)
		return cpa_folder_list(argc - 1, argv + 1);
	if (strcmp(command, "rm") == 0)
		return cpa_folder_remove(argc - 1, argv + 1);
	if (strcmp(command, "-h") == 0 || strcmp(command, "--help") == 0 ||
	    strcmp(command, "help") == 0) {
		fputs(cpa_help, stdout);
		return 0;
	}
	if (strcmp(command, "-V") == 0 || strcmp(command, "--version") == 0) {
		puts("cpa " CPA_VERSION);
		return 0;
	}
	cpa_complain(
		"%s: no such command (one of run, report, view, diff, top, ctl, ls, rm; see cpa --help)",
		command);
	return CPA_EXIT_USAGE;
}
