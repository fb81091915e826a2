/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_component.c - shadow/graph/component.h: which components get a slot of their own
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/shadow_session.h"

#define SLOTS 100u

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(64) << 20, SLOTS);
}

static int setup_most(void **state)
{
	(void)state;
	return test_session(UINT64_C(64) << 20, 1u << 20);
}

static int setup_least(void **state)
{
	(void)state;
	return test_session(UINT64_C(64) << 20, CPA_SLOT_FIRST);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

static uint32_t intern(enum cpa_component_kind kind, uint64_t address)
{
	struct cpa_component_name name = { .kind = kind, .address = address };

	return cpa_component_intern(&name);
}

/* Modules loaded one after another at the same address: their functions there are different. */
static void test_layers(void **state)
{
	struct cpa_component_name name = { .kind = CPA_LOCK, .address = 0x401000 };
	uint32_t row[3];

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		name.module = cpa_table_append(CPA_TABLE_MODULES);
		((struct cpa_module *)cpa_row(CPA_TABLE_MODULES, name.module))->layer = i;
		row[i] = cpa_component_intern(&name);
		assert_int_equal(cpa_component_intern(&name), row[i]);
		assert_int_equal(cpa_component(row[i])->address, 0x401000);
		assert_int_equal(cpa_component(row[i])->module, name.module);
	}
	name.module = 0;
	assert_int_equal(cpa_component_intern(&name), row[0]);
	assert_int_not_equal(row[0], row[1]);
	assert_int_not_equal(row[1], row[2]);
}

/* Parts of a function, by who called it: each context is another one, wherever the function lies. */
static void test_parts(void **state)
{
	struct cpa_component_name name = { .kind = CPA_FUNCTION, .address = 0x401000 };
	uint32_t whole = cpa_component_intern(&name), row[3];

	(void)state;
	name.by = CPA_BY_CALLERS;
	for (uint32_t i = 0; i < 3; i++) {
		name.context = 0x401000 + i;
		row[i] = cpa_component_intern(&name);
		assert_int_equal(cpa_component_intern(&name), row[i]);
		assert_int_equal(cpa_component(row[i])->context, name.context);
		assert_int_equal(cpa_component(row[i])->address, 0x401000);
	}
	name.address += 16; /* as another process, that has the module elsewhere, would say */
	assert_int_equal(cpa_component_intern(&name), row[2]);
	assert_int_not_equal(row[0], row[1]);
	assert_int_not_equal(row[1], row[2]);
	assert_int_not_equal(row[0], whole);
}

static void test_same_name_same_row(void **state)
{
	uint32_t row = intern(CPA_FUNCTION, 0x401000), lock = intern(CPA_LOCK, 0x401000);
	const struct cpa_component *c = cpa_component(row);

	(void)state;
	assert_true(row != 0);
	assert_int_not_equal(row, lock);
	assert_int_equal(intern(CPA_FUNCTION, 0x401000), row);
	assert_int_equal(c->kind, CPA_FUNCTION);
	assert_int_equal(c->address, 0x401000);
	assert_int_equal(c->module, 0);
	assert_int_equal(c->shared, 0);
	assert_true(c->slot >= CPA_SLOT_FIRST);
	assert_int_not_equal(c->slot, cpa_component(lock)->slot);
	assert_int_equal(cpa_component_slot(row), c->slot);
	assert_int_equal(cpa_component_slot(0), CPA_SLOT_NONE);
}

/*
 * While a kind has slots left, each component gets one alone. Then components share with their own
 * kind, are marked and counted; no slot is outside the vectors, and other kinds keep theirs.
 */
static void test_quota_and_sharing(void **state)
{
	uint32_t owner[SLOTS] = { 0 }, own[CPA_ACTIVITY] = { 0 };
	uint64_t shared = 0;

	(void)state;
	for (uint64_t i = 0; i < 500; i++) {
		for (int kind = CPA_FUNCTION; kind < CPA_ACTIVITY; kind++) {
			const struct cpa_component *c =
				cpa_component(intern((enum cpa_component_kind)kind, 0x1000 + i));

			assert_in_range(c->slot, CPA_SLOT_FIRST, SLOTS - 1);
			assert_int_equal(c->first, c->slot);
			assert_int_equal(cpa_component_is_bucket(c->slot), c->shared);
			if (owner[c->slot])
				assert_true(c->shared && owner[c->slot] == (uint32_t)kind);
			owner[c->slot] = (uint32_t)kind;
			shared += c->shared;
			own[kind] += !c->shared;
		}
	}
	assert_int_equal(cpa_header()->diag[CPA_DIAG_ALIASED_CLASSES], shared);
	assert_true(own[CPA_FUNCTION] >= 18 && own[CPA_LOCK] >= 12);
	for (int kind = CPA_FUNCTION; kind < CPA_ACTIVITY; kind++)
		assert_true(own[kind] > 0);
}

/* An activity either has a slot of its own or none. */
static void test_activities_do_not_share(void **state)
{
	bool used[SLOTS] = { false };
	uint32_t with = 0;

	(void)state;
	for (uint64_t i = 0; i < 300; i++) {
		uint32_t slot = cpa_component_slot(intern(CPA_ACTIVITY, 0x1000 + i));

		if (slot == CPA_SLOT_NONE)
			continue;
		assert_in_range(slot, CPA_SLOT_FIRST, SLOTS - 1);
		assert_false(used[slot]);
		used[slot] = true;
		with++;
	}
	assert_in_range(with, 16, 30);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_ALIASED_CLASSES], 0);
}

/* More slots than a delta or a vector should hold are not handed out. */
static void test_most_slots(void **state)
{
	(void)state;
	assert_true(cpa_header()->slots <= 4096);
	for (uint64_t i = 0; i < 5000; i++)
		assert_true(cpa_component_slot(intern(CPA_FUNCTION, 0x1000 + i)) <
			    cpa_header()->slots);
}

/* Without any slot to hand out, components have rows but no slot. */
static void test_least_slots(void **state)
{
	(void)state;
	for (int kind = CPA_FUNCTION; kind <= CPA_ACTIVITY; kind++) {
		uint32_t row = intern((enum cpa_component_kind)kind, 0x1000);

		assert_true(row != 0);
		assert_int_equal(cpa_component_slot(row), CPA_SLOT_NONE);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_same_name_same_row, setup, teardown),
		cmocka_unit_test_setup_teardown(test_layers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_parts, setup, teardown),
		cmocka_unit_test_setup_teardown(test_quota_and_sharing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_activities_do_not_share, setup, teardown),
		cmocka_unit_test_setup_teardown(test_most_slots, setup_most, teardown),
		cmocka_unit_test_setup_teardown(test_least_slots, setup_least, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
