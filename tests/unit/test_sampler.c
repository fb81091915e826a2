/* SPDX-License-Identifier: MIT */
/* tests/unit/test_sampler.c - preload/core/sampler.c: which sampler a thread keeps */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): with the functions below. */
#include "preload/core/sampler.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/core/sampled.c"
#include "shadow/store/epoch.h"
#include "tests/unit/shadow_session.h"

/* What the sampler uses of the rest of preload/. A tick is a nanosecond. */
static const uint32_t alive = 1;
const uint32_t *cpa_alive = &alive;
const uint64_t *cpa_epoch_word;
__thread struct cpa_tls cpa_tls;
const char cpa_signal_mark;
uint32_t cpa_unloads;
bool cpa_source_is_kernel;
static unsigned tried; /* times that a perf event was to be opened */

uint64_t cpa_source_now(void)
{
	return 0;
}

uint64_t cpa_clock_ticks(uint64_t ns)
{
	return ns;
}

uint64_t cpa_clock_when(clockid_t clock, uint64_t then)
{
	(void)clock;
	return then;
}

struct cpa_clock_gap cpa_clock_hide(struct cpa_clock *c)
{
	(void)c;
	return (struct cpa_clock_gap){ 0 };
}

void cpa_track_hidden(struct cpa_worker *w, const struct cpa_clock_gap *gap)
{
	(void)w;
	(void)gap;
}

void cpa_window_sampled(struct cpa_worker *w, const void *context)
{
	(void)w;
	(void)context;
}

bool cpa_function_is_ours(uint64_t pc)
{
	(void)pc;
	return false;
}

uint32_t cpa_function_at(uint64_t pc)
{
	(void)pc;
	return 1;
}

bool cpa_callers_on(void)
{
	return false;
}

bool cpa_callers_divide(void)
{
	return false;
}

void cpa_callers_divide_by(uint32_t callers)
{
	(void)callers;
}

void cpa_callers_begin(struct cpa_callers_of *own)
{
	(void)own;
}

uint32_t cpa_callers_take(struct cpa_callers_of *own, struct cpa_stacks *stacks,
			  const struct cpa_self *self, const void *context, uint64_t ticks,
			  bool needed)
{
	(void)own;
	(void)stacks;
	(void)self;
	(void)context;
	(void)ticks;
	(void)needed;
	return 0;
}

void cpa_perf_init(void)
{
}

static struct perf_event_mmap_page page; /* of the perf event, if there is one */
static bool can_open;

void cpa_ring_init(struct cpa_ring *r)
{
	r->map = NULL;
	r->head = &r->tail;
}

bool cpa_ring_open(struct cpa_ring *r, unsigned *rate)
{
	(void)rate;
	tried++;
	r->map = can_open ? &page : NULL;
	return can_open;
}

void cpa_ring_close(struct cpa_ring *r)
{
	cpa_ring_init(r);
}

bool cpa_ring_is_opening(void)
{
	return false;
}

void cpa_ring_forked(void)
{
}

void cpa_ring_leave(struct cpa_ring *r)
{
	cpa_ring_init(r);
}

uint64_t cpa_ring_written(const struct cpa_ring *r)
{
	return r->tail;
}

bool cpa_ring_next(struct cpa_ring *r, uint64_t head, struct cpa_ring_record *record)
{
	(void)r;
	(void)head;
	(void)record;
	return false;
}

void cpa_ring_free(struct cpa_ring *r, uint64_t head)
{
	r->tail = head;
}

struct cpa_start cpa_start(void)
{
	return (struct cpa_start){ 0 };
}

bool cpa_signal_init(void (*handler)(void *context, unsigned times))
{
	(void)handler;
	return false; /* no timer of the kernel */
}

static bool blocks; /* the thread blocks the signal */

bool cpa_signal_is_blocked(const sigset_t *mask)
{
	(void)mask;
	return blocks;
}

