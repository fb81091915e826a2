/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/clock_thread.h - a thread whose clock is tested, on a machine whose every tick is known
 *
 * An event is as in preload/core/event.h and preload/core/track.c: a stamp, an operation of cpa, and a
 * skip over it, or sometimes a measurement of it. For one file of tests each: it includes the code.
 */
#ifndef CPA_TESTS_UNIT_CLOCK_THREAD_H
#define CPA_TESTS_UNIT_CLOCK_THREAD_H

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/fake_machine.h"

/* NOLINTNEXTLINE(bugprone-suspicious-include): with the functions of the fake machine. */
#include "preload/clock/clock.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/clock/brief.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/clock/source.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/clock/delay.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/clock/ready.c"
#include "tests/unit/shadow_session.h"

/* preload/libc/fd_guard.c: nobody else has descriptors here. */
bool cpa_fd_guard_begin(sigset_t *signals)
{
	sigemptyset(signals);
	return true;
}

void cpa_fd_guard_end(const sigset_t *signals)
{
	(void)signals;
}

/* A thread under test. */
static struct run {
	struct cpa_clock clock;
	struct cpa_elapsed sum; /* sum of the activities */
	struct cpa_elapsed ours;
	uint64_t begun;	  /* the first stamp */
	uint64_t lead;	  /* largest lead of a stamp over the counter, ticks */
	uint64_t longest; /* longest operation of cpa so far, ticks */
} run;

static inline uint64_t us(double n)
{
	return (uint64_t)(n * 1000 * fake.ghz);
}

static inline void machine_begin(uint64_t seed, uint64_t script)
{
	fake = (struct fake){ .ghz = 2.4,
			      .ticks = UINT64_C(1) << 40,
			      .detects = true,
			      .schedstat = true,
			      .call = FAKE_CALL,
			      .wake_ns = 5000,
			      .random = rnd_sequence(seed, script) };
	fake.ran = 0;
}

static inline void clocks_begin(void)
{
	memset(cpa_header(), 0, sizeof(*cpa_header()));
	cpa_source_is_kernel = false;
	origin = latest = (struct pair){ 0 };
	cpa_clock_begin();
	cpa_clock_init();
}

static inline void thread_begin(void)
{
	run = (struct run){ 0 };
	cpa_clock_start(&run.clock);
	run.begun = run.clock.last;
}

static inline void add(struct cpa_elapsed *sum, const struct cpa_elapsed *e)
{
	sum->process += e->process;
	sum->runqueue += e->runqueue;
	sum->external += e->external;
}

/* End an activity, after a wait if @blocked. */
static inline void event(bool blocked)
{
	uint64_t before = run.clock.last;
	struct cpa_elapsed e;

	if (blocked)
		cpa_clock_stamp_waited(&run.clock, &e);
	else
		cpa_clock_stamp(&run.clock, &e);
	assert_true(run.clock.last >= before);
	add(&run.sum, &e);
	run.lead = run.clock.lead > run.lead ? run.clock.lead : run.lead;
}

/* An operation of cpa takes @ticks; then the next activity begins. */
static inline void done(uint64_t ticks)
{
	struct cpa_elapsed e;

	run.longest = ticks > run.longest ? ticks : run.longest;
	fake_run(ticks);
	if (--run.clock.skips) {
		run.ours.process += cpa_clock_skip(&run.clock);
		return;
	}
	cpa_clock_measure(&run.clock, &e);
	add(&run.ours, &e);
}

/* All time is reported, exactly once. */
static inline void check_tiles(void)
{
	struct cpa_elapsed all = run.sum;

	add(&all, &run.ours);
	assert_int_equal(all.process + all.runqueue + all.external, run.clock.last - run.begun);
}

static inline double apart(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : (double)(b - a);
}

/* Run events for @ms milliseconds. */
static inline void pass_ms(unsigned ms)
{
	uint64_t until = fake.ticks + us(1000.0 * ms);

	while (fake.ticks < until) {
		fake_run(rnd_below(&fake.random, us(200)));
		if (rnd_percent(&fake.random, 1))
			fake_block(us(100), us(20));
		event(false);
		done(200);
	}
	check_tiles();
}

static inline int begin(void **state)
{
	(void)state;
	return test_session(1 << 24, 64);
}

#endif
