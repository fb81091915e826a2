/* SPDX-License-Identifier: MIT */
/* analysis/compare/diff.c - cpa-diff: the command line */
#include <errno.h>
#include <getopt.h>
#include <libiberty/libiberty.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/compare_write.h"
#include "analysis/input/history.h"
#include "analysis/util/printable.h"
#include "analysis/util/terminal.h"

#define EXIT_UNREADABLE 1
#define EXIT_BAD_USAGE	2
#define EXIT_BROKEN	3

#define TOP_DEFAULT 10

static const char help[] =
	"Usage: cpa diff [OPTIONS] BASE NEW\n"
	"       cpa diff [OPTIONS] BASE... -- NEW...\n"
	"       cpa diff [OPTIONS] RUNS\n"
	"       cpa diff [OPTIONS] --at TIME --at TIME [--span 1h] [DUMP|PID]\n"
	"Compare runs of a program before and after a change: critical path, CPU, wall, components,\n"
	"locks and queues. With one side: medians and spread.\n"
	"\n"
	"A side is dumps, files of cpa-report --format json, folders of these, or a PREFIX for\n"
	"PREFIX.1.dump, PREFIX.2.dump ..., which cpa run --repeat N -o PREFIX writes. Take 5 runs "
	"a\n"
	"side or more.\n"
	"\n"
	"  --at TIME                 base, then new: of one run that cpa run --every 1m copies, as 14:05,\n"
	"                            '2026-11-25 14:05', or 10m for so long ago\n"
	"  --span 10m                from there on: each time between two copies counts as a run;\n"
	"                            default: the one with that moment\n"
	"  --fail-if 'WHAT > AMOUNT' exit with 3 if the whole interval is beyond the limit; may be\n"
	"                            repeated. WHAT: critical path, CPU, wall, or saves, path, wait "
	"or\n"
	"                            item wait with KIND:NAME (* and ? match). AMOUNT: +5%, +10ms,\n"
	"                            or 400ms for the new side alone; also with <\n"
	"  --strict                  exit with 3 also if a limit is unclear\n"
	"  --least PERCENT           smaller changes are none, default 2\n"
	"  --format text|json|html   default: text\n"
	"  --html FILE               write a page for a browser, which needs no network\n"
	"  --top N                   rows of each table (text), default 10\n"
	"  --color auto|always|never default: auto, on a terminal unless NO_COLOR is set\n"
	"  --width N                 columns of a line (text), default: the terminal's, or 80\n"
	"  --help, --version\n"
	"\n"
	"Exit status: 0, 1 for a run that cannot be read, 2 for wrong usage, 3 for a broken limit.\n";

struct options {
	bool json, html, strict;
	unsigned spans;
	const char *at[CPA_SIDES];
	time_t seconds;	  /* --span; 0: none */
	const char *file; /* --html; NULL: standard output */
	double least;
	size_t top, width;
	enum cpa_color color;
	size_t rules;
	struct cpa_rule *rule;
};

static void __attribute__((noreturn))
bad_usage(const char *option, const char *value, const char *expected)
{
	char *text = value ? cpa_printable(value, SIZE_MAX) : NULL;

	fprintf(stderr, "cpa-diff: %s%s%s: %s (see cpa diff --help)\n", option, text ? " " : "",
		text ? text : "", expected);
	free(text);
	exit(EXIT_BAD_USAGE);
}

static size_t parse_number(const char *option, size_t least, size_t most, const char *expected)
{
	char *end;
	unsigned long number;

	errno = 0;
	number = strtoul(optarg, &end, 10);
	if (errno || end == optarg || *end || *optarg == '-' || number < least || number > most)
		bad_usage(option, optarg, expected);
	return number;
}

static void add_rule(struct options *options)
{
	const char *wrong;

	options->rule = xrealloc(options->rule, (options->rules + 1) * sizeof(*options->rule));
	wrong = cpa_rule_parse(&options->rule[options->rules], optarg);
	if (wrong)
		bad_usage("--fail-if", optarg, wrong);
	options->rules++;
}

static double parse_percent(void)
{
	char *end;
	double percent = strtod(optarg, &end);

	if (end == optarg || strcmp(end, *end ? "%" : "") != 0 || !(percent >= 0 && percent <= 100))
		bad_usage("--least", optarg, "a percentage from 0 to 100 expected");
	return percent / 100;
}

