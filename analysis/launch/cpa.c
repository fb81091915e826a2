/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/cpa.c - the launcher: run a program with libcpa.so, then print the next command
 */

#include "analysis/launch/child.h"
#include "analysis/launch/folder.h"
#include "analysis/launch/load.h"
#include "analysis/launch/output.h"
#include "analysis/launch/program.h"
#include "analysis/launch/repeat.h"
#include "analysis/launch/sanitizer.h"
#include "analysis/launch/tell.h"
#include "shadow/store/by.h"
#include "shadow/store/size.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEFAULT_JOURNAL "256M"

#define EVERY_LEAST_NS UINT64_C(1000000000)
#define KEEP_NS	       (7 * UINT64_C(86400000000000))
#define KEEP_BYTES     (UINT64_C(1) << 30)

static const char usage_text[] =
	"usage: cpa run [-q] [-f] [-o FILE] [--delay TIME] [--duration TIME]\n"
	"               [--budget SHARE] [--every TIME] [--keep TIME[,SIZE]]\n"
	"               [--journal[=SIZE]] [--by caller:N] [--repeat N] [--]\n"
	"               PROGRAM [ARGUMENT...]\n"
	"       cpa report [OPTION...] [DUMP|PID]\n"
	"       cpa view [OPTION...] [DUMP|PID]\n"
	"       cpa diff [OPTION...] BASE [NEW]\n"
	"       cpa top [PID|DUMP]\n"
	"       cpa ctl PID|DUMP start|stop|budget SHARE|mark NAME|snapshot FILE\n"
	"       cpa ls\n"
	"       cpa rm [--older TIME] [DUMP...]\n"
	"\n"
	"  run                 run PROGRAM and write its profile; the exit status is PROGRAM's\n"
	"    -o, --output FILE   write the profile to FILE; in FILE, %e stands for the "
	"executable,\n"
	"                        %p for the process id, %h for the host (default: a new file in "
	".cpa)\n"
	"    -f, --force         replace FILE if it exists\n"
	"    -q, --quiet         do not print the verdict and where the profile is\n"
	"    --delay TIME        start profiling TIME (500ms, 30s, 2m, 1h) after PROGRAM's start\n"
	"    --duration TIME     profile for TIME, then stop; cpa ctl and CPA_START() override "
	"both\n"
	"    --budget SHARE      profile in windows, so that cpa takes about SHARE (2%, 0.5%) of\n"
	"                        PROGRAM's CPU time, by an estimate: docs/parts.md\n"
	"    --every TIME        copy the profile each TIME (1m): cpa report --at, --since\n"
	"    --keep TIME[,SIZE]  keep copies so long, and so much of them (default 7d,1G)\n"
	"    --journal[=SIZE]    also record each event, about 8 bytes each; the latest SIZE "
	"bytes\n"
	"                        (64K, 200M, 2G; default " DEFAULT_JOURNAL ") are kept\n"
	"    --by caller:N       divide functions by their N innermost callers, 1 to 16: what each\n"
	"                        part of a function would save is then known as well\n"
	"    --repeat N          run PROGRAM N times, write FILE.1.dump, FILE.2.dump ..., and show "
	"medians\n"
	"                        and spread\n"
	"  report              show a profile; see cpa-report --help\n"
	"  view                show a profile as a page in the browser\n"
	"  diff                compare runs before and after a change; see cpa diff --help\n"
	"  top                 watch a program that cpa run started, updated each second; ?: keys\n"
	"  ctl                 switch profiling, keep a budget, mark a moment, or copy the profile\n"
	"  ls                  list the profiles in the folder .cpa, newest first\n"
	"  rm                  remove profiles in it: those named, or older than TIME (12h, 7d)\n"
	"\n"
	"  help, -h, --help    this text\n"
	"  -V, --version       the version\n"
	"\n"
	"Exit status: 2 wrong usage, or FILE cannot be written; 126 PROGRAM cannot be profiled;\n"
	"127 PROGRAM not found. In these cases PROGRAM was not started.\n"
	"Environment: CPA_LIB names another libcpa.so; man cpa-run has the rest.\n";

/* The folder of this executable. Return false if unknown. */
static bool own_folder(char *folder)
{
	ssize_t len = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	char *slash;

	folder[len > 0 ? len : 0] = '\0';
	slash = strrchr(folder, '/');
	if (slash)
		*slash = '\0';
	return slash;
}

