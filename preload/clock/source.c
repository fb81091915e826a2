/* SPDX-License-Identifier: MIT */
#include "preload/clock/source.h"

#include "preload/clock/clock.h"

#define SLOPE_SHIFT 20
#define TRIES	    5u
#define APART_NS    20000u    /* the two clocks may differ by this, */
#define APART_OF    10000u    /* and by this part of the time; crystals are 100 times as good */
#define CLOSE_NS    5000u     /* a pair of readings that takes longer is not used */
#define LEAST_NS    50000000u /* time after which a rate is known well enough */

bool cpa_source_is_kernel;

/* The kernel's clock in ticks: it showed @ticks at @ns. Written before cpa_source_is_kernel. */
static struct line {
	uint64_t ticks, ns, slope; /* ticks per 2^20 ns */
} line;

/* Readings of both clocks: the first pair, and the latest pair that agreed with it. */
static struct pair {
	uint64_t ticks, ns; /* of CLOCK_MONOTONIC_RAW */
} origin, latest;
static bool checking; /* atomic: a thread that holds it writes both pairs */

static uint64_t ticks_of(uint64_t ns, uint64_t slope)
{
	return (uint64_t)((unsigned __int128)ns * slope >> SLOPE_SHIFT);
}

uint64_t cpa_source_now(void)
{
	return line.ticks + ticks_of(cpa_machine_ns(CLOCK_MONOTONIC) - line.ns, line.slope);
}

static void use_kernel(const struct line *from)
{
	line = *from;
	/*
	 * RELEASE: a reader that finds true finds the line. Readers have no barrier: on x86 their
	 * branch is enough.
	 */
	__atomic_store_n(&cpa_source_is_kernel, true, __ATOMIC_RELEASE);
}

void cpa_source_begin(void)
{
	const struct line nanoseconds = { 0, 0, UINT64_C(1) << SLOPE_SHIFT };

	if (!cpa_machine_trusts_counter())
		use_kernel(&nanoseconds);
}

void cpa_source_init(void)
{
	struct cpa_machine *m = &cpa_header()->machine;

	if (!cpa_source_is_kernel)
		return;
	m->source_ticks = line.ticks;
	m->source_ns = line.ns;
	m->source_rate = line.slope;
	m->source = CPA_SOURCE_KERNEL;
}

void cpa_source_follow(void)
{
	const struct cpa_machine *m = &cpa_header()->machine;
	struct line from;

	/* ACQUIRE: pairs with the RELEASE in change(). */
	if (__atomic_load_n(&m->source, __ATOMIC_ACQUIRE) < CPA_SOURCE_KERNEL)
		return;
	from = (struct line){ m->source_ticks, m->source_ns, m->source_rate };
	/* Relaxed: this process alone sets it. */
	if (!__atomic_load_n(&cpa_source_is_kernel, __ATOMIC_RELAXED))
		use_kernel(&from);
}

/* Read both clocks at one moment. False: the reading took too long. */
static bool look(struct pair *pair)
{
	uint64_t best = UINT64_MAX;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = cpa_machine_counter();
		uint64_t ns = cpa_machine_ns(CLOCK_MONOTONIC_RAW);
		uint64_t took = cpa_machine_counter() - before;

		if (took < best) {
			best = took;
			*pair = (struct pair){ before + took / 2, ns };
		}
	}
	return best < cpa_clock_ticks(CLOSE_NS);
}

/*
 * From @latest on, all processes of the session take ticks from the kernel's clock. @off: error of
 * the counter since then, ticks.
 */
static void change(const struct pair *now, uint64_t slope, uint64_t off)
{
	struct cpa_machine *m = &cpa_header()->machine;
	uint32_t counter = CPA_SOURCE_COUNTER;

	/* Relaxed: nothing that another process wrote is read after this. */
	if (!__atomic_compare_exchange_n(&m->source, &counter, CPA_SOURCE_CHANGES, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	m->source_ticks = latest.ticks;
	m->source_ns = cpa_machine_ns(CLOCK_MONOTONIC) - (now->ns - latest.ns);
	m->source_rate = slope;
	m->drift_ticks = off;
	m->drift_over_ticks = ticks_of(now->ns - latest.ns, slope);
	/* RELEASE: pairs with the ACQUIRE in cpa_source_follow(). */
	__atomic_store_n(&m->source, CPA_SOURCE_DRIFT, __ATOMIC_RELEASE);
	cpa_source_follow();
}

static void compare(const struct pair *now)
{
	uint64_t slope, passed = now->ns - latest.ns, expected, ticks, off;

	if (!origin.ns) {
		origin = latest = *now;
		return;
	}
	/* Until then the only slope is that of the half millisecond at the start. */
	if (latest.ns - origin.ns >= LEAST_NS)
		slope = (uint64_t)(((unsigned __int128)(latest.ticks - origin.ticks)
				    << SLOPE_SHIFT) /
				   (latest.ns - origin.ns));
	else if (passed >= LEAST_NS)
		slope = cpa_clock_ticks(UINT64_C(1) << SLOPE_SHIFT);
	else
		return;
	expected = ticks_of(passed, slope);
	ticks = now->ticks - latest.ticks;
	off = ticks > expected ? ticks - expected : expected - ticks;
	if ((int64_t)ticks < 0) /* the counter went back */
		off = expected + (latest.ticks - now->ticks);
	if (off <= cpa_clock_ticks(APART_NS) +
			   expected / (latest.ns == origin.ns ? APART_OF / 50 : APART_OF))
		latest = *now;
	else
		change(now, slope, off);
}

void cpa_source_check(void)
{
	struct pair now;

	/* Relaxed: this process alone sets it. */
	if (__atomic_load_n(&cpa_source_is_kernel, __ATOMIC_RELAXED))
		return;
	/* ACQUIRE: pairs with the RELEASE below, of the thread that compared last. */
	if (__atomic_exchange_n(&checking, true, __ATOMIC_ACQUIRE))
		return;
	if (look(&now))
		compare(&now);
	/* RELEASE: pairs with the ACQUIRE above. */
	__atomic_store_n(&checking, false, __ATOMIC_RELEASE);
}
