/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_module.c - where a process has its modules: entries that are found are those of their key
 *
 * The modules of the tests are at no address, so each entry may be taken for another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <pthread.h>

/* NOLINTNEXTLINE(bugprone-suspicious-include): its static functions are tested. */
#include "preload/core/module.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/unwind/frame_table.c"

#include "tests/unit/shadow_session.h"

#define SLOTS	64u
#define LOOKS	1000000u
#define THREADS 4

static uint64_t keys[3 * PROBES];

void cpa_settings_executable(char *to, size_t size)
{
	strncpy(to, "/program", size);
}

/* Keys whose entries begin at the same one. */
static void find_keys(void)
{
	unsigned n = 0;

	for (uint64_t key = 1; n < sizeof(keys) / sizeof(*keys); key += 2)
		if (place_at(key, 0) == places)
			keys[n++] = key;
}

static struct place *keep(uint64_t key)
{
	const struct dl_find_object o = { .dlfo_map_start = (void *)key,
					  .dlfo_map_end = (void *)(key + 1) };

	return keep_place(key, &o, (uint32_t)key * 3, key * 5);
}

/* Whether there is an entry with @key, with what belongs to it. */
static bool has(uint64_t key)
{
	uint32_t row;
	uint64_t by;

	if (!find_place(key, &row, &by))
		return false;
	assert_int_equal(row, (uint32_t)key * 3);
	assert_int_equal(by, key * 5);
	return true;
}

static unsigned count(unsigned from, unsigned to)
{
	unsigned n = 0;

	for (unsigned i = from; i < to; i++)
		n += has(keys[i]);
	return n;
}

static int clear(void **state)
{
	(void)state;
	memset(places, 0, sizeof(places));
	find_keys();
	return 0;
}

/* When all entries that a key may have are in use, it gets that of a module that is gone. */
static void test_replaced(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PROBES; i++)
		assert_non_null(keep(keys[i]));
	assert_int_equal(count(0, PROBES), PROBES);
	assert_false(has(keys[PROBES]));
	assert_non_null(keep(keys[PROBES]));
	assert_true(has(keys[PROBES]));
	assert_int_equal(count(0, PROBES), PROBES - 1);
}

/* Not that of one whose objects are to be destroyed, until they are. */
static void test_variables(void **state)
{
	uint64_t start, end;
	unsigned at = 0, n = 0;

	(void)state;
	for (unsigned i = 0; i < PROBES; i++)
		keep(keys[i])->variables = 1;
	assert_null(keep(keys[PROBES]));
	assert_int_equal(count(0, PROBES), PROBES);
	while (cpa_module_next(&at, &start, &end)) {
		assert_int_equal(start, keys[n++]);
		assert_int_equal(end, start + 1);
		cpa_module_unloaded(&at);
	}
	assert_int_equal(n, PROBES);
	assert_non_null(keep(keys[PROBES]));
}

/* Half of the threads write two keys in turn, which replace each other in the first entry. */
static void *look(void *first)
{
	unsigned number = *(unsigned *)first;

	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t key = keys[PROBES + i % 2];

		if (number % 2)
			keep(key);
		else
			has(key);
	}
	return NULL;
}

/* Threads that replace entries while others read them never take one for another. */
static void test_threads(void **state)
{
	pthread_t thread[THREADS];
	unsigned number[THREADS];

	(void)state;
	for (unsigned i = 0; i < PROBES; i++)
		keep(keys[i]);
	for (unsigned i = 0; i < THREADS; i++) {
		number[i] = i;
		assert_int_equal(pthread_create(&thread[i], NULL, look, &number[i]), 0);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	for (unsigned i = 0; i < PROBES; i++)
		assert_int_equal(place_at(keys[0], i)->key & 1, 1);
}

/* This program and the C library: rows that say where they are; addresses stay as they are. */
static void test_rows(void **state)
{
	const uint64_t wanted[] = { (uint64_t)(uintptr_t)test_rows, (uint64_t)(uintptr_t)strncpy };
	uint32_t row[2];

	(void)state;
	cpa_module_init();
	for (int i = 0; i < 2; i++) {
		uint64_t address = wanted[i];
		const struct cpa_module *m;

		row[i] = cpa_module_place(&address);
		assert_int_not_equal(row[i], 0);
		assert_int_equal(address, wanted[i]);
		m = cpa_row(CPA_TABLE_MODULES, row[i]);
		assert_true(address >= m->start && address < m->end);
		assert_int_equal(cpa_module_of(address), row[i]);
	}
	assert_int_not_equal(row[0], row[1]);
	assert_string_equal(((struct cpa_module *)cpa_row(CPA_TABLE_MODULES, row[0]))->path,
			    "/program");
	assert_int_equal(cpa_module_of((uint64_t)(uintptr_t)row), 0);
	/* As a process would have it that met the program elsewhere. */
	memset(places, 0, sizeof(places));
	((struct cpa_module *)cpa_row(CPA_TABLE_MODULES, row[0]))->start -= 0x5000;
	for (int i = 0; i < 2; i++) { /* found in the session, then in the table */
		uint64_t address = wanted[0];

		assert_int_equal(cpa_module_place(&address), row[0]);
		assert_int_equal(address, wanted[0] - 0x5000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_replaced, clear),
		cmocka_unit_test_setup(test_variables, clear),
		cmocka_unit_test_setup(test_threads, clear),
		cmocka_unit_test_setup(test_rows, clear),
	};

	if (test_session(UINT64_C(1) << 24, SLOTS))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
