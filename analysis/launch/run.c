/* SPDX-License-Identifier: MIT */
#include "analysis/launch/run.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/launch/beside.h"
#include "analysis/launch/child.h"
#include "analysis/launch/folder.h"
#include "analysis/launch/help.h"
#include "analysis/launch/load.h"
#include "analysis/launch/output.h"
#include "analysis/launch/program.h"
#include "analysis/launch/repeat.h"
#include "analysis/launch/sanitizer.h"
#include "analysis/launch/tell.h"
#include "shadow/store/by.h"
#include "shadow/store/size.h"
#include "shadow/store/timespec.h"

#define EVERY_LEAST_NS UINT64_C(1000000000)
#define KEEP_NS	       (7 * UINT64_C(86400000000000))
#define KEEP_BYTES     (UINT64_C(1) << 30)

/* What the command line asks for. Texts are NULL if not given. */
struct request {
	const char *output, *journal, *by, *keep;
	bool force, quiet;
	struct cpa_parts parts;
	struct cpa_repeat repeat;
	struct cpa_program program;
	char exe[NAME_MAX + 1]; /* the program's name in that of the profile */
	const char *pattern;	/* of the profile's name: output, or CPA_OUTPUT, or fresh */
	char fresh[PATH_MAX + NAME_MAX];
	char dump[PATH_MAX];   /* the profile */
	char prefix[PATH_MAX]; /* of the profiles of --repeat */
	char *preloaded;       /* LD_PRELOAD before preload(); NULL: there was none */
};

/* The value of --@option is wrong. Return an exit status. */
static int refuse(const char *option, const char *wrong)
{
	cpa_complain("run: --%s %s: %s", option, optarg, wrong);
	return CPA_EXIT_USAGE;
}

static int read_time(const char *option, uint64_t *ns)
{
	if (cpa_parts_time(optarg, ns))
		return 0;
	return refuse(option, "not a time (give a number and ms, s, m or h, as 30s)");
}

#define BUDGET_WRONG "not a share from 0.01% to 100% (as 2%)"

static int read_budget(struct cpa_windows *windows)
{
	if (cpa_windows_budget(optarg, &windows->budget))
		return 0;
	return refuse("budget", BUDGET_WRONG);
}

/* What --budget is if it is not given, nor other parts. Return 0, or an exit status after one line on stderr. */
static int read_usual_budget(struct cpa_parts *parts)
{
	const char *text = getenv("CPA_BUDGET");

	if (!text || !*text || parts->windows.budget > 0 || parts->delay_ns || parts->duration_ns ||
	    cpa_windows_budget(text, &parts->windows.budget))
		return 0;
	cpa_complain("run: CPA_BUDGET=%s: %s", text, BUDGET_WRONG);
	return CPA_EXIT_USAGE;
}

static int read_every(struct cpa_keep *keep)
{
	if (cpa_parts_time(optarg, &keep->every_ns) && keep->every_ns >= EVERY_LEAST_NS)
		return 0;
	return refuse("every", "not a time from 1s on (as 1m)");
}

static int read_keep(struct cpa_keep *keep)
{
	if (cpa_keep_parse(optarg, keep))
		return 0;
	return refuse("keep", "not an age, a size from 64K to 64G, or both (as 7d,500M)");
}

static int read_repeat(struct cpa_repeat *repeat)
{
	if (cpa_repeat_read(optarg, &repeat->runs))
		return 0;
	cpa_complain("run: --repeat %s: not a number from 1 to %d", optarg, CPA_REPEAT_MOST);
	return CPA_EXIT_USAGE;
}

/* Take one option, which getopt_long() returned. Return 0, or an exit status after a message. */
static int take_option(struct request *r, int option)
{
	switch (option) {
	case 'o':
		r->output = optarg;
		return 0;
	case 'f':
		r->force = true;
		return 0;
	case 'q':
		r->quiet = true;
		return 0;
	case 'd':
		return read_time("delay", &r->parts.delay_ns);
	case 't':
		return read_time("duration", &r->parts.duration_ns);
	case 'b':
		return read_budget(&r->parts.windows);
	case 'e':
		return read_every(&r->parts.keep);
	case 'k':
		r->keep = optarg;
		return read_keep(&r->parts.keep);
	case 'j':
		r->journal = optarg ? optarg : CPA_JOURNAL_USUAL;
		return 0;
	case 'y':
		r->by = optarg;
		return 0;
	case 'r':
		return read_repeat(&r->repeat);
	case '1':
		r->repeat.runs = 0;
		return 0;
	case 'h':
		fputs(cpa_help, stdout);
		exit(0);
	default:
		return CPA_EXIT_USAGE;
	}
}

