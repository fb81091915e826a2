/* SPDX-License-Identifier: MIT */
/* tests/unit/test_mix.c - functions of activities, most of which have no sample */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/mix.h"
#include "shadow/graph/summary.h"

#include "tests/property/random.h"
#include "tests/unit/shadow_threads.h"

#define PERIOD	   (UINT64_C(3) << 20) /* ticks: some ms */
#define ACTIVITIES 4000
#define KINDS	   3
#define NODE	   7u

/* A kind of activity: its length in sampling periods; all of it belongs to one function. */
struct kind {
	double length;
	unsigned times; /* frequency relative to other kinds; 0: no such kind */
};

static uint32_t slot[KINDS], id[KINDS];
static uint64_t spent[KINDS];

static void make_functions(void)
{
	for (uint32_t i = 0; i < KINDS; i++) {
		struct cpa_component_name name = { .kind = CPA_FUNCTION,
						   .address = 4096 * (i + 1) };
		uint32_t row = cpa_component_intern(&name);

		id[i] = cpa_function_id(row);
		slot[i] = cpa_function_slot(id[i]);
		spent[i] = 0;
	}
}

static unsigned pick(struct rnd *r, const struct kind kinds[KINDS])
{
	unsigned n = (unsigned)rnd_below(r, kinds[0].times + kinds[1].times + kinds[2].times);

	return n < kinds[0].times ? 0 : n < kinds[0].times + kinds[1].times ? 1 : 2;
}

/* Return the ticks of @length periods, plus or minus a tenth. */
static uint64_t about(struct rnd *r, double length)
{
	return (uint64_t)(length * (0.9 + 0.2 * (double)rnd_below(r, PERIOD) / (double)PERIOD) *
			  (double)PERIOD);
}

/*
 * One sample per @period falls into the activity of that moment; @late: into one up to a period
 * later, like samples of a timer that arrive at the kernel's ticks.
 */
static void run(struct rnd *r, const struct kind kinds[KINDS], uint64_t period, bool late,
		int activities)
{
	uint64_t now = 0, due = rnd_below(r, period), comes = due;
	struct cpa_self *self = at(0, 1, 0);

	self->row->node = NODE;
	for (int i = 0; i < activities; i++) {
		unsigned kind = pick(r, kinds);
		struct cpa_sampled sample = { id[kind], 0 };
		struct cpa_span span = { .process = about(r, kinds[kind].length),
					 .sample_period = period,
					 .sample = &sample };

		now += span.process;
		spent[kind] += span.process;
		while (comes < now) {
			span.sampled = 1;
			sample.count++;
			span.sampled_ticks += period;
			due += period;
			comes = due + (late ? rnd_below(r, period) : 0);
		}
		cpa_activity_end(self, &span, NODE);
	}
}

/* Each function has its true time, within the statistical error of so many activities. */
static void check_times(uint64_t period)
{
	const uint64_t *total = cpa_at(t[0].row->totals);
	double most = sqrt(ACTIVITIES) * (double)period;
	uint64_t all = 0, charged = 0;

	for (unsigned i = 0; i < KINDS; i++) {
		double off = (double)total[slot[i]] - (double)spent[i];

		all += spent[i];
		charged += total[slot[i]];
		if (fabs(off) > most)
			fail_msg("kind %u: %.2f periods of %.2f, %.2f at most are chance", i,
				 (double)total[slot[i]] / (double)period,
				 (double)spent[i] / (double)period, most / (double)period);
	}
	/* Except for the time before the first sample. */
	assert_true(charged <= all && all - charged < 3 * period);
}

static struct rnd begin(void)
{
	uint64_t seed = rnd_seed();

	print_message("# CPA_SEED=%llu\n", (unsigned long long)seed);
	make_functions();
	return rnd_sequence(seed, 0);
}

static void check(const struct kind kinds[KINDS], bool late)
{
	struct rnd r = begin();

	run(&r, kinds, PERIOD, late, ACTIVITIES);
	check_times(PERIOD);
}

/* Samples are closer at first: activities have samples then that later have none. */
static void test_rates(void **state)
{
	const struct kind kinds[KINDS] = { { 0.5, 1 }, { 0.025, 20 } };
	struct rnd r = begin();

	(void)state;
	run(&r, kinds, PERIOD / 4, false, 2 * ACTIVITIES);
	run(&r, kinds, PERIOD, false, 2 * ACTIVITIES);
	check_times(PERIOD); /* sqrt(4) times half of it */
}

