/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_seat.c - shadow/edge/seat.h: who is joined, and which release is followed
 *
 * tests/property checks the resulting paths.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/seat.h"
#include "shadow/path/path.h"

#include "tests/unit/shadow_threads.h"

#define MANY (2 * CPA_SEATS + 3)

static struct cpa_seats seats[3];

static int setup(void **state)
{
	memset(seats, 0, sizeof(seats));
	seats[0].next = &seats[1];
	seats[1].next = &seats[2];
	return threads_setup(state);
}

static uint32_t *seat(uint32_t i, enum cpa_meeting which)
{
	return &seats[i / CPA_SEATS].seat[i % CPA_SEATS][which];
}

static int teardown(void **state)
{
	for (uint32_t i = 0; i < MANY; i++)
		for (int k = 0; k < CPA_MEETINGS; k++)
			if (*seat(i, k))
				cpa_path_clear(&t[0], cpa_seat_path(*seat(i, k)));
	return threads_teardown(state);
}

/* All depend on the longest path, and follow the latest release; each seat has one path for ever. */
static void test_rounds(void **state)
{
	uint32_t paths = 0;

	(void)state;
	for (uint64_t r = 0; r < 1000; r++) {
		int longest = (int)(r % THREADS), latest = (int)((r + 2) % THREADS);
		enum cpa_meeting which = (enum cpa_meeting)(r % CPA_MEETINGS);

		for (int i = 0; i < THREADS; i++)
			cpa_seat_release(at(i, r * 100 + (i == latest ? 20 : 10),
					    r * 10 + (i == longest ? 5 : 1)),
					 seat((uint32_t)i, which), THREADS - 1);
		for (int i = 0; i < THREADS; i++) {
			struct cpa_wait w = { .arrived = r * 100 + 10, .now = r * 100 + 50 };

			cpa_seats_acquired(&t[i], seats, which, THREADS, (uint32_t)i, &w);
			assert_true(w.matched);
			assert_int_equal(t[i].row->path.len, r * 10 + 5);
			if (i != latest)
				assert_int_equal(from(&w), latest);
		}
		if (r == 10)
			paths = cpa_table(CPA_TABLE_PATHS)->used;
	}
	assert_int_equal(cpa_table(CPA_TABLE_PATHS)->used, paths);
}

/* The last seat of a long list is read, a thread's own is not, nor one behind the members. */
static void test_many(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 60 }, own = w, few = w;

	(void)state;
	cpa_seat_release(at(1, 30, 7), seat(MANY - 1, CPA_MEET_END), MANY - 1);
	cpa_seats_acquired(at(0, 10, 1), seats, CPA_MEET_END, MANY, 0, &w);
	assert_int_equal(from(&w), 1);
	assert_int_equal(t[0].row->path.len, 7);
	cpa_seats_acquired(at(2, 10, 1), seats, CPA_MEET_END, MANY, MANY - 1, &own);
	assert_int_equal(from(&own), UINT32_MAX);
	assert_int_equal(t[2].row->path.len, 1);
	cpa_seats_acquired(at(3, 10, 1), seats, CPA_MEET_END, MANY - 1, 0, &few);
	assert_int_equal(from(&few), UINT32_MAX);
	assert_true(own.matched && few.matched);
}

/* The time of a wait is counted once, however many threads there are. */
static void test_time_is_counted_once(void **state)
{
	(void)state;
	for (int members = 2; members <= THREADS; members++) {
		struct cpa_wait w = { .arrived = 100, .now = 160 };
		struct cpa_self *self;
		uint64_t sum = 0;

		for (int i = 1; i < members; i++)
			cpa_seat_release(at(i, 90 - (uint64_t)i, 1), seat((uint32_t)i, 0), 1);
		self = at(0, 100, 1);
		memset(self->row->path.observed, 0, sizeof(self->row->path.observed));
		cpa_seats_acquired(self, seats, CPA_MEET_EVEN, (uint32_t)members, 0, &w);
		for (int k = 0; k < CPA_TIME_KINDS; k++)
			sum += self->row->path.observed[k];
		assert_int_equal(sum, 60);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_time_is_counted_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
