/* SPDX-License-Identifier: MIT */
/* tests/unit/test_report_balance.c - which side limits a queue, and IPS Appendix 3 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/queues.h"

/* 1000 items, four consumers, one producer; nothing waited. */
static struct cpa_queue_figures queue;

static int setup(void **state)
{
	(void)state;
	queue = (struct cpa_queue_figures){
		.queues = 1,
		.enqueued = 1000,
		.dequeued = 1000,
		.services = 1000,
		.max_depth = 50,
		.mean_depth = 0.1,
		.wait_s = 1e-4,
		.service_s = 1e-3,
		.services_s = 1,
		.engaged = 1,
		.producers = 1,
		.consumers = 4,
	};
	return 0;
}

static void expect(enum cpa_limit limit, const char *words)
{
	char *reason;

	queue.limit = cpa_balance_limit(&queue);
	assert_string_equal(cpa_balance_word(queue.limit), cpa_balance_word(limit));
	reason = cpa_balance_reason(&queue);
	if (!strstr(reason, words))
		fail_msg("\"%s\" is not in \"%s\"", words, reason);
	free(reason);
}

static void test_consumers(void **state)
{
	(void)state;
	queue.mean_depth = 40.2;
	queue.wait_s = 3.2e-3;
	queue.service_s = 0.9e-3;
	queue.idle = 0.1;
	expect(CPA_LIMIT_CONSUMERS, "consumers limit: items waited 3.20 ms on average for 900 us "
				    "of service, 40.2 were waiting");
	/* They wait at the start and at the end of most runs. */
	queue.idle = 0.45;
	expect(CPA_LIMIT_CONSUMERS, "consumers limit");
}

/* A bounded queue of two for four consumers is full all the time; items wait for half a service. */
static void test_small_bounded_queue(void **state)
{
	(void)state;
	queue.max_depth = 2;
	queue.mean_depth = 1.9;
	queue.wait_s = 0.5e-3;
	expect(CPA_LIMIT_CONSUMERS, "consumers limit");
}

static void test_processors(void **state)
{
	(void)state;
	queue.mean_depth = 40;
	queue.wait_s = 3e-3;
	queue.starved = 0.6;
	expect(CPA_LIMIT_PROCESSORS, "ready without a processor for 60.0% of their time");
}

static void test_producers(void **state)
{
	(void)state;
	queue.idle = 0.8;
	expect(CPA_LIMIT_PRODUCERS, "producers limit: few items were waiting (mean depth 0.10), "
				    "and consumers waited for 80.0% of their time");
}

/* A consumer woken for each item: 50 us to wake up, 1 us of work. It is not the limit. */
static void test_latency_is_no_backlog(void **state)
{
	(void)state;
	queue.wait_s = 50e-6;
	queue.service_s = 1e-6;
	queue.mean_depth = 0.05;
	queue.max_depth = 3;
	queue.idle = 0.99;
	expect(CPA_LIMIT_PRODUCERS, "producers limit");
}

static void test_balanced(void **state)
{
	(void)state;
	queue.idle = 0.05;
	expect(CPA_LIMIT_BALANCED, "balanced");
}

/* Workers that mostly wait, and an occasional burst: more workers gain nothing. */
static void test_bursts_on_idle_consumers(void **state)
{
	(void)state;
	queue.consumers = 8;
	queue.max_depth = 89;
	queue.mean_depth = 1.63;
	queue.wait_s = 233e-6;
	queue.service_s = 5.73e-6;
	queue.idle = 0.99;
	expect(CPA_LIMIT_PRODUCERS, "producers limit");
}

/* Results collected at the end by a thread that is busy otherwise. */
static void test_elsewhere(void **state)
{
	(void)state;
	queue.consumers = 1;
	queue.max_depth = 21;
	queue.mean_depth = 16.2;
	queue.wait_s = 0.2;
	queue.service_s = 1e-6;
	queue.engaged = 0.001;
	expect(CPA_LIMIT_ELSEWHERE, "consumers came late: items waited 200 ms on average, but 0.1% "
				    "of the consumers' work was processing them");
}

/* All items in one burst at the end of a long serial phase. */
static void test_mixed(void **state)
{
	(void)state;
	queue.mean_depth = 50;
	queue.max_depth = 1000;
	queue.wait_s = 0.5;
	queue.idle = 0.9;
	expect(CPA_LIMIT_MIXED, "yet consumers waited for 90.0% of their time");
}

