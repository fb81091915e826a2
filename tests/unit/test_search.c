/* SPDX-License-Identifier: MIT */
/* tests/unit/test_search.c - shadow/graph/search.h: components named, returned, and slots reused */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/search.h"
#include "tests/unit/shadow_session.h"

#define MANY  2000u
#define LIGHT 10u

static uint64_t len, clock_now, value[CPA_MOST_SLOTS];
static uint32_t row[MANY];
static struct cpa_self self;

static int start(uint32_t slots)
{
	struct cpa_wait w = { .now = 1 };
	int ret = test_session(UINT64_C(64) << 20, slots);

	memset(value, 0, sizeof(value));
	memset(&self, 0, sizeof(self));
	len = clock_now = 0;
	for (uint32_t i = 0; i < MANY; i++) {
		struct cpa_component_name name = { .kind = CPA_REGION, .address = 1 + i };

		row[i] = cpa_component_intern(&name);
	}
	return ret ? ret : cpa_thread_begin(&self, 0, 1, NULL, &w);
}

static int setup(void **state)
{
	(void)state;
	return start(1024);
}

static int setup_few(void **state)
{
	(void)state;
	return start(128);
}

static int teardown(void **state)
{
	(void)state;
	test_rows_clear(&self);
	if (cpa_heap_live())
		return -1;
	cpa_session_destroy();
	return 0;
}

static struct cpa_component *component(uint32_t i)
{
	return cpa_component(row[i]);
}

/* @component is active for @ticks of the path. */
static void spend(uint32_t i, uint64_t ticks)
{
	uint32_t slot = component(i)->slot;

	value[slot] += ticks;
	((uint64_t *)cpa_at(self.row->totals))[slot] += ticks;
	len += ticks;
}

static void step(void)
{
	const struct cpa_search_view view = {
		.now = ++clock_now, .len = len, .slack = value, .share = value, .observed = value
	};

	cpa_search_step(&view);
}

/* An interval in which @heavy has most, and the others divide the rest. */
static void interval(uint32_t heavy)
{
	for (uint32_t i = 0; i < MANY; i++)
		spend(i, LIGHT);
	spend(heavy, MANY * LIGHT * 5);
	step();
}

/* Count the components that are neither in their bucket nor in their first slot. */
static uint32_t away(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < MANY; i++)
		n += component(i)->slot != component(i)->first &&
		     component(i)->slot != cpa_component_bucket(component(i));
	return n;
}

static void test_names(void **state)
{
	uint32_t heavy = MANY - 7, first = component(heavy)->slot, steps = 0;
	const struct cpa_component *c = component(heavy);

	(void)state;
	assert_true(cpa_component_is_bucket(first));
	while (c->shared && ++steps < 20)
		interval(heavy);
	assert_in_range(steps, 2, 8); /* some 200 in a bucket */
	assert_int_equal(cpa_header()->moves, steps);
	assert_int_equal(c->since, clock_now);
	assert_int_equal(c->since_len, len);
	assert_int_equal(c->earlier[0], first);
	assert_int_equal(c->earlier_count, steps);
	assert_in_range(c->among, 100, 400);
	/* The others are light now. */
	interval(heavy);
	assert_int_equal(away(), 1);
	assert_false(c->shared);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_SEARCH_WAITS], 0);
	/* It stays like this. */
	steps = cpa_header()->moves;
	for (int i = 0; i < 5; i++)
		interval(heavy);
	assert_int_equal(cpa_header()->moves, steps);
}

static void test_nothing_heavy(void **state)
{
	(void)state;
	for (int k = 0; k < 5; k++) {
		for (uint32_t i = 0; i < MANY; i++)
			spend(i, LIGHT);
		len *= 4; /* the same again outside of any region: no bucket is heavy */
		step();
	}
	assert_int_equal(cpa_header()->moves, 0);
	assert_int_equal(away(), 0);
}

/* Heavy buckets of light components are divided now and then, not more. */
static void test_rest(void **state)
{
	(void)state;
	for (int k = 0; k < 64; k++) {
		for (uint32_t i = 0; i < MANY; i++)
			spend(i, LIGHT);
		step();
	}
	/* 2 + 4 + 8 + 8 ..., and one step each to return the members. */
	assert_in_range(cpa_header()->moves, 6, 24);
	for (uint32_t i = 0; i < MANY; i++)
		assert_true(component(i)->shared || !component(i)->since);
}

/* No growth, no step: a shorter path is ignored. */
static void test_no_growth(void **state)
{
	(void)state;
	spend(MANY - 1, 1000);
	step();
	assert_int_equal(cpa_header()->moves, 1);
	step();
	len -= 500;
	step();
	assert_int_equal(cpa_header()->moves, 1);
}