static const char *parse_at(void)
{
	time_t when;

	if (!cpa_history_parse(optarg, time(NULL), &when))
		bad_usage("--at", optarg, CPA_HISTORY_TIMES " expected");
	return optarg;
}

/* The seconds of --span. */
static time_t parse_span(void)
{
	time_t now = time(NULL), when;

	if (strchr(optarg, ':') || !cpa_history_parse(optarg, now, &when) || when == now)
		bad_usage("--span", optarg, "a time as 90s, 10m, 1h or 1d expected");
	return now - when;
}

static void __attribute__((noreturn)) finish(const char *text)
{
	fputs(text, stdout);
	exit(fflush(stdout) ? EXIT_UNREADABLE : 0);
}

static const struct option known_options[] = {
	{ "at", required_argument, NULL, 'a' },
	{ "span", required_argument, NULL, 'n' },
	{ "fail-if", required_argument, NULL, 'r' },
	{ "strict", no_argument, NULL, 's' },
	{ "least", required_argument, NULL, 'l' },
	{ "format", required_argument, NULL, 'f' },
	{ "html", required_argument, NULL, 'p' },
	{ "top", required_argument, NULL, 't' },
	{ "color", required_argument, NULL, 'c' },
	{ "width", required_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, 'v' },
	{ 0 },
};

static void take_format(struct options *options)
{
	options->json = strcmp(optarg, "json") == 0;
	options->html = strcmp(optarg, "html") == 0;
	if (!options->json && !options->html && strcmp(optarg, "text") != 0)
		bad_usage("--format", optarg, "text, json or html expected");
}

/* Take an option that says how to write. Return false if it is none. */
static bool take_writing(struct options *options, int option)
{
	switch (option) {
	case 'f':
		take_format(options);
		return true;
	case 'p':
		options->html = true;
		options->file = optarg;
		return true;
	case 't':
		options->top =
			parse_number("--top", 1, 1000000, "a number from 1 to 1000000 expected");
		return true;
	case 'c':
		options->color = cpa_color_of(optarg);
		if (options->color == CPA_COLORS)
			bad_usage("--color", optarg, "auto, always or never expected");
		return true;
	case 'w':
		options->width = parse_number("--width", CPA_WIDTH_MIN, CPA_WIDTH_MAX,
					      "a number from 72 to 1000 expected");
		return true;
	default:
		return false;
	}
}

/* Take an option that says what to compare, and what is a change. Return false if it is none. */
static bool take_comparison(struct options *options, int option)
{
	switch (option) {
	case 'a':
		if (options->spans == CPA_SIDES)
			bad_usage("--at", optarg, "two of them expected");
		options->at[options->spans++] = parse_at();
		return true;
	case 'n':
		options->seconds = parse_span();
		return true;
	case 'r':
		add_rule(options);
		return true;
	case 's':
		options->strict = true;
		return true;
	case 'l':
		options->least = parse_percent();
		return true;
	default:
		return false;
	}
}

static struct options parse_options(int argc, char **argv)
{
	struct options options = { .least = CPA_COMPARE_LEAST, .top = TOP_DEFAULT };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, ":", known_options, NULL)) != -1) {
		if (option == 'h')
			finish(help);
		if (option == 'v')
			finish("cpa-diff " CPA_VERSION "\n");
		if (option == ':')
			bad_usage("option", argv[optind - 1], "a value is missing");
		if (!take_writing(&options, option) && !take_comparison(&options, option))
			bad_usage("option", argv[optind - 1], "not known, or not unique");
	}
	return options;
}

/* The place of "--" in @argv; @argc: there is none. getopt_long() would not tell. */
static int find_dashes(int argc, char **argv)
{
	int at = 1;

	while (at < argc && strcmp(argv[at], "--") != 0)
		at++;
	return at;
}

static void add_runs(struct cpa_side *side, char **arguments, int count)
{
	char *error;

	for (int i = 0; i < count; i++) {
		if (cpa_side_add(side, arguments[i], &error) == 0)
			continue;
		fprintf(stderr, "cpa-diff: %s\n", error);
		exit(EXIT_UNREADABLE);
	}
}

/* A side whose runs have nothing profiled cannot be compared. */
static void refuse_blank(const struct cpa_comparison *c)
{
	for (unsigned i = 0; i < CPA_SIDES; i++) {
		const struct cpa_side *side = &c->side[i];

		if (!side->blank || side->runs)
			continue;
		fprintf(stderr,
			"cpa-diff: %s: nothing of its %s was profiled (with a budget: take a longer time)\n",
			i == CPA_BASE ? "base" : "new", side->blank == 1 ? "run" : "runs");
		exit(EXIT_UNREADABLE);
	}
}

