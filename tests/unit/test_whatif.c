/* SPDX-License-Identifier: MIT */
/* tests/unit/test_whatif.c - changes and placements given on the command line */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/predict/network.h"
#include "analysis/predict/placement.h"
#include "analysis/predict/whatif.h"

static void expect(const char *text, enum cpa_change_kind kind, enum cpa_component_kind of,
		   const char *name, double factor, uint32_t number)
{
	struct cpa_change change;
	const char *error = NULL;

	if (cpa_change_parse(&change, text, &error) < 0)
		fail_msg("%s: %s", text, error);
	assert_int_equal(change.kind, kind);
	assert_int_equal(change.of, of);
	assert_string_equal(change.name, name);
	assert_true(change.factor == factor);
	assert_int_equal(change.number, number);
	free(change.name);
}

static void refuse(const char *text, const char *why)
{
	struct cpa_change change;
	const char *error = "";

	if (cpa_change_parse(&change, text, &error) == 0)
		fail_msg("%s was taken", text);
	if (!strstr(error, why))
		fail_msg("%s: \"%s\" is not in \"%s\"", text, why, error);
}

static void test_changes(void **state)
{
	(void)state;
	expect("function:compress=0.5", CPA_CHANGE_SCALE, CPA_FUNCTION, "compress", 0.5, 0);
	expect("function:ns::operator==(x const&)=0", CPA_CHANGE_SCALE, CPA_FUNCTION,
	       "ns::operator==(x const&)", 0, 0);
	expect("external:read=0", CPA_CHANGE_SCALE, CPA_EXTERNAL, "read", 0, 0);
	expect("lock:cache=drop", CPA_CHANGE_DROP, CPA_LOCK, "cache", 1, 0);
	expect("lock:cache=split:8", CPA_CHANGE_SPLIT, CPA_LOCK, "cache", 1, 8);
	expect("lock:mutex from a+0x10=2.5", CPA_CHANGE_SCALE, CPA_LOCK, "mutex from a+0x10", 2.5,
	       0);
	expect("region:f() parallel at f.c:3=balance", CPA_CHANGE_BALANCE, CPA_REGION,
	       "f() parallel at f.c:3", 1, 0);
	expect("region:loop threads=8", CPA_CHANGE_BALANCE, CPA_REGION, "loop", 1, 8);
	expect("region:threads=0.5", CPA_CHANGE_SCALE, CPA_REGION, "threads", 0.5, 0);
	expect("loop:loop.c:21=dynamic", CPA_CHANGE_DYNAMIC, CPA_REGION, "loop.c:21", 1, 0);
	expect("queue:jobs workers=6", CPA_CHANGE_WORKERS, CPA_QUEUE, "jobs", 1, 6);
	expect("queue:workers=0.1", CPA_CHANGE_SCALE, CPA_QUEUE, "workers", 0.1, 0);
	expect("stream:grep -> sort=0", CPA_CHANGE_TRANSFER, 0, "grep -> sort", 0, 0);
}

static void test_wrong_changes(void **state)
{
	(void)state;
	refuse("", "KIND:NAME=FACTOR");
	refuse("compress", "KIND:NAME=FACTOR");
	refuse("function:compress", "KIND:NAME=FACTOR");
	refuse("a=b:c", "KIND:NAME=FACTOR");
	refuse("func:compress=1", "expected before ':'");
	refuse(":compress=1", "expected before ':'");
	refuse("function:=1", "a name is missing");
	refuse("queue: workers=1", "a name is missing");
	refuse("function:f=", "a factor from 0 to 100");
	refuse("function:f=-1", "a factor from 0 to 100");
	refuse("function:f=nan", "a factor from 0 to 100");
	refuse("function:f=1e1", "a factor from 0 to 100");
	refuse("function:f=1.2.3", "a factor from 0 to 100");
	refuse("function:f=101", "a factor from 0 to 100");
	refuse("function:f=.", "a factor from 0 to 100");
	refuse("function:f=drop", "are for locks");
	refuse("queue:q=split:2", "are for locks");
	refuse("lock:m=balance", "a factor from 0 to 100");
	refuse("loop:l=0.5", "of a loop dynamic expected");
	refuse("loop:=dynamic", "a name is missing");
	refuse("region:r=dynamic", "a factor from 0 to 100");
	refuse("lock:m=split:1", "from 2 to 4096");
	refuse("lock:m=split:-2", "from 2 to 4096");
	refuse("lock:m=split:99999999999999999999", "from 2 to 4096");
	refuse("queue:q workers=0", "from 1 to 4096");
	refuse("region:r threads=0", "from 1 to 4096");
	refuse("region:r workers=x", "a factor from 0 to 100");
	refuse("queue:q workers=1.5", "from 1 to 4096");
}

