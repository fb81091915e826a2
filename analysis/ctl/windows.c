/* SPDX-License-Identifier: MIT */
#include "analysis/ctl/windows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>

#include "shadow/store/epoch.h"
#include "shadow/store/timespec.h"

#define WINDOW_NS UINT64_C(50000000)
#define FIRST_NS  100000000.0 /* the first window begins until then */
#define MOST_NS	  60e9	      /* longest mean gap */
#define AGAIN_NS  UINT64_C(10000000)

/*
 * The first window ends early where gaps will be longer than SHORT_NS: it has told what windows cost, and a short run
 * does not pay for more. As cpa meets threads and objects for the first time in it, it counts as DEAR times the
 * program's own time at most.
 */
#define TRIAL_NS UINT64_C(10000000)
#define SHORT_NS (4 * (double)WINDOW_NS)
#define DEAR	 1.0

/* What the sums in the session do not hold: an untimed use of a lock, an interrupt for a sample, */
#define UNTIMED_NS 14.0
#define SAMPLE_NS  9000.0
/*
 * and what operations of cpa cost outside of them, as a multiple of their own time: cache lines that they take from the
 * program, longer sections. It depends on the processor and the program; this is above most (docs/parts.md).
 */
#define OUTSIDE 2.0
/* At least so much of the process time is the program's. */
#define OWN 0.1

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

/* Somebody else has switched since our latest change. */
static bool is_foreign(const struct cpa_windows *w)
{
	return w->epoch && cpa_epoch(w->control.header) != w->epoch;
}

/* No change follows: another process may keep a budget. */
static void end(struct cpa_windows *w)
{
	cpa_window_sums_close(&w->sums);
	cpa_control_close(&w->control);
	w->is_open = false;
	w->next_ns = UINT64_MAX;
}

uint64_t cpa_windows_next(struct cpa_windows *w)
{
	uint64_t seed;

	if (w->is_open && is_foreign(w))
		end(w);
	if (!w->next_ns) {
		seed = cpa_timespec_now_ns(CLOCK_REALTIME);
		memcpy(w->random, &seed, sizeof(w->random));
		w->gap_ns = FIRST_NS / 2;
		w->next_ns = 1 + (uint64_t)draw(w, 2 * w->gap_ns);
	}
	return w->next_ns;
}

/*
 * Add what the window that ends now cost, and what the program itself had of CPU time, to the sums. Return whether it
 * had some, as far as it is known: that of a thread is known at its events.
 */
static bool measure(struct cpa_windows *w)
{
	const struct cpa_control_cost *from = &w->begun;
	struct cpa_control_cost now;
	double probe, process, outside, idle;

	cpa_control_cost(&w->control, &now);
	probe = (double)(now.probe - from->probe);
	process = (double)(now.process - from->process);
	outside = OUTSIDE * probe +
		  now.ticks_per_ns * (UNTIMED_NS * (double)(now.untimed - from->untimed) +
				      SAMPLE_NS * (double)(now.samples - from->samples));
	w->cost = w->cost * KEPT + probe + outside;
	/* What is outside of cpa's operations is in the process time, too. */
	w->cpu = w->cpu * KEPT +
		 (process - outside > OWN * process ? process - outside : OWN * process);
	idle = IDLE * now.ticks_per_ns * (double)w->length_ns;
	if (w->cpu < idle)
		w->cpu = idle;
	if (w->length_ns == TRIAL_NS && w->cost > DEAR * w->cpu)
		w->cost = DEAR * w->cpu;
	w->begun = now;
	return w->cpu > idle;
}

/*
 * Mean gap after which the cost of the windows so far is within the budget; 0: it is without one.
 */
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
	bool done = !is_foreign(w) && !cpa_control_switch(&w->control, on, &error);

	free(error);
	w->is_on = on;
	w->epoch = cpa_epoch(w->control.header);
	return done;
}

/* Whether another process keeps a budget. */
static bool are_kept(struct cpa_control *control)
{
	if (flock(control->fd, LOCK_EX | LOCK_NB) < 0)
		return errno == EWOULDBLOCK;
	flock(control->fd, LOCK_UN);
	return false;
}

int cpa_windows_stop(struct cpa_control *control, char **error)
{
	if (cpa_control_switch(control, false, error) == 0)
		return 0;
	if (cpa_epoch_is_on(cpa_epoch(control->header)) || !are_kept(control))
		return -1;
	free(*error);
	*error = NULL;
	return cpa_control_touch(control, error);
}

int cpa_windows_open(struct cpa_windows *w, char **error)
{
	if (w->is_open)
		return 0;
	if (cpa_control_open(&w->control, w->session, error) < 0)
		return -1;
	/*
	 * A file system without locks: two budgets then end each other, as each sees a foreign
	 * change.
	 */
	w->is_taken = flock(w->control.fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	w->is_open = !w->is_taken;
	if (!w->is_taken)
		return 0;
	cpa_control_close(&w->control);
	if (asprintf(error, "%s: cpa run --budget or another cpa ctl keeps a budget already",
		     w->session) < 0)
		*error = NULL;
	return -1;
}

void cpa_windows_close(struct cpa_windows *w)
{
	if (w->is_on)
		change(w, false);
	end(w);
}

void cpa_windows_act(struct cpa_windows *w, uint64_t now)
{
	uint64_t called = cpa_timespec_now_ns(CLOCK_MONOTONIC);
	char *error = NULL;
	bool done, known, goes_on;

	if (cpa_windows_open(w, &error) < 0) {
		free(error);
		w->next_ns = w->is_taken ? UINT64_MAX : now + AGAIN_NS;
		return;
	}
	if (!w->is_on) {
		cpa_control_cost(&w->control, &w->begun);
		cpa_window_sums_take(&w->sums, &w->control,
				     (uint64_t)(w->gap_ns * w->begun.ticks_per_ns));
		done = change(w, true);
		/* The first time that took some milliseconds. */
		now += cpa_timespec_now_ns(CLOCK_MONOTONIC) - called;
		w->length_ns = w->length_ns ? WINDOW_NS : TRIAL_NS;
		w->next_ns = now + w->length_ns;
	} else {
		known = measure(w);
		w->gap_ns = mean_gap(w);
		goes_on = w->gap_ns == 0 ||
			  (w->length_ns == TRIAL_NS && (!known || w->gap_ns < SHORT_NS));
		done = goes_on || change(w, false);
		w->length_ns = WINDOW_NS;
		w->next_ns = now + (goes_on ? WINDOW_NS : 1 + (uint64_t)draw(w, 2 * w->gap_ns));
	}
	if (!done)
		end(w);
}
