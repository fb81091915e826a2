/* SPDX-License-Identifier: MIT */
#include "analysis/report/options.h"

#include <errno.h>
#include <getopt.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "analysis/input/history.h"
#include "analysis/render/callers_text.h"
#include "analysis/report/help.h"
#include "analysis/util/printable.h"

#define TOP_DEFAULT 10
#define TOP_MAX	    1000000

enum option_only_long {
	OPTION_HISTOGRAM = 256,
	OPTION_PHASES,
	OPTION_IDLE,
	OPTION_CALLERS,
	OPTION_TREE,
	OPTION_LINES,
	OPTION_WEIGHT,
	OPTION_ANNOTATE,
	OPTION_BY,
	OPTION_PHASE,
	OPTION_THRESHOLD,
	OPTION_HTML,
	OPTION_VIEW,
	OPTION_THREADS,
	OPTION_NO_PAGER,
	OPTION_SINCE,
	OPTION_AT
};

void cpa_report_usage(const char *option, const char *value, const char *expected)
{
	char *text = value ? cpa_printable(value, SIZE_MAX) : NULL;

	fprintf(stderr, "cpa-report: %s%s%s: %s (see cpa-report --help)\n", option, text ? " " : "",
		text ? text : "", expected);
	free(text);
	exit(CPA_EXIT_BAD_USAGE);
}

static size_t parse_number(const char *option, const char *value, size_t least, size_t most,
			   const char *expected)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(value, &end, 10);
	if (errno || end == value || *end || value[0] == '-' || number < least || number > most)
		cpa_report_usage(option, value, expected);
	return number;
}

static enum cpa_level parse_level(const char *value)
{
	for (unsigned level = 0; level < CPA_LEVELS; level++)
		if (strcmp(value, cpa_level_name(level)) == 0)
			return level;
	cpa_report_usage(
		"--level", value,
		"all, verdict, program, component, context, region, process, thread, object, "
		"queue, stream, interval or pag expected");
}

/* "caller:2" */
static uint32_t parse_by(const char *value)
{
	const char *count = strncmp(value, "caller:", 7) == 0 ? value + 7 : "";
	char *end;
	unsigned long number = strtoul(count, &end, 10);

	if (end == count || *end || *count == '-' || number < 1 || number > 200)
		cpa_report_usage("--by", value, "caller:N expected, N from 1 to 200");
	return (uint32_t)number;
}

static enum cpa_metric_level parse_metric_level(const char *value)
{
	if (strcmp(value, "all") == 0)
		return CPA_METRIC_LEVELS;
	for (unsigned level = 0; level < CPA_METRIC_LEVELS; level++)
		if (strcmp(value, cpa_metric_level_name(level)) == 0)
			return level;
	cpa_report_usage("--metrics", value,
			 "all, program, machine, process, thread, procedure or event expected");
}

static enum cpa_metric parse_metric(const char *value)
{
	for (unsigned metric = 0; metric < CPA_METRICS; metric++)
		if (strcmp(value, cpa_metric_about(metric)->symbol) == 0)
			return metric;
	cpa_report_usage(
		"--histogram", value,
		"T_cpu, T_wait, T_wait_cpu, T_ext, T_probe, R, L, P, P_max, rho, PR, M_m or M_b "
		"expected");
}

static void add_phase(struct cpa_report_options *options, char *value)
{
	size_t count = options->ranges++;

	options->range = xrealloc(options->range, (count + 1) * sizeof(*options->range));
	if (!cpa_phase_parse(value, &options->range[count]))
		cpa_report_usage("--phase", value, "NAME=FROM..TO expected, as start=0s..1.5s");
	options->show.phases = true;
}

static const char *parse_at(const char *value)
{
	time_t when;

	if (!cpa_history_parse(value, time(NULL), &when))
		cpa_report_usage("--at", value, CPA_HISTORY_TIMES " expected");
	return value;
}

static double parse_step(const char *value)
{
	char *end;
	double step = strtod(value, &end);

	if (end == value || *end || !(step >= 0.01 && step <= 10))
		cpa_report_usage("--phase-threshold", value, "a number from 0.01 to 10 expected");
	return step;
}

static enum cpa_color parse_color(const char *value)
{
	enum cpa_color color = cpa_color_of(value);

	if (color == CPA_COLORS)
		cpa_report_usage("--color", value, "auto, always or never expected");
	return color;
}

static enum cpa_weight parse_weight(const char *value)
{
	enum cpa_weight weight = cpa_weight_of(value);

