/* SPDX-License-Identifier: MIT */
/* analysis/report/report.c - cpa-report: the command line */
#include <errno.h>
#include <getopt.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/exact/context.h"
#include "analysis/exact/teams.h"
#include "analysis/input/load.h"
#include "analysis/input/find_dump.h"
#include "analysis/util/browse.h"
#include "analysis/util/printable.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/question.h"
#include "analysis/predict/threads.h"
#include "analysis/render/annotate_text.h"
#include "analysis/render/callers_text.h"
#include "analysis/report/help.h"
#include "analysis/report/pager.h"
#include "analysis/report/writers.h"
#include "analysis/profile/phases.h"
#include "analysis/input/process.h"
#include "analysis/util/progress.h"
#include "analysis/util/terminal.h"
#include "analysis/exact/verify.h"
#include "analysis/exact/weigh.h"

#define EXIT_BAD_DUMP  1
#define EXIT_BAD_USAGE 2

#define TOP_DEFAULT 10
#define TOP_MAX	    1000000

enum option_only_long {
	OPTION_HISTOGRAM = 256,
	OPTION_PHASES,
	OPTION_IDLE,
	OPTION_CALLERS,
	OPTION_TREE,
	OPTION_WEIGHT,
	OPTION_ANNOTATE,
	OPTION_BY,
	OPTION_PHASE,
	OPTION_THRESHOLD,
	OPTION_HTML,
	OPTION_VIEW,
	OPTION_THREADS,
	OPTION_NO_PAGER
};

struct options {
	const struct cpa_writer *writer;
	enum cpa_color color;
	struct cpa_selection show;
	enum cpa_metric histogram; /* CPA_METRICS: no histogram */
	double phase_step;	   /* 0: choose it */
	size_t ranges;
	struct cpa_phase_range *range;
	size_t width;	  /* 0: that of the terminal */
	const char *dump; /* or a process; NULL: the newest dump */
	const char *file; /* --html; NULL: standard output */
	bool view;	  /* open a page in the browser */
	bool verify, paths, no_pager;
	bool idle_weighs;     /* --idle weigh */
	const char *zero;     /* components, or NULL */
	const char *callers;  /* of which functions, or NULL */
	const char *annotate; /* which functions, or NULL */
	bool tree;
	struct cpa_team_sizes threads; /* --threads; none: not asked */
	struct cpa_question question;
};

/* Report a bad value of an option and exit with status 2. */
static void __attribute__((noreturn))
bad_usage(const char *option, const char *value, const char *expected)
{
	char *text = value ? cpa_printable(value, SIZE_MAX) : NULL;

	fprintf(stderr, "cpa-report: %s%s%s: %s (see cpa-report --help)\n", option, text ? " " : "",
		text ? text : "", expected);
	free(text);
	exit(EXIT_BAD_USAGE);
}

/* Say why, free it, and return the exit status. */
static int bad_dump(char *error)
{
	fprintf(stderr, "cpa-report: %s\n", error);
	free(error);
	return EXIT_BAD_DUMP;
}

static size_t parse_number(const char *option, const char *value, size_t least, size_t most,
			   const char *expected)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (errno || end == value || *end || value[0] == '-' || number < least || number > most)
		bad_usage(option, value, expected);
	return number;
}

static enum cpa_level parse_level(const char *value)
{
	for (unsigned level = 0; level < CPA_LEVELS; level++)
		if (strcmp(value, cpa_level_name(level)) == 0)
			return level;
	bad_usage("--level", value,
		  "all, verdict, program, component, context, region, process, thread, object, "
		  "queue, stream, interval or pag expected");
}

/* "caller:2" */
static uint32_t parse_by(const char *value)
{
	size_t prefix = strncmp(value, "caller:", 7) == 0 ? 7 : 0;

	return (uint32_t)parse_number("--by", value + prefix, 1, prefix ? 200 : 0,
				      "caller:N expected, N from 1 to 200");
}

