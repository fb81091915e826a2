/* SPDX-License-Identifier: MIT */
/*
 * analysis/profile/windows.c - how far the figures of the profiled parts are from those of the run
 *
 * The parts are taken for a sample of the run, drawn at random moments. A component's share R of the
 * path is the ratio of two sums over the parts, of what each added to the component and to the path:
 * h and l. With e = h - R l, the standard error of a ratio of sums over n parts is
 * sqrt(n / (n - 1) * sum of e^2) / sum of l. A run that was profiled all the time has no such error:
 * what was profiled of the time takes its part off the variance.
 */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/profile/build.h"
#include "shadow/edge/windows.h"

#define FEWEST 10u /* parts; the distribution of fewer is not known */

/*
 * Share of the profiled time that threads spent in waits which had begun before a part: with more,
 * the parts are too short for the program, and their figures further off than chance explains.
 */
#define MOST_BLOCKED 0.05

/* Sums over all parts, with the last one, which the session does not hold. */
struct sums {
	uint32_t parts, slots;
	double square, len; /* of what a part added to the path, ticks */
	double last_len;    /* of the last part */
	double missed;	    /* share of the run that was not profiled */
	uint64_t *value;    /* arrays of struct cpa_window_sums */
};

static bool read_sums(const struct cpa_build *build, struct sums *s)
{
	const struct cpa_program_figures *program = &build->profile->program;
	const struct cpa_header *h = &build->dump->header;
	struct cpa_window_sums w;
	size_t size;

	if (!h->windows || !cpa_dump_bytes(build->dump, h->windows, &w, sizeof(w)) || w.busy ||
	    build->program.len < w.len || program->run_s <= 0 ||
	    (double)h->diag[CPA_DIAG_PART_BLOCKED_TICKS] * build->tick_s >
		    MOST_BLOCKED * program->wall_s)
		return false;
	*s = (struct sums){
		.parts = w.count,
		.slots = cpa_windows_slots(h->slots),
		.square = w.square,
		.len = (double)build->program.len,
		.last_len = (double)(build->program.len - w.len),
		.missed = 1 - program->wall_s / program->run_s,
	};
	size = (size_t)CPA_WINDOW_ARRAYS * s->slots * sizeof(*s->value);
	s->value = xmalloc(size);
	s->square += s->last_len * s->last_len;
	s->parts += s->last_len > 0;
	if (s->parts >= FEWEST && s->len > 0 && s->missed > 0 &&
	    cpa_dump_bytes(build->dump, h->windows + sizeof(w), s->value, size))
		return true;
	free(s->value);
	return false;
}

/* The 97.5 % point of Student's distribution with @freedom degrees (Cornish-Fisher). */
static double student(double freedom)
{
	return 1.960 + 2.372 / freedom + 2.823 / (freedom * freedom);
}

/* Half the 95 % interval of the sum @ticks in @slot, ticks; @array: CPA_WINDOW_H or _S. */
static double error_of(const struct sums *s, enum cpa_window_array array, uint32_t slot,
		       uint64_t ticks)
{
	const uint64_t *at = &s->value[array * s->slots];
	const double *square = (const double *)(const void *)&at[s->slots];
	const double *product = (const double *)(const void *)&at[2 * s->slots];
	double last = (double)(int64_t)(ticks - at[slot]), ratio = (double)ticks / s->len;
	double squares = square[slot] + last * last;
	double products = product[slot] + last * s->last_len;
	double sum = squares - 2 * ratio * products + ratio * ratio * s->square;
	double n = s->parts;

	return sum > 0 ? student(n - 1) * sqrt(n / (n - 1) * sum * s->missed) : 0;
}

void cpa_build_windows(struct cpa_build *build)
{
	struct cpa_profile *profile = build->profile;
	struct sums s;

	if (!read_sums(build, &s))
		return;
	profile->windows = s.parts;
	for (size_t i = 0; i < profile->components; i++) {
		struct cpa_component_figures *c = &profile->component[i];

		if (c->among) /* its slot was another's before */
			continue;
		c->has_interval = true;
		c->critical_path_error_s =
			error_of(&s, CPA_WINDOW_H, c->slot, build->program.share[c->slot]) *
			build->tick_s;
		c->saved_error_s =
			error_of(&s, CPA_WINDOW_S, c->slot, build->program.slack[c->slot]) *
			build->tick_s;
	}
	free(s.value);
}