	if (weight == CPA_WEIGHTS)
		cpa_report_usage("--weight", value, "path, wall, cpu or wait expected");
	return weight;
}

static const struct cpa_writer *parse_format(const char *value)
{
	const struct cpa_writer *writer = cpa_writer_find(value);

	if (!writer)
		cpa_report_usage(
			"--format", value,
			"text, json, csv, html, pprof, folded, speedscope, perfetto, prometheus "
			"or sqlite expected");
	if (writer->is_binary && isatty(STDOUT_FILENO))
		cpa_report_usage("--format", value,
				 "not for a terminal: redirect it, as in > FILE");
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
	cpa_report_usage(dashed, optarg, wrong);
}

/* A page answers for numbers of cores alone: its sliders are the changes. */
static void check_page(struct cpa_report_options *options)
{
	const struct cpa_question *question = &options->question;

	if (question->changes || question->groups || question->load || question->network.asked ||
	    options->zero || options->paths)
		cpa_report_usage(
			"--html", NULL,
			"not with --what-if, --group, --load, --network, --zero or --paths");
	options->show.cores = question->cores;
	options->show.core = question->core;
}

static void parse_threads(struct cpa_report_options *options, const char *value)
{
	const char *error = cpa_team_sizes_parse(&options->threads, value);

	if (error)
		cpa_report_usage("--threads", value, error);
}

/* Answers to questions are text or JSON. */
static void check_answer(const struct cpa_report_options *options)
{
	const struct cpa_writer *writer = options->writer;

	if (options->threads.count &&
	    (options->zero || options->paths || cpa_question_asked(&options->question)))
		cpa_report_usage("--threads", NULL,
				 "not with --zero, --paths and other predictions");
	if (options->threads.count && writer != cpa_writer_text && !writer->is_json)
		cpa_report_usage("--format", writer->name, "text or json expected with --threads");
	if ((options->zero || options->paths || cpa_question_asked(&options->question)) &&
	    writer != cpa_writer_text && !writer->is_json && !writer->is_page)
		cpa_report_usage("--format", writer->name,
				 "text or json expected with --zero, --paths and predictions");
}

/* These are text. */
static void check_text(const struct cpa_report_options *options)
{
	if (options->writer != cpa_writer_text &&
	    (options->callers || options->tree || options->annotate || options->verify))
		cpa_report_usage("--format", options->writer->name,
				 "text expected with --callers, --tree, --annotate and --verify");
}

/* Of the time between two copies there are sums, and no order of events. */
static void check_span(const struct cpa_report_options *options)
{
	const struct cpa_selection *show = &options->show;
	bool sums = options->writer == cpa_writer_text || options->writer->is_json ||
		    options->writer == cpa_writer_find("csv");

	if (!options->since && !options->at)
		return;
	if (options->since && options->at)
		cpa_report_usage("--since", NULL, "not with --at");
	if (!sums || options->verify || options->paths || options->zero || options->callers ||
	    options->annotate || options->tree || options->idle_weighs || options->threads.count ||
	    show->phases || show->metrics || options->histogram != CPA_METRICS ||
	    cpa_question_asked(&options->question))
		cpa_report_usage(options->since ? "--since" : "--at", NULL,
				 "only with tables, as text, json or csv");
}

static const struct option known_options[] = {
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
	{ "lines", no_argument, NULL, OPTION_LINES },
	{ "annotate", required_argument, NULL, OPTION_ANNOTATE },
	{ "weight", required_argument, NULL, OPTION_WEIGHT },
	{ "threads", required_argument, NULL, OPTION_THREADS },
	{ "no-pager", no_argument, NULL, OPTION_NO_PAGER },
	{ "since", required_argument, NULL, OPTION_SINCE },
	{ "at", required_argument, NULL, OPTION_AT },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'v' },
	CPA_QUESTION_OPTIONS,
	{ 0 },
};

/* Take an option that says how and where to write. Return false if it is none. */
static bool take_writing(struct cpa_report_options *options, int option)
{
	switch (option) {
	case 'f':
		options->writer = parse_format(optarg);
		return true;
	case OPTION_HTML:
		options->writer = cpa_writer_find("html");
		options->file = optarg;
		return true;
	case OPTION_VIEW:
		options->writer = cpa_writer_find("html");
		options->view = true;
		return true;
	case 't':
		options->show.top = parse_number("--top", optarg, 1, TOP_MAX,
						 "a number from 1 to 1000000 expected");
		return true;
	case 'c':
		options->color = parse_color(optarg);
		return true;
	case 'w':
		options->width = parse_number("--width", optarg, CPA_WIDTH_MIN, CPA_WIDTH_MAX,
					      "a number from 72 to 1000 expected");
		return true;
	case OPTION_WEIGHT:
		options->show.weight = parse_weight(optarg);
		return true;
	case OPTION_NO_PAGER:
		options->no_pager = true;
		return true;
	default:
		return false;
	}
}