static enum cpa_metric_level parse_metric_level(const char *value)
{
	if (strcmp(value, "all") == 0)
		return CPA_METRIC_LEVELS;
	for (unsigned level = 0; level < CPA_METRIC_LEVELS; level++)
		if (strcmp(value, cpa_metric_level_name(level)) == 0)
			return level;
	bad_usage("--metrics", value,
		  "all, program, machine, process, thread, procedure or event expected");
}

static enum cpa_metric parse_metric(const char *value)
{
	for (unsigned metric = 0; metric < CPA_METRICS; metric++)
		if (strcmp(value, cpa_metric_about(metric)->symbol) == 0)
			return metric;
	bad_usage("--histogram", value,
		  "T_cpu, T_wait, T_wait_cpu, T_ext, T_probe, R, L, P, P_max, rho, PR, M_m or M_b "
		  "expected");
}

static void add_phase(struct options *options, char *value)
{
	size_t count = options->ranges++;

	options->range = xrealloc(options->range, (count + 1) * sizeof(*options->range));
	if (!cpa_phase_parse(value, &options->range[count]))
		bad_usage("--phase", value, "NAME=FROM..TO expected, as start=0s..1.5s");
	options->show.phases = true;
}

static double parse_step(const char *value)
{
	char *end;
	double step = strtod(value, &end);

	if (end == value || *end || !(step >= 0.01 && step <= 10))
		bad_usage("--phase-threshold", value, "a number from 0.01 to 10 expected");
	return step;
}

static enum cpa_color parse_color(const char *value)
{
	enum cpa_color color = cpa_color_of(value);

	if (color == CPA_COLORS)
		bad_usage("--color", value, "auto, always or never expected");
	return color;
}

static enum cpa_weight parse_weight(const char *value)
{
	enum cpa_weight weight = cpa_weight_of(value);

	if (weight == CPA_WEIGHTS)
		bad_usage("--weight", value, "path, wall, cpu or wait expected");
	return weight;
}

static const struct cpa_writer *parse_format(const char *value)
{
	const struct cpa_writer *writer = cpa_writer_find(value);

	if (!writer)
		bad_usage("--format", value,
			  "text, json, csv, html, pprof, folded, speedscope, perfetto, prometheus "
			  "or sqlite expected");
	if (writer->is_binary && isatty(STDOUT_FILENO))
		bad_usage("--format", value, "not for a terminal: redirect it, as in > FILE");
	return writer;
}

/* Add the value of option @name to the question. */
static void ask(struct cpa_question *question, int option, const char *name)
{
	const char *wrong = cpa_question_add(question, option, optarg);
	char dashed[32];

	if (!wrong)
		return;
	snprintf(dashed, sizeof(dashed), "--%s", name);
	bad_usage(dashed, optarg, wrong);
}

/* A page answers for numbers of cores alone: its sliders are the changes. */
static void check_page(struct options *options)
{
	const struct cpa_question *question = &options->question;

	if (question->changes || question->groups || question->load || question->network.asked ||
	    options->zero || options->paths)
		bad_usage("--html", NULL,
			  "not with --what-if, --group, --load, --network, --zero or --paths");
	options->show.cores = question->cores;
	options->show.core = question->core;
}

static void parse_threads(struct options *options, const char *value)
{
	const char *error = cpa_team_sizes_parse(&options->threads, value);

	if (error)
		bad_usage("--threads", value, error);
}

/* Answers to questions are text or JSON. */
static void check_answer(const struct options *options)
{
	const struct cpa_writer *writer = options->writer;

	if (options->threads.count &&
	    (options->zero || options->paths || cpa_question_asked(&options->question)))
		bad_usage("--threads", NULL, "not with --zero, --paths and other predictions");
	if (options->threads.count && writer != cpa_writer_text && !writer->is_json)
		bad_usage("--format", writer->name, "text or json expected with --threads");
	if ((options->zero || options->paths || cpa_question_asked(&options->question)) &&
	    writer != cpa_writer_text && !writer->is_json && !writer->is_page)
		bad_usage("--format", writer->name,
			  "text or json expected with --zero, --paths and predictions");
}

