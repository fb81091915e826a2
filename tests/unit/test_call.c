/* SPDX-License-Identifier: MIT */
/* tests/unit/test_call.c - shadow/graph/call.h: functions, compared with a plain stack */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/call.h"

#include "tests/property/random.h"
#include "tests/unit/shadow_threads.h"

#define FUNCTIONS 5
#define DEEPEST	  200
#define STEPS	  20000
#define TOP	  UINT64_C(0x7ffffffff000)
#define ELSEWHERE UINT64_C(0x550000000000) /* another stack, below the first */
#define ABOVE	  (TOP + (1 << 20))	   /* and one above it, that does not reach down to it */

/* The reference. Functions are numbers from 0; their code lies at address(). */
static struct {
	struct {
		uint64_t frame;
		unsigned function;
	} stack[DEEPEST];
	unsigned depth;
	uint64_t own[FUNCTIONS], whole[FUNCTIONS], calls[FUNCTIONS], outside, length;
} truth;

static struct cpa_calls *c;
static uint32_t number[FUNCTIONS];

static uint64_t address(unsigned function)
{
	return 0x401000 + 0x100 * function;
}

static uint32_t component(unsigned function, enum cpa_class_by by)
{
	struct cpa_component_name name = { .kind = CPA_FUNCTION,
					   .by = by,
					   .address = address(function) };

	return cpa_component_intern(&name);
}

static int setup(void **state)
{
	int ret = threads_setup(state);

	if (ret)
		return ret;
	memset(&truth, 0, sizeof(truth));
	c = cpa_calls_new();
	for (unsigned f = 0; f < FUNCTIONS; f++)
		number[f] = cpa_calls_add(c, address(f), component(f, CPA_BY_ADDRESS),
					  component(f, CPA_BY_CALL));
	return 0;
}

static int teardown(void **state)
{
	cpa_calls_free(c);
	return threads_teardown(state);
}

static void pass(uint64_t process, uint64_t external)
{
	bool seen[FUNCTIONS] = { false };

	cpa_calls_pass(c, process, external);
	truth.length += process + external;
	if (truth.depth)
		truth.own[truth.stack[truth.depth - 1].function] += process;
	else
		truth.outside += process;
	for (unsigned i = 0; i < truth.depth; i++) {
		unsigned f = truth.stack[i].function;

		truth.whole[f] += seen[f] ? 0 : process + external;
		seen[f] = true;
	}
}

static void enter(unsigned function, uint64_t frame)
{
	struct cpa_call call = { .frame = frame, .function = number[function] };

	if (c->depth == c->room)
		assert_true(cpa_calls_grow(c));
	cpa_calls_push(c, &call);
	truth.stack[truth.depth].frame = frame;
	truth.stack[truth.depth++].function = function;
	truth.calls[function]++;
}

static void leave(void)
{
	cpa_calls_pop(c);
	truth.depth--;
}

/* As preload/core/instrument.c does at an event; then all reported values must be right. */
static void event(void)
{
	struct cpa_span span = { .process = c->process, .external = c->external, .calls = c };
	const struct cpa_path *path = &t[0].row->path;

	c->process = c->external = 0;
	cpa_activity_end(&t[0], &span, 0);
	assert_int_equal(path->len, truth.length);
	assert_int_equal(cpa_path_value(path, CPA_H, CPA_SLOT_UNSAMPLED), truth.outside);
	for (unsigned f = 0; f < FUNCTIONS; f++) {
		uint32_t row = component(f, CPA_BY_ADDRESS), whole = component(f, CPA_BY_CALL);

		assert_int_equal(cpa_component(row)->calls, truth.calls[f]);
		assert_int_equal(cpa_component(row)->inclusive, truth.whole[f]);
		for (int v = CPA_S; v <= CPA_O; v++) {
			assert_int_equal(cpa_path_value(path, (enum cpa_vector)v,
							cpa_component_slot(row)),
					 truth.own[f]);
			assert_int_equal(cpa_path_value(path, (enum cpa_vector)v,
							cpa_component_slot(whole)),
					 truth.whole[f]);
		}
	}
}

static uint64_t top_frame(void)
{
	return truth.depth ? truth.stack[truth.depth - 1].frame : TOP;
}