/* Find an installed or freshly built file of cpa in @folders, relative to the executable. */
static bool find_beside(const char *const *folders, const char *name, char *found)
{
	char own[PATH_MAX], path[2 * PATH_MAX];

	if (!own_folder(own))
		return false;
	for (; *folders; folders++) {
		snprintf(path, sizeof(path), "%s/%s/%s", own, *folders, name);
		if (access(path, R_OK) == 0 && realpath(path, found))
			return true;
	}
	return false;
}

/* Find libcpa.so. Return 0, or an exit status after one line on stderr. */
static int find_library(char *library)
{
	static const char *const folders[] = { ".", "../lib/cpa", "../lib", NULL };
	const char *wanted = getenv("CPA_LIB");

	if (wanted && *wanted) {
		if (!realpath(wanted, library) || access(library, R_OK) < 0) {
			cpa_complain("CPA_LIB=%s: %s (name a libcpa.so, or unset it)", wanted,
				     strerror(errno));
			return CPA_EXIT_USAGE;
		}
	} else if (!find_beside(folders, "libcpa.so", library)) {
		cpa_complain("libcpa.so: not found beside cpa nor in ../lib/cpa "
			     "(run make, or set CPA_LIB)");
		return CPA_EXIT_USAGE;
	}
	if (strpbrk(library, ": ")) {
		cpa_complain("%s: LD_PRELOAD cannot hold a path with a blank or colon "
			     "(move it, or set CPA_LIB)",
			     library);
		return CPA_EXIT_USAGE;
	}
	return 0;
}

static char *preloaded; /* LD_PRELOAD before preload(); NULL: there was none */

