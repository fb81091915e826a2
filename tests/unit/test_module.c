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
#include "preload/code/module.c"
/* NOLINTNEXTLINE(bugprone-suspicious-include): the same. */
#include "preload/unwind/frame_table.c"

#include "tests/unit/shadow_session.h"

#define SLOTS	64u
#define LOOKS	1000000u
#define THREADS 4

uint32_t cpa_unloads;

static uint64_t keys[3 * PROBES];

void cpa_settings_executable(char *to, size_t size)
{
	strncpy(to, "/program", size);
}

/* Keys whose entries begin at the same one, before any library was unloaded. */
static void find_keys(void)
{
	unsigned n = 0;

	for (uint64_t key = 1; n < sizeof(keys) / sizeof(*keys); key += UINT64_C(1) << LOADS)
		if (place_at(key, 0) == places)
			keys[n++] = key;
}

/* @key of a process that unloaded libraries @times times since. */
static uint64_t later(uint64_t key, uint64_t times)
{
	return key + 2 * times;
}

/* What is written with @key. */
static uint32_t row_of(uint64_t key)
{
	return (uint32_t)cpa_hash(key);
}

static struct place *keep(uint64_t key)
{
	const struct dl_find_object o = { .dlfo_map_start = (void *)key,
					  .dlfo_map_end = (void *)(key + 1) };

	return keep_place(key, &o, row_of(key), key * 5);
}

/* Whether there is an entry with @key, with what belongs to it. */
static bool has(uint64_t key)
{
	uint32_t row;
	uint64_t by;

	if (!find_place(key, &row, &by))
		return false;
	assert_int_equal(row, row_of(key));
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

/* When all entries that a key may have are in use, it gets one from before a library was unloaded. */
static void test_replaced(void **state)
{
	(void)state;
	for (unsigned i = 0; i < PROBES; i++)
		assert_non_null(keep(keys[i]));
	assert_int_equal(count(0, PROBES), PROBES);
	assert_null(keep(keys[PROBES]));
	assert_int_equal(count(0, PROBES), PROBES);
	assert_non_null(keep(later(keys[PROBES], 1)));
	assert_true(has(later(keys[PROBES], 1)));
	assert_int_equal(count(0, PROBES), PROBES - 1);
}

/* An entry holds until a library is unloaded; then the same place gets it again, with its objects. */
static void test_reloaded(void **state)
{
	struct place *place = keep(keys[0]);

	(void)state;
	place->variables = 1;
	assert_non_null(keep(keys[1]));
	assert_false(has(later(keys[0], 1)));
	assert_ptr_equal(keep(later(keys[0], 1)), place);
	assert_true(has(later(keys[0], 1)));
	assert_int_equal(place->variables, 1);
	assert_false(has(keys[0]));
	assert_true(has(keys[1]));
}

/* Not that of one whose objects are to be destroyed, until they are. */
static void test_variables(void **state)
{
	uint64_t start, end;
	unsigned at = 0, n = 0;

	(void)state;
	for (unsigned i = 0; i < PROBES; i++)
		keep(keys[i])->variables = 1;
	assert_null(keep(later(keys[PROBES], 1)));
	assert_int_equal(count(0, PROBES), PROBES);
	while (cpa_module_next(&at, &start, &end)) {
		assert_int_equal(start, keys[n++]);
		assert_int_equal(end, start + 1);
		cpa_module_unloaded(&at);
	}
	assert_int_equal(n, PROBES);
	assert_non_null(keep(later(keys[PROBES], 1)));
}

/*
 * Half of the threads write two keys in turn, now and then after a library was unloaded. They replace each
 * other in the first entry.
 */
static void *look(void *first)
{
	unsigned number = *(unsigned *)first;

	for (unsigned i = 0; i < LOOKS; i++) {
		uint64_t key = later(keys[PROBES + i % 2], i / 8);

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
	((struct cpa_module *)cpa_row(CPA_TABLE_MODULES, row[0]))->bias -= 0x5000;
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
		cmocka_unit_test_setup(test_reloaded, clear),
		cmocka_unit_test_setup(test_variables, clear),
		cmocka_unit_test_setup(test_threads, clear),
		cmocka_unit_test_setup(test_rows, clear),
	};

	if (test_session(UINT64_C(1) << 24, SLOTS))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