/* With few slots those of earlier phases are reused, and their contents are recorded. */
static void test_used_again(void **state)
{
	uint32_t named = 0;

	(void)state;
	for (uint32_t phase = 0; phase < 12; phase++) {
		uint32_t heavy = 100 + 7 * phase;

		for (int i = 0; i < 60 && component(heavy)->shared; i++)
			interval(heavy);
		named += !component(heavy)->shared;
		/* It has as much as all before it: those become light. */
		interval(heavy);
		spend(heavy, 4 * len);
		step();
	}
	assert_int_equal(named, 12);
	assert_true(cpa_table(CPA_TABLE_BASES)->used > 0);
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_BASES)->used; i++) {
		const struct cpa_base *base = cpa_row(CPA_TABLE_BASES, i);

		assert_in_range(base->key, CPA_SLOT_FIRST, 127);
		assert_true(base->most <= value[base->key] && base->most > 0);
		assert_int_equal(base->share, base->most); /* one thread */
		assert_int_equal(base->total, base->most);
	}
}

/* Two components in one bucket count once, wherever the search moves them meanwhile. */
static void test_held_in_one_bucket(void **state)
{
	struct cpa_span span = { .process = 10 };
	uint32_t a = 1000, b = a + 1, slot;

	(void)state;
	while (component(b)->slot != component(a)->slot)
		b++;
	slot = component(a)->slot;
	cpa_hold(&self, row[a], slot);
	cpa_hold(&self, row[b], slot);
	cpa_activity_end(&self, &span, 0);
	assert_int_equal(cpa_path_value(&self.row->path, CPA_H, slot), 10);
	cpa_unhold(&self, row[a]);
	cpa_activity_end(&self, &span, 0);
	assert_int_equal(cpa_path_value(&self.row->path, CPA_H, slot), 20);
	cpa_hold(&self, row[a], slot);
	while (component(a)->slot == component(b)->slot)
		interval(a);
	cpa_activity_end(&self, &span, 0);
	assert_int_equal(cpa_path_value(&self.row->path, CPA_H, slot), 20);
	assert_int_equal(cpa_path_value(&self.row->path, CPA_H, component(a)->slot), 10);
	assert_int_equal(cpa_path_value(&self.row->path, CPA_H, component(b)->slot), 10);
	cpa_unhold(&self, row[b]);
	cpa_unhold(&self, row[a]);
	assert_int_equal(self.row->held_count, 0);
}

/* The id of a function never changes. */
static void test_function_ids(void **state)
{
	uint32_t id = cpa_function_id(row[MANY - 1]), slot = component(MANY - 1)->slot;

	(void)state;
	assert_int_equal(cpa_function_slot(id), slot);
	interval(MANY - 1);
	assert_int_not_equal(cpa_function_slot(id), slot);
	assert_int_equal(cpa_function_slot(id), component(MANY - 1)->slot);
	assert_int_equal(cpa_function_id(row[MANY - 1]), id);
	assert_int_equal(cpa_function_slot(CPA_SLOT_UNSAMPLED), CPA_SLOT_UNSAMPLED);
}

/* Only the thread at the head of the path steps, and only when a step is due. */
static void test_tick(void **state)
{
	struct cpa_self other = { 0 };
	struct cpa_wait w = { .now = 1 };
	const uint64_t *steps = &cpa_header()->diag[CPA_DIAG_SEARCH_STEPS];

	(void)state;
	assert_int_equal(cpa_thread_begin(&other, 0, 2, NULL, &w), 0);
	assert_true(cpa_search_is_due(1));
	self.row->path.len = 100;
	other.row->path.len = 50;
	cpa_search_tick(&self, 1000, 1);
	assert_int_equal(*steps, 1);
	assert_false(cpa_search_is_due(1001));
	cpa_search_tick(&self, 1001, 1);
	assert_int_equal(*steps, 1);
	assert_true(cpa_search_is_due(2000));
	cpa_search_tick(&other, 2000, 1);
	assert_int_equal(*steps, 1);
	other.row->path.len = 101;
	cpa_search_tick(&other, 2000, 1);
	assert_int_equal(*steps, 2);
	cpa_version_forget_spares(&other);
}

/* While no component shares a slot, no step is ever due. */
static void test_not_wanted(void **state)
{
	(void)state;
	assert_int_equal(test_session(UINT64_C(64) << 20, 1024), 0);
	assert_false(cpa_search_is_due(UINT64_MAX - 1));
	cpa_session_destroy();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_names, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nothing_heavy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_growth, setup, teardown),
		cmocka_unit_test_setup_teardown(test_used_again, setup_few, teardown),
		cmocka_unit_test_setup_teardown(test_held_in_one_bucket, setup, teardown),
		cmocka_unit_test_setup_teardown(test_function_ids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tick, setup, teardown),
		cmocka_unit_test(test_not_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