static const char *const names[] = { "main", "io", "worker1", "worker2", NULL };

static void test_everywhere(void **state)
{
	struct cpa_placement placement;

	(void)state;
	assert_int_equal(cpa_placement_init(&placement, 3, 2, NULL, NULL, 5, NULL), 0);
	assert_int_equal(placement.groups, 1);
	assert_int_equal(placement.cores[0], 3);
	assert_int_equal(placement.load, 2);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(placement.group[i], 0);
	cpa_placement_fini(&placement);
}

static uint64_t slice(uint32_t cores, uint32_t recorded, double tick_s, uint64_t interrupt)
{
	struct cpa_placement placement;
	uint64_t slice;

	assert_int_equal(cpa_placement_init(&placement, cores, 0, NULL, NULL, 5, NULL), 0);
	cpa_placement_turns(&placement, recorded, tick_s);
	slice = placement.slice;
	assert_int_equal(placement.interrupt, interrupt);
	cpa_placement_fini(&placement);
	return slice;
}

/* Linux: 0.7 ms times 1 + log2 of the cores, at most 8. */
static void test_turns(void **state)
{
	(void)state;
	assert_in_range(slice(1, 1, 1e-9, 4000000), 699999, 700000);
	assert_in_range(slice(1, 2, 1e-9, 4000000), 1399999, 1400000);
	assert_in_range(slice(3, 2, 1e-9, 4000000), 1399999, 1400000);
	assert_in_range(slice(8, 0, 1e-9, 4000000), 2799999, 2800000);
	assert_in_range(slice(1, UINT32_MAX, 1e-9, 4000000), 2799999, 2800000);
	/* More ticks than any clock has. */
	assert_int_equal(slice(1, 1, 1e-300, UINT32_MAX), UINT32_MAX);
	assert_int_equal(slice(1, 1, 0, UINT32_MAX), UINT32_MAX);
	assert_int_equal(slice(1, 1, 1, 1), 1);
	assert_int_equal(slice(1, 1, -1, 1), 1);
	assert_int_equal(slice(1, 1, NAN, 1), 1);
}

static void test_groups(void **state)
{
	static const uint32_t group[] = { 0, 0, 1, 1, 2 };
	struct cpa_placement placement;
	char *error = NULL;

	(void)state;
	assert_int_equal(cpa_placement_init(&placement, 8, 0, " 0:main,io  2-4:worker* ", names, 5,
					    &error),
			 0);
	assert_int_equal(placement.groups, 3);
	assert_int_equal(placement.cores[0], 1);
	assert_int_equal(placement.cores[1], 3);
	assert_int_equal(placement.cores[2], 4);
	assert_memory_equal(placement.group, group, sizeof(group));
	cpa_placement_fini(&placement);
	/* The first pattern that matches a thread applies. */
	assert_int_equal(cpa_placement_init(&placement, 2, 0, "1:*2 0:worker*,main,io", names, 4,
					    &error),
			 0);
	assert_int_equal(placement.groups, 2);
	assert_int_equal(placement.group[2], 1);
	assert_int_equal(placement.group[3], 0);
	cpa_placement_fini(&placement);
}