/* Read the options of cpa run; the program is at argv[optind] then. Return 0, or an exit status. */
static int read_options(struct request *r, int argc, char **argv)
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
		/* Internal: one of the runs of the --repeat before it. */
		{ "single", no_argument, NULL, '1' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	static char name[] = "cpa run";
	int option, ret;

	argv[0] = name; /* name in getopt_long()'s messages */
	while ((option = getopt_long(argc, argv, "+o:fqh", options, NULL)) >= 0)
		if ((ret = take_option(r, option)))
			return ret;
	if (optind < argc)
		return 0;
	cpa_complain("run: no program named (usage: cpa run [-o FILE] -- PROGRAM ...)");
	return CPA_EXIT_USAGE;
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
			"of that name: --journal -- %s)",
			program, program, program);
		return CPA_EXIT_USAGE;
	}
	return 0;
}

/* Whether the options go together. Return 0, or an exit status after one line on stderr. */
static int check_options(const struct request *r, char **argv)
{
	const struct cpa_parts *parts = &r->parts;
	int ret;

	if (r->output && !*r->output) {
		cpa_complain("run: --output is empty (name a file)");
		return CPA_EXIT_USAGE;
	}
	if (parts->windows.budget > 0 && (parts->delay_ns || parts->duration_ns)) {
		cpa_complain("run: --budget: not together with --delay or --duration");
		return CPA_EXIT_USAGE;
	}
	if (r->keep && !parts->keep.every_ns) {
		cpa_complain("run: --keep %s: only with --every (as --every 1m)", r->keep);
		return CPA_EXIT_USAGE;
	}
	if ((ret = check_journal(r->journal, argv[optind - 1], argv[optind])))
		return ret;
	if (r->by && !cpa_by_read(r->by)) {
		cpa_complain("run: --by %s: not caller:N with N from 1 to %u (as caller:1)", r->by,
			     CPA_BY_MOST);
		return CPA_EXIT_USAGE;
	}
	return 0;
}

/* Choose the profile's name and check that it can be written. Return 0, or an exit status. */
static int choose_output(struct request *r)
{
	const char *source = r->output ? "--output" : "CPA_OUTPUT";
	int ret;

	cpa_program_exe_name(&r->program, r->exe, sizeof(r->exe));
	r->pattern = r->output ? r->output : getenv("CPA_OUTPUT");
	if (!r->pattern || !*r->pattern) {
		if ((ret = cpa_folder_pattern(r->fresh, sizeof(r->fresh))))
			return ret;
		r->pattern = r->output = r->fresh;
		source = "profile";
	}
	if (strstr(r->pattern, "%t")) {
		if (cpa_output_stamp(r->pattern, r->fresh, sizeof(r->fresh)) < 0) {
			cpa_complain("%s %.40s...: name too long for a profile", source,
				     r->pattern);
			return CPA_EXIT_USAGE;
		}
		r->pattern = r->output = r->fresh;
	}
	return cpa_output_check(r->pattern, source, r->exe, r->force);
}

/* Have the loader load @library into the program, behind the sanitizer that it may need first. */
static int preload(struct request *r, const char *library)
{
	const char *old = getenv("LD_PRELOAD");
	char *value, sanitizer[64];
	int ret;

	r->preloaded = old ? strdup(old) : NULL; /* setenv() may free it */
	cpa_sanitizer_of(r->program.image, sanitizer, sizeof(sanitizer));
	if (asprintf(&value, "%s%s%s%s%s", sanitizer, *sanitizer ? ":" : "", library,
		     old && *old ? ":" : "", old ? old : "") < 0)
		return -1;
	ret = setenv("LD_PRELOAD", value, 1);
	free(value);
	return ret;
}

/* For programs that are no part of the run: LD_PRELOAD as it was before preload(). */
static void unload(const struct request *r)
{
	if (r->preloaded)
		setenv("LD_PRELOAD", r->preloaded, 1);
	else
		unsetenv("LD_PRELOAD");
}