static struct options parse_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "format", required_argument, NULL, 'f' },
		{ "html", required_argument, NULL, OPTION_HTML },
		{ "view", no_argument, NULL, OPTION_VIEW },
		{ "level", required_argument, NULL, 'l' },
		{ "by", required_argument, NULL, OPTION_BY },
		{ "metrics", required_argument, NULL, 'm' },
		{ "histogram", required_argument, NULL, OPTION_HISTOGRAM },
		{ "phases", no_argument, NULL, OPTION_PHASES },
		{ "phase", required_argument, NULL, OPTION_PHASE },
		{ "phase-threshold", required_argument, NULL, OPTION_THRESHOLD },
		{ "top", required_argument, NULL, 't' },
		{ "color", required_argument, NULL, 'c' },
		{ "width", required_argument, NULL, 'w' },
		{ "verify", no_argument, NULL, 'V' },
		{ "paths", no_argument, NULL, 'p' },
		{ "zero", required_argument, NULL, 'z' },
		{ "idle", required_argument, NULL, OPTION_IDLE },
		{ "callers", required_argument, NULL, OPTION_CALLERS },
		{ "tree", no_argument, NULL, OPTION_TREE },
		{ "annotate", required_argument, NULL, OPTION_ANNOTATE },
		{ "weight", required_argument, NULL, OPTION_WEIGHT },
		{ "threads", required_argument, NULL, OPTION_THREADS },
		{ "no-pager", no_argument, NULL, OPTION_NO_PAGER },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'v' },
		CPA_QUESTION_OPTIONS,
		{ 0 },
	};
	struct options options = { .writer = cpa_writer_text,
				   .show = { .top = TOP_DEFAULT, .metric_level = CPA_AT_PROGRAM },
				   .histogram = CPA_METRICS };
	int option, which;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", known, &which)) != -1) {
		switch (option) {
		case 'f':
			options.writer = parse_format(optarg);
			break;
		case OPTION_HTML:
			options.writer = cpa_writer_find("html");
			options.file = optarg;
			break;
		case OPTION_VIEW:
			options.writer = cpa_writer_find("html");
			options.view = true;
			break;
		case 'l':
			options.show.level = parse_level(optarg);
			break;
		case OPTION_BY:
			options.show.level = CPA_LEVEL_CONTEXT;
			options.show.callers = parse_by(optarg);
			break;
		case 'm':
			options.show.metrics = true;
			options.show.metric_level = parse_metric_level(optarg);
			break;
		case OPTION_HISTOGRAM:
			options.histogram = parse_metric(optarg);
			break;
		case OPTION_PHASES:
			options.show.phases = true;
			break;
		case OPTION_PHASE:
			add_phase(&options, optarg);
			break;
		case OPTION_THRESHOLD:
			options.phase_step = parse_step(optarg);
			options.show.phases = true;
			break;
		case 't':
			options.show.top = parse_number("--top", optarg, 1, TOP_MAX,
							"a number from 1 to 1000000 expected");
			break;
		case 'c':
			options.color = parse_color(optarg);
			break;
		case 'w':
			options.width = parse_number("--width", optarg, CPA_WIDTH_MIN,
						     CPA_WIDTH_MAX,
						     "a number from 72 to 1000 expected");
			break;
		case OPTION_IDLE:
			if (strcmp(optarg, "weigh") != 0)
				bad_usage("--idle", optarg, "'weigh' expected");
			options.idle_weighs = true;
			break;
		case OPTION_CALLERS:
			options.callers = optarg;
			break;
		case OPTION_TREE:
			options.tree = true;
			break;
		case OPTION_ANNOTATE:
			options.annotate = optarg;
			break;
		case OPTION_WEIGHT:
			options.show.weight = parse_weight(optarg);
			break;
		case OPTION_THREADS:
			parse_threads(&options, optarg);
			break;
		case OPTION_NO_PAGER:
			options.no_pager = true;
			break;
		case 'V':
			options.verify = true;
			break;
		case 'p':
			options.paths = true;
			break;
		case 'z':
			options.zero = optarg;
			break;
		case 'h':
			fputs(cpa_report_help, stdout);
			exit(fflush(stdout) ? EXIT_BAD_DUMP : 0);
		case 'v':
			puts("cpa-report " CPA_VERSION);
			exit(fflush(stdout) ? EXIT_BAD_DUMP : 0);
		case CPA_ASK_CORES ... CPA_ASK_CURVES:
			ask(&options.question, option, known[which].name);
			break;
		case ':':
			bad_usage("option", argv[optind - 1], "a value is missing");
		default:
			bad_usage("option", argv[optind - 1], "not known, or not unique");
		}
	}
	if (argc - optind > 1)
		bad_usage("argument", argv[optind + 1], "one dump expected");
	if (options.histogram != CPA_METRICS && options.show.metric_level == CPA_METRIC_LEVELS)
		bad_usage("--histogram", NULL, "one level expected (--metrics)");
	if (options.show.weight && options.writer != cpa_writer_find("folded"))
		bad_usage("--weight", NULL, "only with --format folded: the others have all");
	if (options.writer->is_page)
		check_page(&options);
	check_answer(&options);
	options.dump = argv[optind];
	return options;
}

