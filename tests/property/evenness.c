/* SPDX-License-Identifier: MIT */
/*
 * tests/property/evenness.c - shares of the run that windows stand for, against a list of all windows
 *
 * A session made by hand has windows behind gaps of random means. The slow computation repeats each window as
 * often as the time that it stands for holds it, and compares all components with their shares in the windows, with the
 * interval of the difference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/profile/components.h"
#include "analysis/profile/evenness.h"
#include "tests/property/claims.h"
#include "tests/property/margins_slow.h"
#include "tests/unit/dump_windows.h"

#define WINDOWS_MOST 40u

enum claim { TOLD, CHANCE, SHARES, MARGINS, ORDER, EVEN, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[TOLD] = "components are told whose shares differ most from those of the run",
	[CHANCE] = "those are not told whose difference may be chance",
	[SHARES] = "shares of the run are those of the slow computation",
	[MARGINS] = "so are their margins",
	[ORDER] = "those that differ most come first",
	[EVEN] = "windows without gaps tell none",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "sessions" };
static struct dump_maker maker;
static unsigned windows; /* the last one is not in a sample: it ends with the run */
static uint64_t drawn[WINDOWS_MOST][WINDOW_LENGTH];

/* Windows that together are shorter than the run and have less of its path. @whole: without gaps. */
static void draw(struct rnd *r, bool whole)
{
	uint64_t most = MAKER_TICKS(4) / WINDOWS_MOST;

	windows = 2 + (unsigned)rnd_below(r, WINDOWS_MOST - 1);
	for (unsigned i = 0; i < windows; i++) {
		uint64_t left = 1 + rnd_below(r, most);

		for (size_t place = 0; place < WINDOW_LENGTH; place++)
			drawn[i][place] = 0;
		drawn[i][CPA_WINDOW_ON] = left + rnd_below(r, most);
		drawn[i][CPA_WINDOW_LEN] = left;
		drawn[i][CPA_WINDOW_GAPS] = whole ? 0 : rnd_below(r, 5) * most;
		for (uint32_t slot = CPA_SLOT_FIRST; slot < MAKER_SLOTS; slot++)
			drawn[i][WINDOW_PLACE(CPA_WINDOW_SHARE, slot)] = rnd_below(r, left + 1);
	}
}

static uint64_t has(unsigned i, size_t place)
{
	return drawn[i][place];
}

/* The value at @place of window @i alone. The last window has the rest of @end, the value of the whole run. */
static double had(unsigned i, size_t place, double end)
{
	double before = 0;

	if (i + 1 < windows)
		return (double)drawn[i][place];
	for (unsigned k = 0; k < i; k++)
		before += (double)drawn[k][place];
	return end - before;
}

/*
 * The share of the run's path of which the windows have @place, and which is @end ticks at the end. @stands: weighted
 * by the time that each window stands for.
 */
static double slow(const struct cpa_profile *profile, size_t place, double end, bool stands)
{
	const struct cpa_program_figures *program = &profile->program;
	double part = 0, path = 0;

	for (unsigned i = 0; i < windows; i++) {
		double on = had(i, CPA_WINDOW_ON, program->wall_s / profile->tick_s);
		double times = stands ? 1 + (double)drawn[i][CPA_WINDOW_GAPS] / on : 1;

		part += times * had(i, place, end);
		path += times * had(i, CPA_WINDOW_LEN, program->critical_path_s / profile->tick_s);
	}
	return part / path;
}

/* Half of the interval of the weighted share of which the windows have @place, by batches. NAN: few, or none has any. */
static double slow_margin(size_t place)
{
	double part[CPA_BATCHES_MOST] = { 0 }, path[CPA_BATCHES_MOST] = { 0 }, all = 0, ratio;
	size_t step, batches = cpa_margin_batches(windows, &step);

	for (size_t i = 0; i < batches * step; i++) {
		double times =
			1 + (double)drawn[i][CPA_WINDOW_GAPS] / (double)drawn[i][CPA_WINDOW_ON];

		part[i / step] += times * (double)drawn[i][place];
		path[i / step] += times * (double)drawn[i][CPA_WINDOW_LEN];
		all += (double)drawn[i][place];
	}
	return batches < CPA_BATCHES_LEAST || all == 0 ? NAN :
							 slow_interval(part, path, batches, &ratio);
}

/*
 * Whether the shares @in_run and @in_windows of which the windows have @place differ by more than chance explains: the
 * interval of the difference, each ratio taken as a sum of what batches have too much. Unknown near the limit: -1.
 */