/* Other threads' activities on the edge do not count for a thread that has samples. */
static void test_others(void **state)
{
	struct cpa_sampled sample = { .count = 1 };
	struct cpa_span span = {
		.process = PERIOD / 2, .sampled = 1, .sample_period = PERIOD, .sample = &sample
	};

	(void)state;
	make_functions();
	for (unsigned i = 0; i < 2; i++) {
		struct cpa_self *self = at((int)i, 1, 0);

		self->row->node = NODE;
		sample.function = id[i];
		span.sampled_ticks = i ? PERIOD : PERIOD / 4; /* the first one has no credit */
		cpa_activity_end(self, &span, NODE);
	}
	for (unsigned i = 0; i < 3; i++) {
		struct cpa_span without = { .process = PERIOD };
		struct cpa_self *self = at((int)i, 2, 0);
		const uint64_t *total = cpa_at(self->row->totals);

		self->row->node = NODE;
		cpa_activity_end(self, &without, NODE);
		/* An activity without samples goes to the function with credit. */
		assert_int_equal(total[slot[0]], i == 0 ? PERIOD * 3 / 2 : 0);
		assert_int_equal(total[slot[1]], i == 0 ? 0 : i == 1 ? PERIOD * 3 / 2 : PERIOD);
	}
}

/* Other threads' credit is divided among this thread's own functions if it has no credit itself. */
static void test_lent(void **state)
{
	struct cpa_sampled sample[] = { { .count = 9 }, { .count = 1 } };
	struct cpa_span some = { .process = 10 * PERIOD,
				 .sampled = 2,
				 .sampled_ticks = 10 * PERIOD,
				 .sample_period = PERIOD,
				 .sample = sample };
	struct cpa_span one = { .process = PERIOD * 3 / 4, /* of the same class as PERIOD */
				.sampled = 1,
				.sampled_ticks = PERIOD,
				.sample_period = PERIOD,
				.sample = &sample[1] };
	struct cpa_span without = { .process = PERIOD };
	const uint64_t *total = cpa_at(t[0].row->totals);

	(void)state;
	make_functions();
	sample[0].function = id[0];
	sample[1].function = id[1];
	t[0].row->node = t[1].row->node = NODE;
	cpa_activity_end(&t[0], &some, NODE);
	cpa_activity_end(&t[0], &without, NODE);
	assert_in_range(total[slot[1]], PERIOD * 11 / 10 - 2, PERIOD * 11 / 10 + 2);
	cpa_activity_end(&t[1], &one, NODE);
	cpa_activity_end(&t[0], &without, NODE);
	assert_in_range(total[slot[1]], PERIOD * 21 / 10 - 2, PERIOD * 21 / 10 + 2);
}

static void test_long_and_short(void **state)
{
	(void)state;
	check((const struct kind[KINDS]){ { 12.5, 1 }, { 0.7, 3 } }, false);
}

static void test_long_and_very_short(void **state)
{
	(void)state;
	check((const struct kind[KINDS]){ { 12.5, 1 }, { 0.01, 50 }, { 0.1, 50 } }, false);
}

static void test_all_short(void **state)
{
	(void)state;
	check((const struct kind[KINDS]){ { 0.3, 5 }, { 0.1, 5 }, { 0.02, 20 } }, false);
}

/* The node of events of @kind. */
static uint32_t node_of(enum cpa_event_kind kind)
{
	return cpa_summary_node(kind, 1, 0);
}

/*
 * Each activity is nine parts of function 0, in a call, and then one of function 1. A thread loses its processor in
 * the call if a sample comes there, and in a quarter of the others: then there is an event behind the call.
 */
static void test_preempted(void **state)
{
	const uint32_t begins = node_of(CPA_EV_LOCK), ends = node_of(CPA_EV_UNLOCK),
		       preempts = node_of(CPA_EV_EXTERNAL);
	const uint64_t *total = cpa_at(t[0].row->totals);
	const unsigned samples = 400, each = 100;
	struct rnd r = begin();
	struct cpa_self *self = at(0, 1, 0);
	double expected = samples * 0.9, sigma = sqrt(samples * 0.9 * 0.1);

	(void)state;
	for (unsigned i = 0; i < samples * each; i++) {
		struct cpa_sampled sample = { id[rnd_below(&r, 10) == 9], 1 };
		bool sampled = i % each == each / 2, in_call = sampled && sample.function == id[0];
		struct cpa_span span = { .process = PERIOD / each,
					 .sample = &sample,
					 .sampled = sampled,
					 .sampled_ticks = sampled ? PERIOD : 0,
					 .sample_period = PERIOD };

		self->row->node = begins;
		if (in_call || (!sampled && !rnd_below(&r, 4))) {
			span.process = PERIOD / each * 9 / 10;
			span.cut = true;
			cpa_activity_end(self, &span, preempts);
			span = (struct cpa_span){ .process = PERIOD / each / 10 };
		}
		cpa_activity_end(self, &span, ends);
	}
	if (fabs((double)total[slot[0]] / (double)PERIOD - expected) > 5 * sigma)
		fail_msg("%.1f periods of %.1f", (double)total[slot[0]] / (double)PERIOD, expected);
}

/*
 * Each activity is ten parts, the first nine of function 0 and the last of function 1. Behind each part is a lock that
 * goes untimed, but not behind a sample: then the activity ends there.
 */