static void test_unknown(void **state)
{
	(void)state;
	queue.dequeued = 0;
	expect(CPA_LIMIT_UNKNOWN, "no item was dequeued");
	queue.dequeued = 1;
	queue.consumers = 0;
	expect(CPA_LIMIT_UNKNOWN, "not known");
}

static void assert_near(double got, double expected)
{
	if (!(fabs(got - expected) < 1e-12))
		fail_msg("%.15f, expected %.15f", got, expected);
}

/*
 * By hand: C_m = 1 s with N = 4, so c_m = 0.25 s; C_s = 16 s. L(4) = 1 + 16/4 = 5 s. The optimum is
 * sqrt(16 / 0.25) = 8 with L(8) = 8 * 0.25 + 16 / 8 = 2 + 2 = 4 s: the same share for both sides.
 */
static void test_master(void **state)
{
	struct cpa_master_figures master;

	(void)state;
	queue.services_s = 16;
	master = cpa_balance_master(&queue, 1, 0);
	assert_null(master.trouble);
	assert_int_equal(master.workers, 4);
	assert_int_equal(master.best_workers, 8);
	assert_near(master.optimum, 8);
	assert_near(master.path_s, 5);
	assert_near(master.best_path_s, 4);
}

/* Half and half on the path: nothing to change. C_m = 4 s, c_m = 1 s, C_s = 16 s, L = 4 + 4. */
static void test_master_is_balanced(void **state)
{
	struct cpa_master_figures master;

	(void)state;
	queue.services_s = 16;
	master = cpa_balance_master(&queue, 4, 0);
	assert_int_equal(master.best_workers, 4);
	assert_near(master.path_s, 8);
	assert_near(master.best_path_s, 8);
}

/*
 * Whole workers: c_m = 1 s and C_s = 2.1 s have their optimum at 1.45, which rounds to 1; but
 * L(1) = 3.1 s and L(2) = 2 + 1.05 = 3.05 s.
 */
static void test_whole_workers(void **state)
{
	struct cpa_master_figures master;

	(void)state;
	queue.services_s = 2.1;
	master = cpa_balance_master(&queue, 4, 0);
	assert_near(master.optimum, sqrt(2.1));
	assert_int_equal(master.best_workers, 2);
	assert_near(master.best_path_s, 3.05);
	/* A master with nearly all the work: one worker is the minimum. */
	queue.services_s = 1e-6;
	assert_int_equal(cpa_balance_master(&queue, 4, 0).best_workers, 1);
	/* A master with nearly no work, from a damaged dump. */
	queue.services_s = 1e300;
	assert_true(cpa_balance_master(&queue, 1e-300, 0).best_workers <= 1000001);
}

static void expect_trouble(double master_s, uint32_t both, const char *trouble)
{
	struct cpa_master_figures master = cpa_balance_master(&queue, master_s, both);

	assert_non_null(master.trouble);
	assert_string_equal(master.trouble, trouble);
}

static void test_no_master(void **state)
{
	(void)state;
	expect_trouble(1, 1, "the producer is also a consumer");
	expect_trouble(0, 0, "one side did no work");
	queue.services_s = 0;
	expect_trouble(1, 0, "one side did no work");
	queue.producers = 2;
	expect_trouble(1, 0, "several producers");
	queue.producers = 0;
	expect_trouble(1, 0, "no producer");
	queue.producers = 1;
	queue.consumers = 1;
	expect_trouble(1, 0, "fewer than two consumers");
	queue.consumers = 0;
	expect_trouble(1, 0, "fewer than two consumers");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, setup)
	const struct CMUnitTest tests[] = {
		TEST(test_consumers),
		TEST(test_small_bounded_queue),
		TEST(test_processors),
		TEST(test_producers),
		TEST(test_latency_is_no_backlog),
		TEST(test_balanced),
		TEST(test_bursts_on_idle_consumers),
		TEST(test_elsewhere),
		TEST(test_mixed),
		TEST(test_unknown),
		TEST(test_master),
		TEST(test_master_is_balanced),
		TEST(test_whole_workers),
		TEST(test_no_master),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