bool cpa_signal_has_room(uint64_t bytes)
{
	(void)bytes;
	return true;
}

void cpa_signal_take_back(void)
{
}

sigset_t cpa_signal_hold(void)
{
	sigset_t none;

	sigemptyset(&none);
	return none;
}

void cpa_signal_let(const sigset_t *before)
{
	(void)before;
}

#define PERIOD (SECOND / TIMER_HZ)

static struct cpa_sampler sampler;

static int begin(void **state)
{
	(void)state;
	return test_session(1 << 24, 64);
}

/* A thread whose samples come from the timer, with one at CPU time @cpu. */
static void sampled_at(uint64_t cpu)
{
	memset(&sampler, 0, sizeof(sampler));
	cpa_sampler_init(TIMER_HZ, 0);
	cpa_sampler_start(&sampler, NULL);
	sampler.stays = sampler.heard = true;
	sampler.latest = 1;
	tried = 0;
	assert_false(cpa_sampler_switched(&sampler, cpu));
}

/* Where signals come no more, a perf event takes the timer's place if there is one. */
static void test_silent(void **state)
{
	(void)state;
	sampled_at(1000 * PERIOD);
	assert_false(cpa_sampler_switched(&sampler, 1002 * PERIOD));
	assert_int_equal(tried, 0);
	assert_true(cpa_sampler_switched(&sampler, (1000 + 2 * LATE) * PERIOD));
	assert_int_equal(tried, 1);
}

/*
 * A thread may be told to have had less CPU time than before, as that of brief waits was guessed too high
 * (preload/clock/brief.h): it was not silent for that.
 */
static void test_less_cpu(void **state)
{
	(void)state;
	sampled_at(1000 * PERIOD);
	assert_false(cpa_sampler_switched(&sampler, 1000 * PERIOD - 20000));
	assert_int_equal(tried, 0);
	assert_true(sampler.heard);
	assert_false(is_restless(&sampler, 1000 * PERIOD));
	sampler.counted = 1000 * PERIOD;
	sampler.switches = MANY;
	assert_true(is_restless(&sampler, 1000 * PERIOD - 20000));
}

/* A thread that begins in @epoch and blocks the signal; the process has the default rate. */
static struct cpa_worker *begin_blocked(uint64_t epoch)
{
	static struct cpa_worker w;

	memset(&w, 0, sizeof(w));
	cpa_header()->epoch = epoch;
	w.window.epoch = epoch;
	can_open = blocks = true;
	tried = 0;
	cpa_tls.worker = &w;
	cpa_sampler_init(CPA_DEFAULT_HZ, 0);
	cpa_sampler_start(&w.sampler, NULL);
	return &w;
}

static void come(void)
{
	ucontext_t context = { 0 };

	blocks = false;
	on_signal(&context, 1);
}

/* A thread that blocks the signal as it begins, and no more when it comes, has the timer from then on. */
static void test_unblocked(void **state)
{
	struct cpa_worker *w = begin_blocked(CPA_EPOCH_ON);

	(void)state;
	assert_int_equal(tried, 1);
	assert_non_null(w->sampler.ring.map);
	come();
	assert_null(w->sampler.ring.map);
	assert_true(w->sampler.heard);
}

/* The same if profiling has stopped meanwhile. */
static void test_unblocked_off(void **state)
{
	struct cpa_worker *w = begin_blocked(CPA_EPOCH_ON);

	(void)state;
	cpa_header()->epoch++;
	cpa_epoch_word = &cpa_header()->epoch;
	cpa_tls.off = cpa_header()->epoch;
	w->window.epoch = 0;
	come();
	assert_null(w->sampler.ring.map);
	assert_true(w->sampler.heard);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_silent),
		cmocka_unit_test(test_less_cpu),
		cmocka_unit_test(test_unblocked),
		cmocka_unit_test(test_unblocked_off),
	};

	return cmocka_run_group_tests_name("sampler", tests, begin, NULL);
}