static int slow_differs(size_t place, double in_run, double in_windows)
{
	double off[CPA_BATCHES_MOST] = { 0 }, squares = 0, margin, n;
	double weighted[2][CPA_BATCHES_MOST] = { { 0 } }, plain[2][CPA_BATCHES_MOST] = { { 0 } };
	double sum[4] = { 0 };
	size_t step, batches = cpa_margin_batches(windows, &step);

	if (batches < CPA_BATCHES_LEAST)
		return 0;
	for (size_t i = 0; i < batches * step; i++) {
		double times =
			1 + (double)drawn[i][CPA_WINDOW_GAPS] / (double)drawn[i][CPA_WINDOW_ON];
		double part = (double)drawn[i][place], path = (double)drawn[i][CPA_WINDOW_LEN];

		weighted[0][i / step] += times * part;
		weighted[1][i / step] += times * path;
		plain[0][i / step] += part;
		plain[1][i / step] += path;
		sum[0] += times * part;
		sum[1] += times * path;
		sum[2] += part;
		sum[3] += path;
	}
	n = (double)batches;
	for (size_t i = 0; i < batches; i++) {
		off[i] = (weighted[0][i] - sum[0] / sum[1] * weighted[1][i]) / (sum[1] / n) -
			 (plain[0][i] - sum[2] / sum[3] * plain[1][i]) / (sum[3] / n);
		squares += off[i] * off[i];
	}
	margin = slow_quantile(n - 1) * sqrt(squares / (n - 1) / n);
	if (fabs(fabs(in_run - in_windows) - margin) < 1e-6)
		return -1;
	return fabs(in_run - in_windows) > margin;
}

static bool close_to(double found, double expected)
{
	if (isnan(expected))
		return isnan(found);
	return fabs(found - expected) <= 1e-6 * (1 + fabs(expected));
}

/* Compare @uneven with all components. */
static void check(const struct cpa_profile *profile, bool whole)
{
	const struct cpa_uneven *uneven = &profile->uneven;
	double least = 1e9, before = 1e9;
	size_t more = 0;

	for (size_t i = 0; i < uneven->count; i++) {
		const struct cpa_uneven_share *share = &uneven->most[i];
		double differs = fabs(share->in_run - share->in_windows);

		claims.any |= claims_fail(&claims, ORDER, differs <= before);
		before = least = differs;
	}
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *c = &profile->component[i];
		size_t place = WINDOW_PLACE(CPA_WINDOW_SHARE, c->slot);
		double end = c->critical_path_s / profile->tick_s;
		double in_run = slow(profile, place, end, true);
		double in_windows = slow(profile, place, end, false);
		int differs =
			c->slot == CPA_SLOT_UNSAMPLED ? 0 : slow_differs(place, in_run, in_windows);
		const struct cpa_uneven_share *told = NULL;

		for (size_t k = 0; k < uneven->count; k++)
			if (uneven->most[k].component == c)
				told = &uneven->most[k];
		claims.any |= claims_fail(&claims, SHARES, close_to(c->run_share, in_run));
		if (!slow_is_sampled(c))
			claims.any |=
				claims_fail(&claims, MARGINS,
					    close_to(c->run_share_margin, slow_margin(place)));
		if (told)
			claims.any |= claims_fail(&claims, SHARES,
						  close_to(told->in_run, in_run) &&
							  close_to(told->in_windows, in_windows));
		if (told)
			claims.any |= claims_fail(&claims, CHANCE, differs != 0);
		else if (differs > 0)
			more += fabs(in_run - in_windows) >
				(uneven->count == CPA_UNEVEN_MOST ? least : CPA_UNEVEN_LEAST) +
					1e-6;
	}
	claims.any |= claims_fail(&claims, TOLD, more == 0);
	if (whole)
		claims.any |= claims_fail(&claims, EVEN, uneven->count == 0);
}

static void run(struct rnd *r)
{
	bool whole = rnd_percent(r, 30);
	struct cpa_window_series *series;
	struct cpa_profile *profile;
	struct cpa_dump dump;
	char *error = NULL;

	draw(r, whole);
	dump_maker_example(&maker);
	series = dump_maker_windows(&maker, windows - 1, has);
	for (unsigned i = 0; i < windows; i++)
		series->gaps += drawn[i][CPA_WINDOW_GAPS];
	dump_maker_save(&maker, maker_file, SIZE_MAX);
	if (cpa_dump_open(&dump, maker_file, &error) < 0)
		maker_fail(error);
	profile = cpa_profile_build(&dump, CPA_GRAPH_NODES);
	check(profile, whole);
	if (claims.any)
		printf("# %s %llu: %u windows\n", claims.what, (unsigned long long)claims.number,
		       windows);
	cpa_profile_free(profile);
	cpa_dump_close(&dump);
	dump_maker_free(&maker);
}

int main(void)
{
	unsigned tests = claims_long() ? 5000 : 300;

	if (dump_maker_file(NULL) < 0)
		maker_fail(maker_file);
	claims_begin(&claims);
	for (; claims.number < tests && !claims.any; claims.number++) {
		struct rnd r = rnd_sequence(claims.seed, claims.number);

		run(&r);
	}
	dump_maker_unlink(NULL);
	return claims_end(&claims);
}
