/* SPDX-License-Identifier: MIT */
/*
 * tests/property/turns_slow.h - assignment of cores to threads, tick by tick
 *
 * The obvious implementation of analysis/predict/engine.h: in each tick every thread on a core
 * advances by one; the next thread is found by looking at all. Background processes are threads
 * behind the others.
 */
#ifndef CPA_TESTS_TURNS_SLOW_H
#define CPA_TESTS_TURNS_SLOW_H

#include <string.h>

#include "analysis/predict/engine.h"
#include "tests/unit/script_maker.h"

#define TURNS_CORES   16
#define TURNS_THREADS (MAKER_THREADS + 8)

enum turns_mode { TURNS_NOTHING, TURNS_DELAY, TURNS_WAITS, TURNS_RUNS };

struct turns_thread {
	enum turns_mode mode;
	uint32_t group, core;
	int64_t left; /* ticks left of the work or the delay */
	int64_t had, behind, deadline, protect;
	uint64_t begun; /* number of its present work or delay, in order of begin */
};

static struct turns {
	const struct cpa_placement *placement;
	struct turns_thread thread[TURNS_THREADS];
	uint32_t threads; /* including the background */
	/* number of the moment when it became idle; the latest is taken first */
	int idle[8][TURNS_CORES];
	bool busy[8][TURNS_CORES];
	int64_t mean[8];
	bool woken[8], ticked;
	uint64_t now, begun;
	int moment;
} turns;

/* Return the number of threads of the group in @mode. */
static uint32_t turns_count(uint32_t group, enum turns_mode mode)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < turns.threads; i++)
		count += turns.thread[i].group == group && turns.thread[i].mode == mode;
	return count;
}

static uint32_t turns_needing(uint32_t group)
{
	return turns_count(group, TURNS_WAITS) + turns_count(group, TURNS_RUNS);
}

static int64_t turns_mean(uint32_t group)
{
	int64_t sum = 0, of = turns_needing(group);

	for (uint32_t i = 0; i < turns.threads; i++)
		if (turns.thread[i].group == group && turns.thread[i].mode >= TURNS_WAITS)
			sum += turns.thread[i].had;
	return of ? sum / of : turns.mean[group];
}

/* Return the group's core that became idle last; -1: none is idle. */
static int turns_idle(uint32_t group)
{
	int best = -1;

	for (uint32_t i = 0; i < turns.placement->cores[group]; i++)
		if (!turns.busy[group][i] &&
		    (best < 0 || turns.idle[group][i] > turns.idle[group][best]))
			best = (int)i;
	return best;
}

static void turns_run(uint32_t t, uint64_t latency)
{
	struct turns_thread *self = &turns.thread[t];

	self->core = (uint32_t)turns_idle(self->group);
	turns.busy[self->group][self->core] = true;
	self->mode = TURNS_RUNS;
	self->left += (int64_t)latency;
	self->had -= (int64_t)latency;
	self->protect = self->deadline;
	self->begun = turns.begun++;
}

static void turns_wait(uint32_t t)
{
	turns.thread[t].mode = TURNS_WAITS;
	turns.thread[t].begun = turns.begun++;
}

static void turns_leave(uint32_t t)
{
	struct turns_thread *self = &turns.thread[t];

	turns.busy[self->group][self->core] = false;
	turns.idle[self->group][self->core] = turns.moment++;
}

/* @t needs a core from now on. */
static void turns_need(uint32_t t, uint64_t latency)
{
	struct turns_thread *self = &turns.thread[t];
	int64_t mean = turns_mean(self->group), others = turns_needing(self->group);

	if (self->behind)
		self->had = mean - self->behind - (others ? self->behind / others : 0);
	else if (self->had < mean)
		self->had = mean;
	self->deadline = self->had + (int64_t)turns.placement->slice;
	self->left = 0;
	if (turns_idle(self->group) >= 0) {
		turns_run(t, latency);
	} else {
		turns_wait(t);
		turns.woken[self->group] = true;
	}
}

/* @t no longer needs its core. */
static void turns_rest(uint32_t t)
{
	struct turns_thread *self = &turns.thread[t];
	int64_t mean = turns_mean(self->group), most = (int64_t)turns.placement->interrupt;

	turns_leave(t);
	self->mode = TURNS_NOTHING;
	self->behind = 0;
	if (!turns_count(self->group, TURNS_WAITS))
		self->had = mean;
	else if (self->had < mean)
		self->behind = mean - self->had < most ? mean - self->had : most;
	else if (self->had > mean + most)
		self->had = mean + most;
	if (!turns_needing(self->group))
		turns.mean[self->group] = mean;
}

static void turns_delay(uint32_t t, uint64_t ticks)
{
	turns.thread[t].mode = TURNS_DELAY;
	turns.thread[t].left = (int64_t)ticks;
	turns.thread[t].begun = turns.begun++;
}

static void turns_work(uint32_t t, uint64_t ticks)
{
	turns.thread[t].left = (int64_t)ticks;
	turns.thread[t].begun = turns.begun++;
}

/*
 * Return the group's waiting thread with the least deadline, of equal ones that which began first;
 * -1: none.
 */
static int turns_next(uint32_t group)
{
	int best = -1;

	for (uint32_t i = 0; i < turns.threads; i++) {
		const struct turns_thread *t = &turns.thread[i];

		if (t->group != group || t->mode != TURNS_WAITS)
			continue;
		if (best < 0 || t->deadline < turns.thread[best].deadline ||
		    (t->deadline == turns.thread[best].deadline &&
		     t->begun < turns.thread[best].begun))
			best = (int)i;
	}
	return best;
}

