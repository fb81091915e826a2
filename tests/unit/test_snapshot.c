/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_snapshot.c - reading a consistent state of a session while its writer continues
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define cpa_vector cpa_path_vector /* an enum of shadow/, and a struct of analysis/ */
#include "shadow/graph/activity.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/edge/release.h"
#include "tests/unit/shadow_session.h"
#undef cpa_vector
#include "analysis/input/snapshot.h"

#define PERIOD 128u
#define START  1024u

static char file[] = "test_snapshot.XXXXXX";
static struct cpa_self t[3];
static struct cpa_object object;
static struct cpa_dump dump;
static struct cpa_snapshot snapshot;
static struct cpa_reading reading;

static void begin(int i, uint64_t now)
{
	struct cpa_wait w = { .now = now };

	assert_int_equal(cpa_thread_begin(&t[i], 0, 1, NULL, &w), 0);
}

static int setup(void **state)
{
	char *error = NULL;

	(void)state;
	memset(t, 0, sizeof(t));
	memset(&object, 0, sizeof(object));
	strcpy(file, "test_snapshot.XXXXXX");
	close(mkstemp(file));
	unlink(file);
	if (cpa_session_create(file, UINT64_C(64) << 20, 64) || cpa_component_init())
		return -1;
	cpa_header()->period = PERIOD;
	cpa_header()->start_ticks = START;
	begin(0, START);
	begin(1, START);
	if (cpa_dump_open(&dump, file, &error))
		return -1;
	cpa_reading_init(&reading, dump.header.slots);
	cpa_snapshot_begin(&snapshot, &dump);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	cpa_snapshot_end(&snapshot);
	cpa_reading_fini(&reading);
	cpa_dump_close(&dump);
	cpa_session_destroy();
	return unlink(file);
}

static void work(int i, uint64_t now)
{
	struct cpa_span span = { .process = now - t[i].row->path.released };

	now = cpa_checkpoint(&t[i], now);
	cpa_activity_end(&t[i], &span, 0);
	t[i].row->path.released = now;
	t[i].row->path.owner = t[i].id;
}

/* Thread 0 works up to @now and releases; thread 1 continues from there. */
static void hand_over(uint64_t now)
{
	struct cpa_wait w = { .arrived = t[1].row->path.released };

	work(0, now);
	cpa_lock_release(&t[0], &object);
	w.now = cpa_checkpoint(&t[1], now + 1);
	cpa_lock_acquired(&t[1], &object, &w);
}

/* Result of all rows: longest path and total work. @between runs after the first row is read. */
struct sum {
	uint64_t len, work;
};

static struct sum read_all(void (*between)(uint64_t), uint64_t now)
{
	struct sum sum = { 0 };

	for (uint32_t row = 1; row <= snapshot.rows && !snapshot.failed; row++) {
		if (cpa_snapshot_read(&snapshot, row, &reading)) {
			sum.work += reading.row.process;
			sum.len = reading.path.len > sum.len ? reading.path.len : sum.len;
		}
		if (row == 1 && between)
			between(now);
	}
	return sum;
}

/*
 * A hand-over between the readings of two rows. Read one after another they have a path without the
 * work on it. The snapshot is the state at the boundary before the hand-over.
 */
static void test_handed_over_meanwhile(void **state)
{
	struct sum sum;

	(void)state;
	work(0, START + 50);
	cpa_snapshot_end(&snapshot);
	cpa_snapshot_begin(&snapshot, &dump);
	snapshot.raw = true; /* as they are */
	sum = read_all(hand_over, START + PERIOD + 40);
	assert_int_equal(sum.len, PERIOD + 40);
	assert_int_equal(sum.work, 50);

	cpa_snapshot_end(&snapshot);
	cpa_snapshot_begin(&snapshot, &dump);
	read_all(hand_over, START + 2 * PERIOD + 40);
	assert_true(snapshot.failed);
	assert_true(cpa_snapshot_again(&snapshot));
	assert_int_equal(snapshot.boundary, START / PERIOD + 2);
	sum = read_all(hand_over, START + 3 * PERIOD + 20); /* one period further: still there */
	assert_false(cpa_snapshot_again(&snapshot));
	assert_int_equal(sum.len, PERIOD + 40);
	assert_int_equal(sum.work, PERIOD + 40);
}