/* Read only what the sections need: looking up the names of sites takes time. */
static enum cpa_graph graph_for(const struct options *options)
{
	if (options->histogram != CPA_METRICS)
		return CPA_GRAPH_ALL;
	return cpa_writer_graph(options->writer, &options->show,
				options->callers || options->tree || options->annotate);
}

static void add_details(struct cpa_dump *dump, struct cpa_profile *profile,
			const struct options *options)
{
	const struct cpa_phase_settings settings = { .step = options->phase_step,
						     .ranges = options->ranges,
						     .range = options->range };

	profile->teams = cpa_teams_read(dump, profile);
	if (options->show.level == CPA_LEVEL_STREAM ||
	    ((options->writer->is_json || options->writer->is_page) && cpa_predict_is_brief(dump)))
		cpa_predict_streams(dump, profile, options->show.top);
	profile->metrics = cpa_metrics_build(profile);
	profile->phases = cpa_phases_build(profile, &settings);
	if (options->histogram == CPA_METRICS)
		return;
	profile->histogram = cpa_histogram_build(profile, profile->metrics, options->histogram,
						 options->show.metric_level);
	if (!profile->histogram)
		bad_usage("--histogram", cpa_metric_about(options->histogram)->symbol,
			  "not sampled over time at this level of --metrics");
}

static void free_details(struct cpa_profile *profile)
{
	cpa_histogram_free(profile->histogram);
	cpa_phases_free(profile->phases);
	cpa_metrics_free(profile->metrics);
	cpa_teams_free(profile->teams);
}

/* Send standard output to @file. Return 0, or an exit status after a line on stderr. */
static int write_to(const char *file)
{
	if (freopen(file, "we", stdout))
		return 0;
	fprintf(stderr, "cpa-report: --html %s: %s (name a file that can be written)\n", file,
		strerror(errno));
	return EXIT_BAD_USAGE;
}

/* Write what @options ask for. Return 0, or an exit status after a line on stderr. */
static int write_answer(struct cpa_dump *dump, const struct cpa_profile *profile,
			const struct options *options)
{
	struct cpa_page page = cpa_terminal_page(options->color, options->width);
	char *error = NULL;
	int ret = 0, written;

	if (options->writer == cpa_writer_text && !options->no_pager)
		cpa_pager_start();
	if (!options->writer->is_page && cpa_question_asked(&options->question))
		ret = cpa_question_answer(&options->question, dump, profile, &page,
					  options->writer->is_json);
	else if (options->threads.count)
		ret = cpa_threads_answer(dump, profile, &options->threads, &page, options->show.top,
					 options->writer->is_json, &error);
	else if (options->zero)
		ret = cpa_context_zero(dump, profile, options->zero, &page, options->show.top,
				       options->writer->is_json, &error);
	else if (options->callers)
		cpa_text_callers(&page, profile, options->callers, options->show.top, &error);
	else if (options->annotate)
		cpa_text_annotate(&page, profile, options->annotate, &error);
	else if (options->tree)
		cpa_text_tree(&page, profile, options->show.top, &error);
	else if (options->paths)
		ret = cpa_context_paths(dump, profile, &page, options->show.top,
					options->writer->is_json, &error);
	else
		ret = options->writer->write(dump, profile, &options->show, &page);
	written = cpa_pager_end();
	if (error)
		return bad_dump(error);
	if (ret > 0)
		return ret;
	if (written || ret < 0) {
		fprintf(stderr, "cpa-report: cannot write the report: %s\n", strerror(errno));
		return EXIT_BAD_DUMP;
	}
	return 0;
}