/* Pass the options on to libcpa.so. Return -1 if that fails, with errno. */
static int set_environment(struct request *r, const char *library)
{
	const struct cpa_parts *parts = &r->parts;
	bool in_parts = parts->delay_ns || parts->duration_ns || parts->windows.budget > 0;
	const char *start = parts->duration_ns && !parts->delay_ns ? "on" : "off";

	/* A program started by cpa run is a run of its own, even inside another one. The launcher keeps the budget. */
	if (preload(r, library) < 0 || unsetenv("CPA_SESSION") < 0 || unsetenv("CPA_BUDGET") < 0 ||
	    (r->output && setenv("CPA_OUTPUT", r->output, 1) < 0) ||
	    (r->journal && setenv("CPA_JOURNAL", r->journal, 1) < 0) ||
	    (r->by && setenv("CPA_BY", r->by, 1) < 0) ||
	    (in_parts && setenv("CPA_START", start, 1) < 0))
		return -1;
	return 0;
}

/* Run the program several times, then show medians and spread. Return an exit status. */
static int run_often(struct request *r, char **argv)
{
	static char tool[] = "cpa-diff";
	char *diff[] = { tool, NULL, NULL };
	size_t size = r->output ? strlen(r->output) : 0;
	int ret;

	if (!size || strpbrk(r->output, "%*?[\\")) {
		cpa_complain(
			"run: --repeat: needs a PREFIX without %% * ? [ \\ for its profiles (as "
			"--output base: base.1.dump, base.2.dump ..., for cpa diff base)");
		return CPA_EXIT_USAGE;
	}
	if (size > 5 && strcmp(r->output + size - 5, ".dump") == 0)
		size -= 5;
	snprintf(r->prefix, sizeof(r->prefix), "%.*s", (int)size, r->output);
	r->repeat.output = diff[1] = r->prefix;
	r->repeat.force = r->force;
	r->repeat.options = optind - 1 - (strcmp(argv[optind - 1], "--") == 0);
	r->repeat.argv = argv;
	r->repeat.program = argv + optind;
	ret = cpa_repeat_run(&r->repeat);
	return ret || r->quiet ? ret : cpa_beside_become(tool, diff);
}

/*
 * Print the verdict, the place of the profile, and a command for it: cpa-report is in the folder of
 * cpa. @mask: the signal mask of the launcher before.
 */
static void name_next(const char *argv0, const char *dump, const sigset_t *mask)
{
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
	if (cpa_beside_find_tool("cpa-report", report))
		cpa_tell_verdict(report, dump, mask);
	cpa_complain("profile in %s; next: %.*scpa-report %s", shown, folder, argv0, shown);
}

/* Run the program once and end as it does. Return an exit status if it cannot be started. */
static int run_once(struct request *r, const char *argv0, char **program)
{
	struct cpa_load load = cpa_load_now();
	struct cpa_child child;
	int ret = cpa_child_start(&child, r->program.path, program), status;

	if (ret < 0) {
		cpa_complain("%s: cannot be started: %s", r->program.path, strerror(-ret));
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	if (cpa_output_name(r->pattern, r->exe, child.pid, r->dump, sizeof(r->dump)) < 0)
		r->dump[0] = '\0';
	status = cpa_child_wait(&child, &r->parts);
	if (r->dump[0]) {
		load = cpa_load_since(&load);
		cpa_output_ended(r->dump, child.pid, status, &load);
		unload(r);
		if (!r->quiet)
			name_next(argv0, r->dump, &child.old_mask);
	}
	cpa_child_end_alike(status);
}

int cpa_run(const char *argv0, int argc, char **argv)
{
	const char *quiet = getenv("CPA_QUIET");
	struct request r = { .quiet = quiet && strcmp(quiet, "1") == 0 };
	char library[PATH_MAX];
	int ret;

	r.parts.session = r.parts.windows.session = r.dump;
	r.parts.keep = (struct cpa_keep){
		.session = r.dump,
		.most_ns = KEEP_NS,
		.bytes = KEEP_BYTES,
		.started_ns = cpa_timespec_now_ns(CLOCK_REALTIME),
	};
	if ((ret = read_options(&r, argc, argv)) || (ret = read_usual_budget(&r.parts)) ||
	    (ret = check_options(&r, argv)) || (ret = cpa_program_find(&r.program, argv[optind])) ||
	    (ret = cpa_program_check(&r.program)) || (ret = cpa_beside_find_library(library)))
		return ret;
	if (r.repeat.runs)
		return run_often(&r, argv);
	if ((ret = choose_output(&r)))
		return ret;
	if (set_environment(&r, library) < 0) {
		cpa_complain("cannot set the environment: %s", strerror(errno));
		return CPA_EXIT_CANNOT_EXECUTE;
	}
	return run_once(&r, argv0, argv + optind);
}