static void test_cut_by_samples(void **state)
{
	const uint32_t begins = node_of(CPA_EV_WAIT), ends = node_of(CPA_EV_UNLOCK),
		       locks = node_of(CPA_EV_LOCK);
	const uint64_t *total = cpa_at(t[0].row->totals);
	const unsigned samples = 400, each = 100, parts = 10;
	struct rnd r = begin();
	struct cpa_self *self = at(0, 1, 0);
	double expected = samples * 0.9, sigma = sqrt(samples * 0.9 * 0.1);

	(void)state;
	for (unsigned i = 0; i < samples * each; i++) {
		bool sampled = i % each == each / 2;
		unsigned in = sampled ? (unsigned)rnd_below(&r, parts) : parts - 1;
		struct cpa_sampled sample = { id[in == parts - 1], 1 };
		struct cpa_span span = { .process = PERIOD / each * (in + 1) / parts,
					 .sample = &sample,
					 .sampled = sampled,
					 .sampled_ticks = sampled ? PERIOD : 0,
					 .sample_period = PERIOD,
					 .cut = in != parts - 1 };

		self->row->node = begins;
		cpa_activity_end(self, &span, span.cut ? locks : ends);
		span = (struct cpa_span){ .process = PERIOD / each * (parts - 1 - in) / parts };
		if (span.process)
			cpa_activity_end(self, &span, ends);
	}
	if (fabs((double)total[slot[0]] / (double)PERIOD - expected) > 5 * sigma)
		fail_msg("%.1f periods of %.1f", (double)total[slot[0]] / (double)PERIOD, expected);
}

static void test_late_samples(void **state)
{
	(void)state;
	check((const struct kind[KINDS]){ { 12.5, 1 }, { 1.7, 3 } }, true);
}

/* If no activity lacks a sample, the ticks per sample do not matter: no time is lost. */
static void test_all_long(void **state)
{
	(void)state;
	check((const struct kind[KINDS]){ { 2.5, 1 }, { 6.2, 1 }, { 100, 1 } }, true);
}

static void test_words(void **state)
{
	uint64_t mix[CPA_MIX] = { 0 };

	(void)state;
	cpa_mix_add(mix, 0xfedcba98u, 3, -5);
	assert_int_equal(cpa_mix_function(mix[0]), 0xfedcba98u);
	assert_int_equal(cpa_mix_samples(mix[0]), 3);
	assert_int_equal(cpa_mix_credit(mix[0]), -5);
	cpa_mix_add(mix, 0xfedcba98u, 1, 7);
	assert_int_equal(cpa_mix_samples(mix[0]), 4);
	assert_int_equal(cpa_mix_credit(mix[0]), 2);
	for (uint32_t i = 1; i < CPA_MIX; i++)
		cpa_mix_add(mix, i, 1 + i, 0);
	/* All words are taken: the function with the fewest samples is replaced. */
	cpa_mix_add(mix, 77, 1, 1);
	assert_int_equal(cpa_mix_function(mix[1]), 77);
	assert_int_equal(cpa_mix_samples(mix[1]), 3);
	assert_int_equal(cpa_mix_credit(mix[1]), 1);
}

/* Whatever is added, a word stays within its limits and its sign never flips. */
static void test_most(void **state)
{
	uint64_t mix[CPA_MIX] = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++) {
		cpa_mix_add(mix, 1, UINT32_MAX, CPA_MIX_MOST);
		cpa_mix_add(mix, 2, 1, -CPA_MIX_MOST);
		for (int k = 0; k < 2; k++) {
			assert_in_range(cpa_mix_samples(mix[k]), 0, CPA_MIX_FORGET);
			assert_in_range(abs(cpa_mix_credit(mix[k])), 0, CPA_MIX_MOST);
		}
		assert_true(cpa_mix_credit(mix[0]) > 0 && cpa_mix_credit(mix[1]) < 0);
	}
}

static void test_weights(void **state)
{
	uint64_t word[] = { cpa_mix_word(1, 10, -3), cpa_mix_word(2, 1, 5), cpa_mix_word(3, 7, 0),
			    cpa_mix_word(4, 2, 15) };
	uint32_t weight[4], sum;

	(void)state;
	assert_int_equal(cpa_mix_credited(word, 1, weight, &sum), 0);
	assert_int_equal(cpa_mix_sampled(word, 4, weight, &sum), 4);
	assert_int_equal(sum, 20);
	assert_int_equal(weight[0], 10);
	assert_int_equal(cpa_mix_credited(word, 4, weight, &sum), 2);
	assert_int_equal(sum, 20);
	assert_int_equal(cpa_mix_function(word[0]), 2);
	assert_int_equal(cpa_mix_function(word[1]), 4);
	assert_int_equal(weight[0], 5);
	assert_int_equal(weight[1], 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_most),
		cmocka_unit_test(test_weights),
		cmocka_unit_test_setup_teardown(test_long_and_short, threads_setup,
						threads_teardown),
		cmocka_unit_test_setup_teardown(test_long_and_very_short, threads_setup,
						threads_teardown),
		cmocka_unit_test_setup_teardown(test_all_short, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_late_samples, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_all_long, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_rates, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_others, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_lent, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_preempted, threads_setup, threads_teardown),
		cmocka_unit_test_setup_teardown(test_cut_by_samples, threads_setup,
						threads_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