/* Take an option that chooses among the tables of a report. Return false if it is none. */
static bool take_table(struct cpa_report_options *options, int option)
{
	switch (option) {
	case 'l':
		options->show.level = parse_level(optarg);
		return true;
	case OPTION_BY:
		options->show.level = CPA_LEVEL_CONTEXT;
		options->show.callers = parse_by(optarg);
		return true;
	case 'm':
		options->show.metrics = true;
		options->show.metric_level = parse_metric_level(optarg);
		return true;
	case OPTION_HISTOGRAM:
		options->histogram = parse_metric(optarg);
		return true;
	case OPTION_PHASES:
		options->show.phases = true;
		return true;
	case OPTION_PHASE:
		add_phase(options, optarg);
		return true;
	case OPTION_THRESHOLD:
		options->phase_step = parse_step(optarg);
		options->show.phases = true;
		return true;
	case OPTION_SINCE:
		options->since = optarg;
		return true;
	case OPTION_AT:
		options->at = parse_at(optarg);
		return true;
	default:
		return false;
	}
}

/* Take an option for an answer in place of a report. Return false if it is none. */
static bool take_question(struct cpa_report_options *options, int option, const char *name)
{
	switch (option) {
	case OPTION_IDLE:
		if (strcmp(optarg, "weigh") != 0)
			cpa_report_usage("--idle", optarg, "'weigh' expected");
		options->idle_weighs = true;
		return true;
	case OPTION_CALLERS:
		options->callers = optarg;
		return true;
	case OPTION_TREE:
		options->tree = true;
		return true;
	case OPTION_LINES:
		options->lines = true;
		return true;
	case OPTION_ANNOTATE:
		options->annotate = optarg;
		return true;
	case OPTION_THREADS:
		parse_threads(options, optarg);
		return true;
	case 'V':
		options->verify = true;
		return true;
	case 'p':
		options->paths = true;
		return true;
	case 'z':
		options->zero = optarg;
		return true;
	case CPA_ASK_CORES ... CPA_ASK_CURVES:
		ask(&options->question, option, name);
		return true;
	default:
		return false;
	}
}

/* Print @text for --help and --version. */
static void __attribute__((noreturn)) finish(const char *text)
{
	fputs(text, stdout);
	exit(fflush(stdout) ? CPA_EXIT_BAD_DUMP : 0);
}

/* Whether the options go together. */
static void check_options(struct cpa_report_options *options)
{
	if (options->histogram != CPA_METRICS && options->show.metric_level == CPA_METRIC_LEVELS)
		cpa_report_usage("--histogram", NULL, "one level expected (--metrics)");
	if (options->show.weight && options->writer != cpa_writer_find("folded"))
		cpa_report_usage("--weight", NULL,
				 "only with --format folded: the others have all");
	if (options->lines && !options->callers && !options->tree)
		cpa_report_usage("--lines", NULL, "only with --callers or --tree");
	if (options->writer->is_page)
		check_page(options);
	check_text(options);
	check_answer(options);
	check_span(options);
}

struct cpa_report_options cpa_report_parse(int argc, char **argv)
{
	struct cpa_report_options options = { .writer = cpa_writer_text,
					      .show = { .top = TOP_DEFAULT,
							.metric_level = CPA_AT_PROGRAM },
					      .histogram = CPA_METRICS };
	int option, which = 0;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", known_options, &which)) != -1) {
		if (option == 'h')
			finish(cpa_report_help);
		if (option == 'v')
			finish("cpa-report " CPA_VERSION "\n");
		if (option == ':')
			cpa_report_usage("option", argv[optind - 1], "a value is missing");
		if (!take_writing(&options, option) && !take_table(&options, option) &&
		    !take_question(&options, option, known_options[which].name))
			cpa_report_usage("option", argv[optind - 1], "not known, or not unique");
	}
	if (argc - optind > 1)
		cpa_report_usage("argument", argv[optind + 1], "one dump expected");
	check_options(&options);
	options.dump = argv[optind];
	return options;
}