/* Jump to the function at @depth, which called setjmp() just below its frame. */
static void jump(unsigned depth)
{
	uint64_t frame = depth ? truth.stack[depth - 1].frame - 1 : TOP;

	cpa_calls_jump(c, top_frame() - 50, frame);
	truth.depth = depth;
}

/* Begin, end, jump, spend time, in any order: events report the truth, to the tick. */
static void test_random(void **state)
{
	uint64_t seed = rnd_seed();
	struct rnd r = rnd_sequence(seed, 0);
	unsigned handler = 0; /* depth at which the handler's stack begins, 0: there is none */

	(void)state;
	print_message("# CPA_SEED=%llu\n", (unsigned long long)seed);
	for (int i = 0; i < STEPS; i++) {
		unsigned what = (unsigned)rnd_below(&r, 100);

		pass(rnd_below(&r, 1000), rnd_percent(&r, 5) ? rnd_below(&r, 1000) : 0);
		if (truth.depth <= handler)
			handler = 0;
		if (what < 45 && truth.depth < DEEPEST) {
			enter((unsigned)rnd_below(&r, FUNCTIONS),
			      top_frame() - 16 - rnd_below(&r, 500));
		} else if (what < 47 && truth.depth && !handler && truth.depth < DEEPEST) {
			handler = truth.depth;
			enter((unsigned)rnd_below(&r, FUNCTIONS),
			      rnd_percent(&r, 50) ? ELSEWHERE : ABOVE);
		} else if (what < 85 && truth.depth) {
			leave();
		} else if (what < 88 && truth.depth) {
			jump(handler ? (unsigned)rnd_below(&r, handler + 1) :
				       (unsigned)rnd_below(&r, truth.depth + 1));
		} else if (what >= 95) {
			event();
		}
	}
	event();
}

static struct cpa_call called(unsigned function, uint64_t frame, uint32_t site, uint32_t pc)
{
	return (struct cpa_call){
		.frame = frame, .site = site, .pc = pc, .function = number[function]
	};
}

/* As __cyg_profile_func_enter() does. Return whether ended calls were found. */
static bool begin(struct cpa_call call, uint32_t caller)
{
	bool over = c->depth && cpa_calls_check(c, &call, caller);

	cpa_calls_push(c, &call);
	return over;
}

/* An exception passed through 1 and 2 unseen: 0 calls 3 from another place, which shows it. */
static void test_caller_shows_what_is_over(void **state)
{
	(void)state;
	begin(called(0, TOP, 1, 1), 0);
	begin(called(1, TOP - 100, 2, 2), number[0]);
	begin(called(2, TOP - 200, 3, 3), number[1]);
	assert_true(begin(called(3, TOP - 300, 4, 4), number[0]));
	assert_int_equal(c->depth, 2);
	assert_int_equal(c->function[number[1]].active, 0);
	assert_int_equal(c->outermost, number[3]);
}

/*
 * So does a frame reused by another call: 0 calls 1 again and again, and 1 never reports its end.
 */
static void test_frame_shows_what_is_over(void **state)
{
	(void)state;
	begin(called(0, TOP, 1, 1), 0);
	for (int i = 0; i < 10; i++) {
		assert_int_equal(begin(called(1, TOP - 100, 2, 2), 0), i > 0);
		assert_int_equal(begin(called(2, TOP - 200, 3, 3), 0), false);
	}
	assert_int_equal(c->depth, 3);
}

/* Functions inlined into others share frame and site with them, and have not ended. */
static void test_inlined(void **state)
{
	(void)state;
	begin(called(0, TOP, 1, 1), 0);
	begin(called(1, TOP - 100, 2, 2), number[0]);
	assert_false(begin(called(2, TOP - 100, 2, 3), number[0])); /* in 1 */
	assert_false(begin(called(3, TOP - 150, 2, 4), number[0])); /* in 2, below alloca() */
	assert_false(begin(called(4, TOP - 300, 5, 5), number[1])); /* called by code in 1 */
	assert_int_equal(c->depth, 5);
}

/*
 * A signal handler on a stack above all frames ends no call, whichever function seems to call it.
 */
