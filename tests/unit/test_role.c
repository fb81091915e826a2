/* SPDX-License-Identifier: MIT */
/* tests/unit/test_role.c - shadow/graph/role.h: patterns of names, and whose component a thread is */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "shadow/edge/thread.h"
#include "shadow/graph/role.h"
#include "shadow/store/name.h"

#include "tests/unit/shadow_session.h"

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(64) << 20, 256);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

static const char *text_of(uint32_t role)
{
	return ((const struct cpa_name *)cpa_row(CPA_TABLE_NAMES, role))->text;
}

static void test_patterns(void **state)
{
	static const char *const names[][2] = {
		{ "worker", "worker" },
		{ "worker-1", "worker-*" },
		{ "worker-12", "worker-*" },
		{ "pool-1-thread-3", "pool-1-thread-*" },
		{ "pool-1-thread-10", "pool-1-thread-*" },
		{ "GC Thread#0", "GC Thread#*" },
		{ "[w 3]", "[w *]" },
		{ "C2 CompilerThre", "C2 CompilerThre" },
		{ "queue0:src", "queue0:src" },
		{ "12", "*" },
		{ "--", "--" },
		{ "\xc3\xa4"
		  "1",
		  "\xc3\xa4*" },
		{ "longer than fifteen letters", "longer than fif" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_string_equal(text_of(cpa_role_of(names[i][0])), names[i][1]);
	assert_int_equal(cpa_role_of(""), CPA_ROLE_NONE);
}

static uint32_t routine_at(uint64_t address)
{
	struct cpa_component_name name = { .kind = CPA_THREAD, .address = address };

	return cpa_component_intern(&name);
}

static void begin(struct cpa_self *self, uint32_t component)
{
	struct cpa_wait w = { .now = 100 };

	memset(self, 0, sizeof(*self));
	assert_int_equal(cpa_thread_begin(self, component, 1, NULL, &w), 0);
}

static void take(struct cpa_self *self, const char *name)
{
	self->row->role = cpa_role_of(name);
	cpa_role_take(self);
	assert_int_equal(self->row->role, 0);
	assert_int_equal(self->row->thread_slot, cpa_component_slot(self->row->component));
}

static void test_components(void **state)
{
	uint32_t routine = routine_at(0x1000), other = routine_at(0x2000), worker;
	struct cpa_self a, b, c;

	(void)state;
	begin(&a, routine);
	begin(&b, routine);
	begin(&c, other);
	assert_false(cpa_role_ends(&a, cpa_role_of("worker-1")));
	take(&a, "worker-1");
	worker = a.row->component;
	assert_int_not_equal(worker, routine);
	assert_int_equal(cpa_role_routine(worker), routine);
	/* One number or another: the same. Another routine: not the same. */
	take(&b, "worker-2");
	assert_int_equal(b.row->component, worker);
	take(&c, "worker-2");
	assert_int_not_equal(c.row->component, worker);
	assert_int_equal(cpa_role_routine(c.row->component), other);
	/* Other names, and back. */
	assert_false(cpa_role_ends(&a, cpa_role_of("worker-7")));
	assert_true(cpa_role_ends(&a, cpa_role_of("reader")));
	assert_true(cpa_role_ends(&a, CPA_ROLE_NONE));
	take(&a, "reader");
	assert_int_not_equal(a.row->component, worker);
	assert_int_equal(cpa_role_routine(a.row->component), routine);
	take(&a, "");
	assert_int_equal(a.row->component, routine);
	assert_false(cpa_role_ends(&a, CPA_ROLE_NONE));
	take(&a, "worker-9");
	assert_int_equal(a.row->component, worker);
}

/* The creator may give a name before the thread begins. */
static void test_named_before(void **state)
{
	uint32_t routine = routine_at(0x1000), row = cpa_thread_claim(0, 0);
	struct cpa_wait w = { .now = 100 };
	struct cpa_self self = { .number = row };

	(void)state;
	((struct cpa_thread *)cpa_row(CPA_TABLE_THREADS, row))->role = cpa_role_of("reader");
	assert_int_equal(cpa_thread_begin(&self, routine, 1, NULL, &w), 0);
	assert_int_equal(cpa_role_routine(self.row->component), routine);
	assert_int_not_equal(self.row->component, routine);
}

static void test_bound(void **state)
{
	uint32_t routine = routine_at(0x1000);
	struct cpa_self self;
	char name[16];

	(void)state;
	begin(&self, routine);
	for (unsigned i = 0; i < CPA_ROLE_NAMES + 100; i++) {
		snprintf(name, sizeof(name), "%u of many", i);
		take(&self, name);
	}
	assert_int_equal(cpa_table(CPA_TABLE_NAMES)->used, CPA_ROLE_NAMES);
	assert_int_equal(self.row->component, routine);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_patterns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_components, setup, teardown),
		cmocka_unit_test_setup_teardown(test_named_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bound, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