static int write_report(struct cpa_dump *dump, const struct cpa_profile *profile,
			const struct options *options)
{
	int ret = options->file ? write_to(options->file) : 0;

	return ret ? ret : write_answer(dump, profile, options);
}

/* As write_report(), to a temporary file, and open it. */
static int view_report(struct cpa_dump *dump, const struct cpa_profile *profile,
		       struct options *options)
{
	char *file = cpa_browse_file();
	int ret;

	if (!file) {
		fprintf(stderr,
			"cpa-report: --view: no temporary file: %s (set TMPDIR, or use "
			"--html FILE)\n",
			strerror(errno));
		return EXIT_BAD_DUMP;
	}
	options->file = file;
	ret = write_report(dump, profile, options);
	if (ret)
		unlink(file);
	else if (cpa_browse(file))
		fprintf(stderr, "cpa-report: page in %s\n", file);
	else
		fprintf(stderr,
			"cpa-report: page in %s: xdg-open not found, open it in a browser\n", file);
	free(file);
	return ret;
}

/* Compare the dump with its journal. Return the exit status. */
static int verify(struct cpa_dump *dump)
{
	char *error = NULL;
	int ret = cpa_verify(dump, stdout, &error);

	if (ret < 0) {
		bad_dump(error);
	} else if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "cpa-report: cannot write: %s\n", strerror(errno));
		ret = -1;
	}
	return ret ? EXIT_BAD_DUMP : 0;
}

/* JSON and the page have both lengths of the critical path. Return false, with a message, if that failed. */
static bool weigh_idle(struct cpa_dump *dump, struct cpa_profile *profile,
		       const struct options *options)
{
	char *error = NULL;

	if (!options->idle_weighs &&
	    ((options->writer != cpa_writer_find("json") && !options->writer->is_page) ||
	     !dump->header.journal))
		return true;
	if (cpa_weigh_idle(dump, profile, options->idle_weighs, &error) < 0 &&
	    options->idle_weighs) {
		bad_dump(error);
		return false;
	}
	free(error);
	return true;
}

int main(int argc, char **argv)
{
	struct options options = parse_options(argc, argv);
	struct cpa_profile *profile;
	struct cpa_dump dump;
	uint32_t pid;
	char *error, *file = cpa_dump_find(options.dump, &pid, &error);
	int ret;

	if (!file)
		return bad_dump(error);
	ret = cpa_dump_open(&dump, file, &error);
	free(file);
	if (ret < 0)
		return bad_dump(error);
	if (options.verify) {
		ret = verify(&dump);
		cpa_dump_close(&dump);
		return ret;
	}
	cpa_progress_allow("cpa-report");
	profile = cpa_profile_build(&dump, graph_for(&options));
	profile->program.running = dump.live && cpa_process_writes(dump.header.pid, dump.file);
	if (!weigh_idle(&dump, profile, &options)) {
		cpa_profile_free(profile);
		cpa_dump_close(&dump);
		return EXIT_BAD_DUMP;
	}
	add_details(&dump, profile, &options);
	if (cpa_dump_whole(&dump)) {
		ret = options.view ? view_report(&dump, profile, &options) :
				     write_report(&dump, profile, &options);
	} else {
		fprintf(stderr,
			"cpa-report: %s: the file became unreadable during reading (try again)\n",
			dump.file);
		ret = EXIT_BAD_DUMP;
	}
	free_details(profile);
	cpa_profile_free(profile);
	free(options.range);
	cpa_dump_close(&dump);
	cpa_question_fini(&options.question);
	return ret;
}