static void test_other_stack(void **state)
{
	(void)state;
	begin(called(0, TOP, 1, 1), 0);
	begin(called(1, TOP - 100, 2, 2), number[0]);
	assert_false(begin(called(2, TOP + 4096, 7, 7), 0));
	assert_false(begin(called(3, TOP + 4000, 8, 8), number[2]));
	assert_int_equal(c->depth, 4);
	cpa_calls_jump(c, TOP + 3900, TOP + 3950);
	assert_int_equal(c->depth, 4);
	cpa_calls_jump(c, TOP + 3900, TOP + 4050);
	assert_int_equal(c->depth, 3);
	cpa_calls_jump(c, TOP + 3900, TOP - 50);
	assert_int_equal(c->depth, 1);
	assert_int_equal(c->folds, 0);
}

/*
 * A call ends below others that did not: those have ended, too. A call that never began ends
 * nothing.
 */
static void test_leave_outer(void **state)
{
	(void)state;
	begin(called(0, TOP, 1, 1), 0);
	begin(called(1, TOP - 100, 2, 2), number[0]);
	begin(called(2, TOP - 200, 3, 3), number[1]);
	assert_true(cpa_calls_leave_outer(c, number[1]));
	assert_int_equal(c->depth, 1);
	assert_false(cpa_calls_leave_outer(c, number[3]));
	assert_int_equal(c->depth, 1);
}

/*
 * More functions than the first table holds: each is found again; those that find no room share a
 * number.
 */
static void test_many_functions(void **state)
{
	uint32_t last = 0;

	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		uint32_t n = cpa_calls_add(c, 0x1000000 + 16 * i, 0, 0);

		assert_true(n == CPA_CALL_UNNAMED || n > last);
		assert_true(i >= 65000 || n != CPA_CALL_UNNAMED);
		last = n != CPA_CALL_UNNAMED ? n : last;
		if (n == CPA_CALL_UNNAMED)
			assert_int_equal(cpa_calls_find(c, 0x1000000 + 16 * i), 0);
	}
	for (uint64_t i = 0; i < 65000; i++)
		assert_int_equal(c->function[cpa_calls_find(c, 0x1000000 + 16 * i)].address,
				 0x1000000 + 16 * i);
}

/* The stack grows up to a limit, then says so; nothing that was on it is lost. */
static void test_depth_has_a_limit(void **state)
{
	uint32_t most = CPA_CALLS_MOST;

	(void)state;
	for (uint32_t i = 0; i < most; i++) {
		if (c->depth == c->room)
			assert_true(cpa_calls_grow(c));
		cpa_calls_push(c, &(struct cpa_call){ .frame = TOP - i,
						      .function = number[i % FUNCTIONS] });
	}
	assert_int_equal(c->depth, c->room);
	assert_false(cpa_calls_grow(c));
	while (c->depth)
		cpa_calls_pop(c);
	assert_int_equal(c->outermost, CPA_CALL_END);
}

/* Calls nest: including callees, functions have a slot of their own or none. */
static void test_slots_are_not_shared(void **state)
{
	bool used[4096] = { false };
	uint32_t with = 0;

	(void)state;
	for (unsigned f = FUNCTIONS; f < 500; f++) {
		uint32_t slot = cpa_component_slot(component(f, CPA_BY_CALL));
		uint32_t alone = cpa_component_slot(component(f, CPA_BY_ADDRESS));

		assert_true(slot == CPA_SLOT_NONE || slot != alone);
		assert_true(slot == CPA_SLOT_NONE || !used[slot]);
		used[slot] = true;
		used[alone] = true;
		with += slot != CPA_SLOT_NONE;
	}
	assert_in_range(with, 0, 64);
}

/* Abandoned anywhere: lists and counts are rebuilt from the stack. */
static void test_mend(void **state)
{
	(void)state;
	enter(0, TOP);
	enter(1, TOP - 100);
	enter(0, TOP - 200);
	pass(10, 0);
	c->reports = number[1];
	c->function[number[1]].next = number[1];
	c->function[number[0]].active = 7;
	c->outermost = number[0];
	c->folds = 3;
	cpa_calls_mend(c);
	assert_int_equal(c->function[number[0]].active, 2);
	assert_int_equal(c->folds, 0);
	pass(5, 0);
	event();
	leave();
	leave();
	pass(3, 0);
	leave();
	event();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
		cmocka_unit_test_setup_teardown(test_caller_shows_what_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_frame_shows_what_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(test_inlined, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(test_leave_outer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_functions, setup, teardown),
		cmocka_unit_test_setup_teardown(test_depth_has_a_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(test_slots_are_not_shared, setup, teardown),
		cmocka_unit_test_setup_teardown(test_mend, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