static int preload(const char *library, const char *image)
{
	const char *old = getenv("LD_PRELOAD");
	char *value, sanitizer[64];
	int ret;

	preloaded = old ? strdup(old) : NULL; /* setenv() may free it */
	cpa_sanitizer_of(image, sanitizer, sizeof(sanitizer));
	if (asprintf(&value, "%s%s%s%s%s", sanitizer, *sanitizer ? ":" : "", library,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return -1;
	ret = setenv("LD_PRELOAD", value, 1);
	free(value);
	return ret;
}

/*
 * Print the verdict, the place of the profile, and a command for it: cpa-report is in the folder of
 * cpa. @mask: the signal mask of the launcher before.
 */
static void name_next(const char *argv0, const char *dump, const sigset_t *mask)
{
	static const char *const folders[] = { ".", "../bin", NULL };
	const char *slash = strrchr(argv0, '/'), *shown = cpa_folder_short(dump);
	int folder = slash ? (int)(slash + 1 - argv0) : 0;
	char report[PATH_MAX];
	struct stat st;

	if (stat(dump, &st) < 0 || st.st_size == 0) {
		cpa_complain(
			"no profile in %s: the program did not load libcpa.so, or it could not "
			"write the file (a line above then says why)",
			shown);
		return;
	}
	if (find_beside(folders, "cpa-report", report))
		cpa_tell_verdict(report, dump, mask);
	cpa_complain("profile in %s; next: %.*scpa-report %s", shown, folder, argv0, shown);
}

/* For programs that are no part of the run: LD_PRELOAD as it was before preload(). */
static void unload(void)
{
	if (preloaded)
		setenv("LD_PRELOAD", preloaded, 1);
	else
		unsetenv("LD_PRELOAD");
}

/*
 * Check the size @journal, NULL if there is none. @last: the option before @program. Return 0, or
 * an exit status after one line on stderr.
 */
static int check_journal(const char *journal, const char *last, const char *program)
{
	uint64_t bytes;

	if (!journal)
		return 0;
	if (!cpa_size_read(journal, &bytes)) {
		cpa_complain(
			"run: --journal=%s: not a size from 64K to 64G (give a number and K, M or "
			"G, as 200M)",
			journal);
		return CPA_EXIT_USAGE;
	}
	if (strcmp(last, "--journal") == 0 && cpa_size_read(program, &bytes)) {
		cpa_complain(
			"run: --journal %s: write the size after '=' (--journal=%s; for a program "
			"of that name: "
			"--journal -- %s)",
			program, program, program);
		return CPA_EXIT_USAGE;
	}
	return 0;
}

/* Execute the tool @name, which is in the folder of cpa. Return an exit status if that fails. */
static int become(const char *name, char **argv)
{
	static const char *const folders[] = { ".", "../bin", NULL };
	char path[PATH_MAX];

	if (!find_beside(folders, name, path)) {
		cpa_complain("%s: not found beside cpa (run make)", name);
		return CPA_EXIT_NOT_FOUND;
	}
	argv[0] = path;
	execv(path, argv);
	cpa_complain("%s: cannot be started: %s", path, strerror(errno));
	return CPA_EXIT_CANNOT_EXECUTE;
}

/* Run the program several times, then show medians and spread. Return an exit status. */
static int run_often(struct cpa_repeat repeat, bool quiet)
{
	static char tool[] = "cpa-diff";
	char *argv[] = { tool, NULL, NULL };
	size_t size = repeat.output ? strlen(repeat.output) : 0;
	char prefix[PATH_MAX];
	int ret;

	if (!size || strpbrk(repeat.output, "%*?[\\")) {
		cpa_complain(
			"run: --repeat: needs a PREFIX without %% * ? [ \\ for its profiles (as "
			"--output base: base.1.dump, base.2.dump ..., for cpa diff base)");
		return CPA_EXIT_USAGE;
	}
	if (size > 5 && strcmp(repeat.output + size - 5, ".dump") == 0)
		size -= 5;
	snprintf(prefix, sizeof(prefix), "%.*s", (int)size, repeat.output);
	repeat.output = argv[1] = prefix;
	ret = cpa_repeat_run(&repeat);
	return ret || quiet ? ret : become(tool, argv);
}

static int run(const char *argv0, int argc, char **argv)
{
	static const struct option options[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "force", no_argument, NULL, 'f' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "delay", required_argument, NULL, 'd' },
		{ "duration", required_argument, NULL, 't' },
		{ "budget", required_argument, NULL, 'b' },
		{ "every", required_argument, NULL, 'e' },
		{ "keep", required_argument, NULL, 'k' },
		{ "journal", optional_argument, NULL, 'j' },
		{ "by", required_argument, NULL, 'y' },
		{ "repeat", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *output = NULL, *journal = NULL, *by = NULL, *quiet_env = getenv("CPA_QUIET"),
		   *pattern, *source;
	bool force = false, quiet = quiet_env && strcmp(quiet_env, "1") == 0;
	char library[PATH_MAX], dump[PATH_MAX], exe[NAME_MAX + 1], fresh[PATH_MAX + NAME_MAX];
	struct cpa_parts parts = {
		.session = dump,
		.windows.session = dump,
		.keep = { .session = dump, .most_ns = KEEP_NS, .bytes = KEEP_BYTES },
	};
	struct cpa_repeat repeat = { .argv = argv };
	struct cpa_program program;
	struct cpa_child child;
	struct cpa_load load;
	int option, ret, status;
	static char name[] = "cpa run";

	argv[0] = name; /* name in getopt_long()'s messages */
	while ((option = getopt_long(argc, argv, "+o:fqh", options, NULL)) >= 0) {
		switch (option) {
		case 'o':
			output = optarg;
			break;
		case 'f':
			force = true;
			break;
		case 'q':
			quiet = true;
			break;
		case 'd':
		case 't':
			if (cpa_parts_time(optarg,
					   option == 'd' ? &parts.delay_ns : &parts.duration_ns))
				break;
			cpa_complain(
				"run: --%s %s: not a time (give a number and ms, s, m or h, as "
				"30s)",
				option == 'd' ? "delay" : "duration", optarg);
			return CPA_EXIT_USAGE;
		case 'b':
			if (cpa_windows_budget(optarg, &parts.windows.budget))
				break;
			cpa_complain("run: --budget %s: not a share from 0.01%% to 100%% (as 2%%)",
				     optarg);
			return CPA_EXIT_USAGE;
		case 'e':
			if (cpa_parts_time(optarg, &parts.keep.every_ns) &&
			    parts.keep.every_ns >= EVERY_LEAST_NS)
				break;
			cpa_complain("run: --every %s: not a time from 1s on (as 1m)", optarg);
			return CPA_EXIT_USAGE;
		case 'k':
			if (cpa_keep_parse(optarg, &parts.keep))
				break;
			cpa_complain(
				"run: --keep %s: not an age, a size from 64K to 64G, or both (as "
				"7d,500M)",
				optarg);
			return CPA_EXIT_USAGE;
		case 'j':
			journal = optarg ? optarg : DEFAULT_JOURNAL;
			break;
		case 'y':
			by = optarg;
			break;
		case 'r':
			if (cpa_repeat_read(optarg, &repeat.runs))
				break;
			cpa_complain("run: --repeat %s: not a number from 1 to %d", optarg,
				     CPA_REPEAT_MOST);
			return CPA_EXIT_USAGE;
		case 'h':
			fputs(usage_text, stdout);
			return 0;
		default:
			return CPA_EXIT_USAGE;
		}
	}
	if (optind == argc) {
		cpa_complain("run: no program named (usage: cpa run [-o FILE] -- PROGRAM ...)");
		return CPA_EXIT_USAGE;
	}
	if (output && !*output) {
		cpa_complain("run: --output is empty (name a file)");
		return CPA_EXIT_USAGE;
	}
	if (parts.windows.budget > 0 && (parts.delay_ns || parts.duration_ns)) {
		cpa_complain("run: --budget: not together with --delay or --duration");
		return CPA_EXIT_USAGE;
	}
	if ((ret = check_journal(journal, argv[optind - 1], argv[optind])))
		return ret;
	if (by && !cpa_by_read(by)) {
		cpa_complain("run: --by %s: not caller:N with N from 1 to %u (as caller:1)", by,
			     CPA_BY_MOST);
		return CPA_EXIT_USAGE;
	}

	if ((ret = cpa_program_find(&program, argv[optind])) ||
	    (ret = cpa_program_check(&program)) || (ret = find_library(library)))
		return ret;
	if (repeat.runs) {
		repeat.output = output;
		repeat.force = force;
		repeat.options = optind - 1 - (strcmp(argv[optind - 1], "--") == 0);
		repeat.program = argv + optind;
		return run_often(repeat, quiet);
	}
	cpa_program_exe_name(&program, exe, sizeof(exe));
	pattern = output ? output : getenv("CPA_OUTPUT");
	source = output ? "--output" : "CPA_OUTPUT";
	if (!pattern || !*pattern) {
		if ((ret = cpa_folder_pattern(fresh, sizeof(fresh))))
			return ret;
		pattern = output = fresh;
		source = "profile";
	}
	if ((ret = cpa_output_check(pattern, source, exe, force)))
		return ret;

	/* A program started by cpa run is a run of its own, even inside another one. */
	if (preload(library, program.image) < 0 || unsetenv("CPA_SESSION") < 0 ||
	    (output && setenv("CPA_OUTPUT", output, 1) < 0) ||
	    (journal && setenv("CPA_JOURNAL", journal, 1) < 0) ||
	    (by && setenv("CPA_BY", by, 1) < 0) ||
	    ((parts.delay_ns || parts.duration_ns || parts.windows.budget > 0) &&
	     setenv("CPA_START", parts.duration_ns && !parts.delay_ns ? "on" : "off", 1) < 0)) {
		cpa_complain("cannot set the environment: %s", strerror(errno));
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	load = cpa_load_now();
	ret = cpa_child_start(&child, program.path, argv + optind);
	if (ret < 0) {
		cpa_complain("%s: cannot be started: %s", program.path, strerror(-ret));
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	if (cpa_output_name(pattern, exe, child.pid, dump, sizeof(dump)) < 0)
		dump[0] = '\0';
	status = cpa_child_wait(&child, &parts);
	if (dump[0]) {
		load = cpa_load_since(&load);
		cpa_output_ended(dump, child.pid, status, &load);
		unload();
		if (!quiet)
			name_next(argv0, dump, &child.old_mask);
	}
	cpa_child_end_alike(status);
}

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
	ret = become("cpa-report", longer);
	free(longer);
	return ret;
}

int main(int argc, char **argv)
{
	const char *command = argc > 1 ? argv[1] : NULL;

	if (!command) {
		fputs(usage_text, stderr);
		return CPA_EXIT_USAGE;
	}
	if (strcmp(command, "run") == 0)
		return run(argv[0], argc - 1, argv + 1);
	if (strcmp(command, "report") == 0)
		return become("cpa-report", argv + 1);
	if (strcmp(command, "view") == 0)
		return view(argc - 1, argv + 1);
	if (strcmp(command, "diff") == 0)
		return become("cpa-diff", argv + 1);
	if (strcmp(command, "top") == 0)
		return become("cpa-top", argv + 1);
	if (strcmp(command, "ctl") == 0)
		return become("cpa-ctl", argv + 1);
	if (strcmp(command, "ls") == 0)
		return cpa_folder_list(argc - 1, argv + 1);
	if (strcmp(command, "rm") == 0)
		return cpa_folder_remove(argc - 1, argv + 1);
	if (strcmp(command, "-h") == 0 || strcmp(command, "--help") == 0 ||
	    strcmp(command, "help") == 0) {
		fputs(usage_text, stdout);
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