/* Return the thread on the core if it must yield to the next one; -1: it need not. */
static int turns_over(uint32_t group, uint32_t core)
{
	int next = turns_next(group);

	for (uint32_t i = 0; i < turns.threads; i++) {
		struct turns_thread *t = &turns.thread[i];

		if (t->mode != TURNS_RUNS || t->group != group || t->core != core)
			continue;
		if (t->had < t->protect)
			return -1;
		if (t->had >= t->deadline)
			t->deadline = t->had + (int64_t)turns.placement->slice;
		return next >= 0 && turns.thread[next].deadline <= t->deadline ? (int)i : -1;
	}
	return -1;
}

static void turns_swap(uint32_t out)
{
	uint32_t in = (uint32_t)turns_next(turns.thread[out].group);

	turns_leave(out);
	turns_wait(out);
	turns_run(in, 0);
}

static void turns_preempt(uint32_t group)
{
	int best;

	do {
		best = -1;
		for (uint32_t i = 0; turns_next(group) >= 0 && i < turns.placement->cores[group];
		     i++) {
			int t = turns_over(group, i);

			if (t >= 0 && (best < 0 || turns.thread[t].had > turns.thread[best].had))
				best = t;
		}
		if (best >= 0)
			turns_swap((uint32_t)best);
	} while (best >= 0);
}

static void turns_settle(void)
{
	for (uint32_t g = 0; g < turns.placement->groups; g++) {
		while (turns_idle(g) >= 0 && turns_next(g) >= 0)
			turns_run((uint32_t)turns_next(g), 0);
		if (turns.woken[g])
			turns_preempt(g);
		turns.woken[g] = false;
	}
}

static void turns_interrupt(void)
{
	turns.ticked = true;
	for (uint32_t i = 0; i < turns.threads; i++) {
		struct turns_thread *t = &turns.thread[i];

		if (t->mode == TURNS_RUNS && t->had >= t->deadline)
			t->deadline = t->had + (int64_t)turns.placement->slice;
	}
	for (uint32_t g = 0; g < turns.placement->groups; g++)
		for (uint32_t i = 0; i < turns.placement->cores[g]; i++) {
			int t = turns_next(g) < 0 ? -1 : turns_over(g, i);

			if (t >= 0)
				turns_swap((uint32_t)t);
		}
}

/* Return the first thread whose work or delay has ended; -1: none. */
static int turns_ended(enum turns_mode mode)
{
	int best = -1;

	for (uint32_t i = 0; i < turns.threads; i++) {
		const struct turns_thread *t = &turns.thread[i];
		const struct turns_thread *b = best < 0 ? t : &turns.thread[best];

		if (t->mode != mode || t->left > 0)
			continue;
		if (best < 0 || (mode == TURNS_RUNS && t->group < b->group) ||
		    ((mode == TURNS_DELAY || t->group == b->group) && t->begun < b->begun))
			best = (int)i;
	}
	return best;
}

/* Return whether any thread of the program is active. */
static bool turns_active(void)
{
	bool any = false;

	for (uint32_t i = 0; i < turns.placement->threads; i++)
		any |= turns.thread[i].mode != TURNS_NOTHING;
	return any;
}

/* Return a thread that has a core but no work left; -1: no more of them now. */
static int turns_named(void)
{
	for (;;) {
		int t;

		turns_settle();
		if (!turns_active())
			return -1;
		if ((t = turns_ended(TURNS_RUNS)) >= 0)
			return t;
		if ((t = turns_ended(TURNS_DELAY)) >= 0)
			turns_need((uint32_t)t, 0);
		else if (turns.now && turns.now % turns.placement->interrupt == 0 && !turns.ticked)
			turns_interrupt();
		else
			return -1;
	}
}

/* Advance by a tick. Return false if that would change nothing. */
static bool turns_tick(void)
{
	if (!turns_active())
		return false;
	turns.now++;
	turns.ticked = false;
	for (uint32_t i = 0; i < turns.threads; i++) {
		struct turns_thread *t = &turns.thread[i];

		t->left -= t->mode == TURNS_RUNS || t->mode == TURNS_DELAY;
		t->had += t->mode == TURNS_RUNS;
	}
	return true;
}

static void turns_begin(const struct cpa_placement *placement)
{
	uint32_t core = 0, group = 0;

	memset(&turns, 0, sizeof(turns));
	turns.placement = placement;
	turns.threads = placement->threads + placement->load;
	for (uint32_t g = 0; g < placement->groups; g++)
		for (uint32_t i = 0; i < placement->cores[g]; i++)
			turns.idle[g][i] = -(int)i - 1;
	for (uint32_t i = 0; i < placement->threads; i++)
		turns.thread[i].group = placement->group[i];
	for (uint32_t i = placement->threads; i < turns.threads; i++) {
		turns.thread[i].group = group;
		turns.thread[i].deadline = (int64_t)placement->slice;
		turns.thread[i].left = INT64_MAX / 2;
		if (turns_idle(group) >= 0)
			turns_run(i, 0);
		else
			turns_wait(i);
		if (++core == placement->cores[group]) {
			core = 0;
			group = group + 1 < placement->groups ? group + 1 : 0;
		}
	}
}

#endif