/* Fill the sides from the arguments before and after "--". */
static void read_sides(struct cpa_comparison *c, int before, char **base, int after, char **new)
{
	if (after < 0) {
		if (!before)
			bad_usage("argument", NULL, "runs to compare expected");
		if (before > 2)
			bad_usage("argument", base[2],
				  "two sides expected; write -- between them if they have several "
				  "files");
		add_runs(&c->side[CPA_BASE], base, 1);
		add_runs(&c->side[CPA_NEW], base + 1, before - 1);
		return;
	}
	if (!before || !after)
		bad_usage("argument", "--", "runs expected before and after it");
	add_runs(&c->side[CPA_BASE], base, before);
	add_runs(&c->side[CPA_NEW], new, after);
}

/* Fill the sides with two times of the one run in @run, of @count arguments. */
static void read_times(struct cpa_comparison *c, const struct options *options, int count,
		       char **run)
{
	char *error;

	if (options->spans != CPA_SIDES)
		bad_usage("--at", options->at[0], "two of them expected");
	if (count > 1)
		bad_usage("argument", run[1], "one run expected with --at");
	for (unsigned i = 0; i < CPA_SIDES; i++) {
		if (cpa_side_add_span(&c->side[i], count ? run[0] : NULL, options->at[i],
				      options->seconds, &error) == 0)
			continue;
		fprintf(stderr, "cpa-diff: %s\n", error);
		exit(EXIT_UNREADABLE);
	}
}

/* Judge the rules, each by every row that it matches. Return the exit status. */
static int judge(const struct options *options, const struct cpa_comparison *c,
		 struct cpa_judgements *all)
{
	int status = 0;

	all->judgement = xcalloc(c->rows * options->rules + 1, sizeof(*all->judgement));
	for (size_t i = 0; i < options->rules; i++) {
		const struct cpa_rule *rule = &options->rule[i];
		size_t before = all->count;

		if (!c->side[CPA_NEW].runs && rule->by != CPA_AMOUNT_TIME)
			bad_usage("--fail-if", rule->text, "a change needs two sides");
		for (size_t k = 0; k < c->rows; k++) {
			struct cpa_judgement *judgement = &all->judgement[all->count];

			if (!cpa_rule_matches(rule, &c->row[k]))
				continue;
			all->count++;
			judgement->rule = rule;
			judgement->row = &c->row[k];
			judgement->ruling =
				cpa_rule_judge(rule, c, judgement->row, &judgement->found);
			if (judgement->ruling == CPA_RULE_BROKEN ||
			    (options->strict && judgement->ruling == CPA_RULE_UNCLEAR))
				status = EXIT_BROKEN;
		}
		if (all->count == before)
			bad_usage("--fail-if", rule->text, "no run has such a row");
	}
	return status;
}

int main(int argc, char **argv)
{
	int dashes = find_dashes(argc, argv), status, ret = 0;
	struct options options = parse_options(dashes, argv);
	struct cpa_comparison c = { .least = options.least };
	struct cpa_judgements rules = { 0 };

	if (options.seconds && !options.spans)
		bad_usage("--span", NULL, "only with --at");
	if (options.spans)
		read_times(&c, &options, dashes - optind, argv + optind);
	else
		read_sides(&c, dashes - optind, argv + optind, argc - dashes - 1,
			   argv + dashes + 1);
	refuse_blank(&c);
	cpa_compare(&c);
	status = judge(&options, &c, &rules);
	if (options.file && !freopen(options.file, "we", stdout))
		bad_usage("--html", options.file, strerror(errno));
	if (options.html) {
		ret = cpa_compare_html(&c, &rules, stdout);
	} else if (options.json) {
		ret = cpa_compare_json(&c, &rules, stdout);
	} else {
		struct cpa_page page = cpa_terminal_page(options.color, options.width);

		cpa_compare_text(&c, &rules, &page, options.top);
	}
	if (fflush(stdout) || ferror(stdout) || ret < 0) {
		fprintf(stderr, "cpa-diff: cannot write: %s\n", strerror(errno));
		status = EXIT_UNREADABLE;
	}
	free(rules.judgement);
	for (size_t i = 0; i < options.rules; i++)
		cpa_rule_fini(&options.rule[i]);
	free(options.rule);
	cpa_comparison_fini(&c);
	return status;
}