static void test_wrong_groups(void **state)
{
	static const struct {
		const char *groups, *why;
	} wrong[] = {
		{ "main", "CORES:NAME" },
		{ "0", "CORES:NAME" },
		{ "0:", "CORES:NAME" },
		{ "4:main", "cores from 0 to 3" },
		{ "2-1:main", "CORES:NAME" },
		{ "0-4:main", "cores from 0 to 3" },
		{ "-1:main", "CORES:NAME" },
		{ "0:main 0:io", "each in one group" },
		{ "0:nobody", "no thread has the name 'nobody'" },
		{ "0:main,", "no thread has the name ''" },
		{ "0-3:main", "some threads are in no group" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct cpa_placement placement;
		char *error = NULL;

		assert_int_equal(cpa_placement_init(&placement, 4, 0, wrong[i].groups, names, 5,
						    &error),
				 -1);
		if (!strstr(error, wrong[i].why))
			fail_msg("%s: %s", wrong[i].groups, error);
		free(error);
	}
}

static void test_network(void **state)
{
	struct cpa_network network = { 0 };

	(void)state;
	assert_null(cpa_network_add(&network, "bandwidth=2.5M"));
	assert_true(network.latency_s == 0);
	assert_true(network.second_per_byte == 1 / 2.5e6);
	assert_null(cpa_network_add(&network, " latency=10us  bandwidth=1G"));
	assert_true(network.asked);
	assert_true(network.latency_s == 10 * 1e-6 && network.second_per_byte == 1 / 1e9);
	assert_null(cpa_network_add(&network, "unix:a -> b=0.5"));
	assert_null(cpa_network_add(&network, "*:x:y=z=2"));
	assert_int_equal(network.factors, 2);
	assert_int_equal(network.factor[0].kinds >> CPA_STREAM_UNIX & 1, 1);
	assert_int_equal(network.factor[0].kinds >> CPA_STREAM_TCP & 1, 0);
	assert_string_equal(network.factor[0].name, "a -> b");
	assert_true(network.factor[0].factor == 0.5);
	assert_int_equal(network.factor[1].kinds >> CPA_STREAM_UDP & 1, 1);
	assert_string_equal(network.factor[1].name, "x:y=z");
	cpa_network_fini(&network);
}

static void test_wrong_network(void **state)
{
	static const struct {
		const char *text, *why;
	} wrong[] = {
		{ "", "expected" },
		{ " ", "expected" },
		{ "latency", "expected" },
		{ "latency=", "a time" },
		{ "latency=10", "a time" },
		{ "latency=1.2.3us", "a time" },
		{ "latency=-1us", "a time" },
		{ "latency=1e3us", "a time" },
		{ "latency=1001ms", "a time" },
		{ "bandwidth=", "bytes a second" },
		{ "bandwidth=0", "bytes a second" },
		{ "bandwidth=1g", "bytes a second" },
		{ "latency=1us speed=1", "'latency=TIME" },
		{ "pipe:=1", "KIND:NAME=FACTOR" },
		{ "pipe:a", "KIND:NAME=FACTOR" },
		{ "pipe=1:a", "before ':'" },
		{ "ftp:a=1", "before ':'" },
		{ "tcp:a=101", "a factor" },
		{ "tcp:a=", "a factor" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct cpa_network network = { 0 };
		const char *error = cpa_network_add(&network, wrong[i].text);

		if (!error || !strstr(error, wrong[i].why))
			fail_msg("'%s': %s", wrong[i].text, error ? error : "taken");
		cpa_network_fini(&network);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_changes),	   cmocka_unit_test(test_wrong_changes),
		cmocka_unit_test(test_everywhere), cmocka_unit_test(test_turns),
		cmocka_unit_test(test_groups),	   cmocka_unit_test(test_wrong_groups),
		cmocka_unit_test(test_network),	   cmocka_unit_test(test_wrong_network),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