/* Two periods further: that state is gone, so a later one is read. */
static void test_overrun(void **state)
{
	struct sum sum;

	(void)state;
	read_all(hand_over, START + PERIOD + 40);
	assert_true(cpa_snapshot_again(&snapshot));
	work(1, START + 2 * PERIOD + 1);
	read_all(hand_over, START + 3 * PERIOD + 20);
	assert_true(snapshot.failed);
	assert_true(cpa_snapshot_again(&snapshot));
	assert_int_equal(snapshot.boundary, START / PERIOD + 3);
	sum = read_all(NULL, 0);
	assert_false(cpa_snapshot_again(&snapshot));
	assert_in_range(sum.len, PERIOD + 40, sum.work);
}

/* Nothing changes: the rows are the state, without a boundary. */
static void test_still(void **state)
{
	struct sum sum;

	(void)state;
	hand_over(START + PERIOD + 40);
	cpa_snapshot_end(&snapshot);
	cpa_snapshot_begin(&snapshot, &dump);
	sum = read_all(NULL, 0);
	assert_false(cpa_snapshot_again(&snapshot));
	assert_int_equal(snapshot.boundary, 0);
	assert_int_equal(sum.len, PERIOD + 40);
	assert_int_equal(sum.work, PERIOD + 40);
	assert_int_equal(snapshot.torn, 0);
}

/* A thread that was killed in the middle of an event, its row half written. */
static void test_torn(void **state)
{
	(void)state;
	work(0, START + 10);
	cpa_writing(t[0].row);
	cpa_snapshot_end(&snapshot);
	cpa_snapshot_begin(&snapshot, &dump);
	assert_int_equal(read_all(NULL, 0).len, 10);
	assert_false(cpa_snapshot_again(&snapshot));
	assert_int_equal(snapshot.torn, 1);
	cpa_written(t[0].row);
}

static void start_third(uint64_t now)
{
	begin(2, now);
	work(2, now + 5);
	cpa_lock_release(&t[2], &object);
}

/* Another thread may continue from one that began during the reading: the new one must be seen. */
static void test_new_thread(void **state)
{
	(void)state;
	read_all(start_third, START + PERIOD + 1);
	assert_true(cpa_snapshot_again(&snapshot));
	assert_int_equal(snapshot.rows, 3);
	assert_int_equal(read_all(NULL, 0).len, 5);
	assert_false(cpa_snapshot_again(&snapshot));
}

/* The file is not trusted: whatever it contains, reading ends. */
static void test_damaged(void **state)
{
	struct cpa_thread *row = t[0].row;

	(void)state;
	hand_over(START + PERIOD + 40);
	for (unsigned i = 0; i < 4; i++) {
		row->checkpoint[i % 2] = (uint64_t[]){ 1, UINT64_MAX, UINT64_C(1) << 40, 64 }[i];
		row->period = UINT64_MAX;
		cpa_snapshot_end(&snapshot);
		cpa_snapshot_begin(&snapshot, &dump);
		snapshot.passed = 0;
		snapshot.tries = 196;
		snapshot.failed = true;
		while (cpa_snapshot_again(&snapshot))
			read_all(NULL, 0);
		assert_true(snapshot.raw);
	}
	row->checkpoint[0] = row->checkpoint[1] = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_handed_over_meanwhile, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overrun, setup, teardown),
		cmocka_unit_test_setup_teardown(test_still, setup, teardown),
		cmocka_unit_test_setup_teardown(test_torn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_damaged, setup, teardown),
	};
	const char *folder = getenv("TMPDIR");

	if (chdir(folder && *folder ? folder : "/tmp"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
