/* SPDX-License-Identifier: MIT */
/* analysis/compare/doubts.c - what makes a comparison doubtful */
#include <libiberty/libiberty.h>
#include <math.h>
#include <string.h>

#include "analysis/compare/compare.h"

#define RUNQUEUE_MUCH 0.3 /* of the observed path */
#define RUNS_MOST     20
#define SAMPLE_ALL    0.98 /* of the time: as good as the whole run */

static const char *const side_name[CPA_SIDES] = { "base", "new" };

static const json_t *program_of(const struct cpa_side *side, size_t run)
{
	return json_object_get(side->run[run], "program");
}

/* The first runs of both sides differ in @key. */
static bool differ(const struct cpa_comparison *c, const char *key)
{
	const json_t *base = json_object_get(program_of(&c->side[CPA_BASE], 0), key);
	const json_t *new = json_object_get(program_of(&c->side[CPA_NEW], 0), key);

	/* Both may lack it. */
	return base != new && !json_equal(base, new);
}

static void doubt_settings(struct cpa_comparison *c)
{
	static const struct {
		const char *key, *words;
	} settings[] = { { "name", "different programs" },
			 { "cores", "different numbers of processors" },
			 { "host", "different hosts" },
			 { "sample_hz", "different sampling rates" },
			 { "by_callers", "different --by: other parts of functions" },
			 { "session_format", "different versions of cpa" } };

	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		if (differ(c, settings[i].key))
			cpa_comparison_warn(c, "The sides are runs of %s.", settings[i].words);
	if (!json_equal(json_object_get(c->side[CPA_BASE].run[0], "cpa_version"),
			json_object_get(c->side[CPA_NEW].run[0], "cpa_version")))
		cpa_comparison_warn(c, "The sides were read by different versions of cpa.");
}

/* Runs with a budget: their figures are scaled, and some may have had no window. */
static void doubt_sample(struct cpa_comparison *c, enum cpa_side_name which)
{
	const struct cpa_side *side = &c->side[which];
	const char *name = c->side[CPA_NEW].runs ? side_name[which] : "runs";
	double least = 1;

	for (size_t i = 0; i < side->runs; i++)
		least = fmin(least, cpa_side_profiled(side->run[i]));
	if (least < SAMPLE_ALL)
		cpa_comparison_warn(c,
				    "In the %s, windows of a budget were profiled, %s%.1f %% of "
				    "the time: times are scaled to the whole run.",
				    name, side->runs > 1 ? "at least " : "", 100 * least);
	if (side->blank)
		cpa_comparison_warn(c,
				    "Nothing was profiled in %zu more of the runs of the %s: they "
				    "are left out.",
				    side->blank, c->side[CPA_NEW].runs ? side_name[which] : "side");
}

static void doubt_side(struct cpa_comparison *c, enum cpa_side_name which)
{
	const struct cpa_side *side = &c->side[which];
	double runqueue = 0, observed = 0;
	size_t unfinished = 0;

	doubt_sample(c, which);
	for (size_t i = 0; i < side->runs; i++) {
		const json_t *program = program_of(side, i);
		const json_t *segments = json_object_get(program, "observed_segments");

		runqueue += json_number_value(json_object_get(segments, "runqueue_s"));
		observed += json_number_value(json_object_get(program, "observed_path_s"));
		unfinished += !json_is_true(json_object_get(program, "complete"));
	}
	if (unfinished)
		cpa_comparison_warn(c, "%zu of the %zu runs of the %s did not finish.", unfinished,
				    side->runs, c->side[CPA_NEW].runs ? side_name[which] : "side");
	if (observed > 0 && runqueue > RUNQUEUE_MUCH * observed)
		cpa_comparison_warn(
			c,
			"In the %s, threads on the observed path waited for a processor "
			"for %.0f %% of the time: wall time and waits say little, the "
			"critical path is not affected.",
			c->side[CPA_NEW].runs ? side_name[which] : "runs",
			100 * runqueue / observed);
}

/* The most rows that are judged together. */
static size_t most_rows(const struct cpa_comparison *c)
{
	size_t most = 0;

	for (unsigned m = 0; m < CPA_MEASURES; m++) {
		size_t rows = 0;

		for (size_t i = 0; i < c->rows; i++)
			rows += c->row[i].measure == m && !isnan(c->row[i].p);
		most = rows > most ? rows : most;
	}
	return most;
}

/*
 * Rows of a table are corrected together: with few runs no change can pass, whatever the runs say.
 */
static void doubt_runs(struct cpa_comparison *c)
{
	size_t base = c->side[CPA_BASE].runs, new = c->side[CPA_NEW].runs;
	size_t rows = most_rows(c), runs = base < new ? base : new;

	if (!rows || cpa_permutation_least(base, new) * (double)rows < CPA_COMPARE_SURE)
		return;
	while (runs < RUNS_MOST &&
	       cpa_permutation_least(runs, runs) * (double)rows >= CPA_COMPARE_SURE)
		runs++;
	cpa_comparison_warn(c,
			    "%zu and %zu runs are too few to call one of %zu rows of a table "
			    "changed, however large the change; take %zu runs a side.",
			    base, new, rows, runs);
}

static void doubt_names(struct cpa_comparison *c)
{
	size_t rows = 0;

	for (size_t i = 0; i < c->rows; i++)
		rows += c->row[i].measure == CPA_MEASURE_SAVES &&
			(c->row[i].verdict == CPA_CHANGE_ONLY_BASE ||
			 c->row[i].verdict == CPA_CHANGE_ONLY_NEW) &&
			strstr(c->row[i].name, "+0x");
	if (rows)
		cpa_comparison_warn(
			c,
			"Names that are addresses mean the same in one build only; with "
			"debug information they could be matched: %zu of the components "
			"that are only in one side.",
			rows);
}

void cpa_comparison_doubt(struct cpa_comparison *c)
{
	doubt_side(c, CPA_BASE);
	if (!c->side[CPA_NEW].runs)
		return;
	doubt_side(c, CPA_NEW);
	doubt_settings(c);
	if (c->side[CPA_BASE].runs < 2 || c->side[CPA_NEW].runs < 2)
		cpa_comparison_warn(c, "A side of one run says nothing about chance: take 5 runs a "
				       "side (cpa run --repeat 5).");
	else
		doubt_runs(c);
	doubt_names(c);
}
