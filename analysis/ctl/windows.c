/* SPDX-License-Identifier: MIT */
#include "analysis/ctl/windows.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "shadow/store/epoch.h"
#include "shadow/store/timespec.h"

#define WINDOW_NS UINT64_C(50000000)
#define FIRST_NS  100000000.0 /* the first window begins until then */
#define MOST_NS	  60e9	      /* longest mean gap */
#define AGAIN_NS  UINT64_C(10000000)

/* What the sums in the session do not hold: an untimed use of a lock, an interrupt for a sample. */
#define UNTIMED_NS 16.0
#define SAMPLE_NS  9000.0

/* So much of earlier windows' sums counts for the next gap. */
#define KEPT 0.75

/*
 * A program with less CPU time than this share of one processor is not slowed down by what is less
 * than the budget of that.
 */
#define IDLE 0.05

bool cpa_windows_budget(const char *text, double *share)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || text[strspn(text, "0123456789.")] != '%' || strcmp(end, "%") != 0)
		return false;
	*share = value / 100;
	return value >= 0.01 && value <= 100;
}

/* A random number from 0 to @most. */
static double draw(struct cpa_windows *w, double most)
{
	return most * erand48(w->random);
}

uint64_t cpa_windows_next(struct cpa_windows *w)
{
	uint64_t seed;

	if (!w->next_ns) {
		seed = cpa_timespec_now_ns(CLOCK_REALTIME);
		memcpy(w->random, &seed, sizeof(w->random));
		w->next_ns = 1 + (uint64_t)draw(w, FIRST_NS);
	}
	return w->next_ns;
}

/* Add what the window that ends now cost, and had of CPU time, to the sums. */
static void measure(struct cpa_windows *w)
{
	const struct cpa_control_cost *from = &w->begun;
	struct cpa_control_cost now;

	cpa_control_cost(&w->control, &now);
	w->cost = w->cost * KEPT + (double)(now.probe - from->probe) +
		  now.ticks_per_ns * (UNTIMED_NS * (double)(now.untimed - from->untimed) +
				      SAMPLE_NS * (double)(now.samples - from->samples));
	w->cpu = w->cpu * KEPT + (double)(now.process - from->process);
	if (w->cpu < IDLE * now.ticks_per_ns * (double)WINDOW_NS)
		w->cpu = IDLE * now.ticks_per_ns * (double)WINDOW_NS;
	w->begun = now;
}

/* Mean gap after which the cost of the windows so far is within the budget; 0: it is without one. */
static double mean_gap(const struct cpa_windows *w)
{
	double share = w->budget * w->cpu / w->cost, gap;

	if (!(share < 1))
		return 0;
	gap = (double)WINDOW_NS * (1 / share - 1);
	return gap < MOST_NS ? gap : MOST_NS;
}

/* Switch profiling. Return false if it must not be switched any more. */
static bool change(struct cpa_windows *w, bool on)
{
	char *error = NULL;
	bool done = (!w->epoch || cpa_epoch(w->control.header) == w->epoch) &&
		    !cpa_control_switch(&w->control, on, &error);

	free(error);
	w->is_on = on;
	w->epoch = cpa_epoch(w->control.header);
	return done;
}

static bool open_session(struct cpa_windows *w)
{
	char *error = NULL;

	w->is_open = w->is_open || cpa_control_open(&w->control, w->session, &error) == 0;
	free(error);
	return w->is_open;
}

void cpa_windows_act(struct cpa_windows *w, uint64_t now)
{
	double gap;

	if (!open_session(w)) {
		w->next_ns = now + AGAIN_NS;
		return;
	}
	if (!w->is_on) {
		cpa_control_cost(&w->control, &w->begun);
		w->next_ns = change(w, true) ? now + WINDOW_NS : UINT64_MAX;
		return;
	}
	measure(w);
	gap = mean_gap(w);
	if (gap > 0 && !change(w, false))
		w->next_ns = UINT64_MAX;
	else
		w->next_ns = now + (gap > 0 ? 1 + (uint64_t)draw(w, 2 * gap) : WINDOW_NS);
}
