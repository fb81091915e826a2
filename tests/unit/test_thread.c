/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_thread.c - shadow/edge/thread.h: rows of threads, their ends and their reuse
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "shadow/edge/part.h"
#include "shadow/graph/activity.h"
#include "shadow/graph/summary.h"
#include "shadow/journal/journal.h"
#include "shadow/store/epoch.h"

#include "tests/unit/shadow_session.h"

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(64) << 20, 64);
}

static int setup_small(void **state)
{
	(void)state;
	return test_session(UINT64_C(2) << 20, 256);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

static struct cpa_thread *row_at(uint32_t number)
{
	return cpa_row(CPA_TABLE_THREADS, number);
}

static void begin(struct cpa_self *self, uint64_t now)
{
	struct cpa_wait w = { .now = now };

	memset(self, 0, sizeof(*self));
	assert_int_equal(cpa_thread_begin(self, 0, 1, NULL, &w), 0);
}

/* The thread works for @ticks, all in function @slot. */
static void work(struct cpa_self *self, uint32_t slot, uint64_t ticks)
{
	const struct cpa_sampled sample = { slot, 1 };
	struct cpa_span span = { .process = ticks, .sampled = 1, .sample = &sample };

	cpa_activity_end(self, &span, 0);
}

static void test_begin(void **state)
{
	struct cpa_self a, b;

	(void)state;
	begin(&a, 1000);
	begin(&b, 1001);
	assert_int_not_equal(a.number, b.number);
	assert_int_not_equal(a.id, b.id);
	assert_int_equal(a.row->state, CPA_THREAD_RUNNING);
	assert_int_equal(a.row->key, a.id);
	assert_int_equal(a.row->start_ticks, 1000);
	assert_int_equal(a.row->path.owner, a.id);
	assert_int_equal(a.row->path.released, 1000);
	assert_int_equal(a.row->totals_slots, 64);
	assert_int_equal(cpa_header()->started, 2);
}

/* A thread starts with the path of its creator; the time to its start is hand-off. */
static void test_begin_after_create(void **state)
{
	struct cpa_self parent, child;
	struct cpa_wait w = { .now = 160 };
	struct cpa_path handle = { 0 };

	(void)state;
	begin(&parent, 100);
	work(&parent, 3, 50);
	parent.row->path.released = 150;
	cpa_path_copy(&parent, &handle, &parent.row->path);
	memset(&child, 0, sizeof(child));
	assert_int_equal(cpa_thread_begin(&child, 0, 2, &handle, &w), 0);
	assert_int_equal(child.row->path.len, 50);
	assert_int_equal(cpa_path_value(&child.row->path, CPA_H, 3), 50);
	assert_int_equal(child.row->path.observed[CPA_TIME_PROCESS], 50);
	assert_int_equal(child.row->path.observed[CPA_TIME_HANDOFF], 10);
	assert_true(w.followed && w.matched);
	/* The path is the child's own from now on. */
	assert_int_equal(child.row->path.owner, child.id);
	assert_int_equal(child.row->path.released, 160);
}

/* Whether detached before or after its exit, a row is free when both have happened. */
static void test_ends(void **state)
{
	struct cpa_self t;

	(void)state;
	begin(&t, 1);
	cpa_thread_end(&t, 9);
	assert_int_equal(t.row->state, CPA_THREAD_EXITED);
	assert_int_equal(t.row->end_ticks, 9);
	cpa_thread_joined(t.number);
	assert_int_equal(t.row->state, CPA_THREAD_DONE);

	begin(&t, 1);
	cpa_thread_detached(t.number);
	assert_int_equal(t.row->state, CPA_THREAD_DETACHED);
	cpa_thread_end(&t, 9);
	assert_int_equal(t.row->state, CPA_THREAD_DONE);

	begin(&t, 1);
	cpa_thread_end(&t, 9);
	cpa_thread_detached(t.number);
	assert_int_equal(t.row->state, CPA_THREAD_DONE);
	assert_int_equal((uint32_t)cpa_header()->done, t.number);
}

/*
 * Up to CPA_THREADS_KEPT threads have rows of their own. Later ones reuse those of DONE threads:
 * sums continue, the longest of the earlier paths is kept, the path starts empty.
 */
static void test_reuse(void **state)
{
	enum { THREADS = 3 * CPA_THREADS_KEPT };
	uint64_t process = 0, longest = 0, totals = 0, earlier = 0;
	struct cpa_self t;

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		begin(&t, 100 + i);
		assert_int_equal(t.id, i + 1);
		assert_int_equal(t.row->path.len, 0);
		assert_int_equal(cpa_path_value(&t.row->path, CPA_S, 5), 0);
		assert_int_equal(t.row->held_count, 0);
		work(&t, 5, i);
		cpa_hold(&t, 7, 7);
		cpa_thread_end(&t, 100 + 2 * i);
		cpa_thread_joined(t.number);
	}
	assert_int_equal(cpa_table(CPA_TABLE_THREADS)->used, CPA_THREADS_KEPT);
	for (uint32_t i = 1; i <= CPA_THREADS_KEPT; i++) {
		const struct cpa_thread *row = row_at(i);
		uint64_t len = row->retired.len > row->path.len ? row->retired.len : row->path.len;

		process += row->process;
		earlier += row->earlier;
		totals += ((const uint64_t *)cpa_at(row->totals))[5];
		longest = len > longest ? len : longest;
	}
	assert_int_equal(process, (uint64_t)THREADS * (THREADS - 1) / 2);
	assert_int_equal(totals, process);
	assert_int_equal(earlier, THREADS - CPA_THREADS_KEPT);
	assert_int_equal(longest, THREADS - 1);
	test_rows_clear(&t);
	assert_int_equal(cpa_heap_live(), 0);
}

static uint32_t routine_at(uint64_t address)
{
	const struct cpa_component_name name = { .kind = CPA_THREAD, .address = address };

	return cpa_component_intern(&name);
}

/* A thread of @component begins and ends in row @number. */
static void live(uint32_t number, uint32_t component)
{
	struct cpa_self self = { .number = number };
	struct cpa_wait w = { .now = 5 };

	assert_int_equal(cpa_thread_begin(&self, component, 1, NULL, &w), 0);
	cpa_thread_end(&self, 6);
	cpa_thread_joined(number);
}

/* Of rows that are used again threads have those of their kind; where there is none, and no more space, any. */
static void test_reuse_by_kind(void **state)
{
	uint32_t one, other, third, row, rows;

	(void)state;
	one = routine_at(0x1000);
	other = routine_at(0x2000);
	third = routine_at(0x3000);
	for (uint32_t i = 1; i <= CPA_THREADS_KEPT; i++)
		assert_int_equal(cpa_thread_claim(0, one), i);
	live(7, one);
	live(8, other);
	row = cpa_thread_claim(0, one);
	assert_int_equal(row, 7);
	live(row, one);
	assert_int_equal(row_at(7)->earlier, 1);
	assert_int_equal(row_at(7)->was, one);
	assert_int_equal(row_at(7)->was_routine, one);
	/* More rows than are kept, up to a limit. */
	for (rows = CPA_THREADS_KEPT; rows < CPA_THREADS_KEPT * 3 / 2; rows++)
		assert_int_equal(cpa_thread_claim(0, third), rows + 1);
	assert_int_equal(cpa_thread_claim(0, other), 8);
	live(8, other);
	row = cpa_thread_claim(0, third);
	assert_int_equal(row, 8);
	live(row, third);
	live(row, third);
	assert_int_equal(row_at(8)->earlier, 3);
	assert_int_equal(row_at(8)->was, UINT32_MAX);
	assert_int_equal(row_at(8)->was_routine, UINT32_MAX);
}

/* Begin the next thread in the row of @self, whose last one has ended or was killed. */
static void begin_again(struct cpa_self *self, uint64_t now)
{
	uint32_t number = self->number;
	struct cpa_wait w = { .now = now };

	memset(self, 0, sizeof(*self));
	self->number = number;
	assert_int_equal(cpa_thread_begin(self, 0, 1, NULL, &w), 0);
}

/* The thread works for 10 ticks, up to clock @now. */
static void work_until(struct cpa_self *self, uint64_t now)
{
	work(self, 5, 10);
	cpa_journal_event(self, now);
	self->row->path.released = now;
}

/*
 * A process finds out late when it began. The thread before it in the row has passed a boundary since: the observed
 * path of the new one has no gap and nothing twice.
 */
static void test_begun_before(void **state)
{
	uint64_t period = cpa_header()->period, boundary = period * 7;
	struct cpa_self creator, process;
	struct cpa_wait w = { .now = boundary - 30 };

	(void)state;
	begin(&creator, boundary - 50);
	begin(&process, boundary - 50);
	process.row->path.released = cpa_checkpoint(&process, boundary + 10);
	cpa_thread_end(&process, boundary + 10);
	assert_int_equal(process.row->period, 7);
	assert_int_equal(cpa_thread_begin(&process, 0, 1, &creator.row->path, &w), 0);
	assert_int_equal(w.now, boundary - 30);
	assert_int_equal(process.row->path.released, boundary - 30);
	assert_int_equal(process.row->path.observed[CPA_TIME_HANDOFF],
			 creator.row->path.observed[CPA_TIME_HANDOFF] + 20);
	assert_int_equal(cpa_checkpoint(&process, boundary + 20), boundary + 20);
	assert_int_equal(process.row->period, 7);
}

/*
 * Who opens a part copies the paths of a thread that sleeps and of those before it in its row. The event of the
 * sleeping one is over.
 */
static void test_copied(void **state)
{
	uint64_t start = cpa_header()->start_ticks, epoch;
	struct cpa_self opens, sleeps;

	(void)state;
	assert_true(cpa_journal_init(UINT64_C(64) * CPA_JOURNAL_BLOCK));
	cpa_epoch_begin(cpa_header(), true);
	begin(&opens, start + 1);
	begin(&sleeps, start + 1);
	work_until(&sleeps, start + 20);
	cpa_thread_end(&sleeps, start + 20);
	begin_again(&sleeps, start + 30);
	work_until(&sleeps, start + 40);
	assert_true(sleeps.row->retired.event > CPA_JOURNAL_PENDING);
	assert_true(cpa_epoch_change(cpa_header(), false, start + 50));
	assert_true(cpa_epoch_change(cpa_header(), true, start + 60));
	epoch = cpa_epoch(cpa_header());
	assert_true(cpa_part_open(&opens, epoch));
	assert_int_equal(sleeps.row->copied, sleeps.row->path.event);
}

/* The thread that opens a part has lost its processor: the next one does its work, and does not wait for it. */
static void test_helped(void **state)
{
	uint64_t start = cpa_header()->start_ticks, epoch;
	struct cpa_self helps, sleeps;

	(void)state;
	cpa_epoch_begin(cpa_header(), true);
	begin(&helps, start + 1);
	begin(&sleeps, start + 1);
	work_until(&sleeps, start + 40);
	assert_true(cpa_epoch_change(cpa_header(), false, start + 50));
	assert_true(cpa_epoch_change(cpa_header(), true, start + 60));
	epoch = cpa_epoch(cpa_header());
	cpa_header()->part = 2 * epoch;
	assert_true(cpa_part_open(&helps, epoch));
	cpa_part_begin(&helps, epoch);
	assert_int_equal(helps.row->path.len, sleeps.row->path.len);
	/* Who comes late finds the part open, or over. */
	assert_true(cpa_part_open(&sleeps, epoch));
	assert_true(cpa_epoch_change(cpa_header(), false, start + 70));
	assert_true(cpa_epoch_change(cpa_header(), true, start + 80));
	assert_true(cpa_part_open(&helps, epoch + 2));
	assert_false(cpa_part_open(&sleeps, epoch));
}

/* A thread was killed with its process before its last event had a record: the journal says that it lacks it. */
static void test_killed(void **state)
{
	struct cpa_journal_pool *pool;
	struct cpa_self t;

	(void)state;
	assert_true(cpa_journal_init(UINT64_C(64) * CPA_JOURNAL_BLOCK));
	pool = cpa_at(cpa_header()->journal);
	begin(&t, 100);
	work_until(&t, 120);
	work(&t, 5, 10);
	assert_int_equal(t.row->path.event, CPA_JOURNAL_PENDING);
	begin_again(&t, 200);
	assert_int_equal(t.row->retired.len, 20);
	assert_int_not_equal(t.row->retired.event, CPA_JOURNAL_PENDING);
	assert_int_equal(pool->refused, 1);
	work_until(&t, 220);
	begin_again(&t, 300);
	assert_true(t.row->retired.event > CPA_JOURNAL_PENDING);
	assert_int_equal(pool->refused, 1);
	cpa_writing(
		t.row); /* it was killed earlier in an event: its row looks as if it still changed */
	begin_again(&t, 400);
	assert_int_equal(t.row->writing % 2, 0);
	assert_int_equal(pool->refused, 2);
}

static const struct cpa_journal_block *last_block(void)
{
	const struct cpa_journal_pool *pool = cpa_at(cpa_header()->journal);

	return cpa_at(pool->block[pool->next - 1]);
}

/*
 * A handler jumped out of our code, and the thread goes on with another event: the journal says that it lacks one,
 * if it does, and what comes then does not depend on a record that is not there.
 */
static void test_left(void **state)
{
	struct cpa_journal_pool *pool;
	struct cpa_self t, other;
	uint64_t last;

	(void)state;
	assert_true(cpa_journal_init(UINT64_C(64) * CPA_JOURNAL_BLOCK));
	pool = cpa_at(cpa_header()->journal);
	cpa_epoch_begin(cpa_header(), true);
	begin(&other, 100);
	begin(&t, 100);
	work_until(&t, 120);
	last = t.row->path.event;
	cpa_thread_left(&t); /* between two events */
	assert_int_equal(pool->refused, 0);
	work(&t, 5, 10); /* before the record */
	assert_int_equal(t.row->path.event, CPA_JOURNAL_PENDING);
	cpa_thread_left(&t);
	assert_int_equal(t.row->path.event, last);
	assert_int_equal(pool->refused, 1);
	assert_int_equal(pool->next, 2);
	work_until(&t, 150);
	assert_int_equal(t.row->path.event, last + 1);
	assert_int_equal(pool->next, 3);
	assert_int_equal(last_block()->thread, t.id);
	assert_int_equal(last_block()->number, (uint32_t)last);
	assert_int_equal(last_block()->released, 1);
	cpa_writing(t.row); /* in a join, which has the other path's event for a while */
	cpa_path_copy(&t, &t.row->path, &other.row->path);
	cpa_thread_left(&t);
	assert_int_equal(t.row->writing % 2, 0);
	assert_int_equal(t.row->path.event, last + 1);
	assert_int_equal(t.row->path.owner, t.id);
	assert_int_equal(pool->refused, 2);
	work_until(&t, 180);
	work_until(&t, 190);
	assert_int_equal(t.row->path.event, last + 3);
	assert_int_equal(pool->next, 4);
	assert_int_equal(pool->refused, 2);
	cpa_thread_left(
		&t); /* perhaps in a record that is no event: a new block says what follows */
	assert_int_equal(pool->refused, 2);
	work_until(&t, 200);
	assert_int_equal(pool->next, 5);
	assert_int_equal(last_block()->number, (uint32_t)last + 3);
}

/* The thread follows the edge from node 1 to node 2 @times, as a dependency. */
static struct cpa_edge_cache *follow(struct cpa_self *self, uint32_t times)
{
	struct cpa_edge_cache *cache = cpa_summary_edge(self, 1, 2, true);

	for (uint32_t i = 0; cache && i < times; i++)
		cpa_summary_count(cache);
	return cache;
}

static uint64_t edge_count(void)
{
	return ((const struct cpa_edge *)cpa_row(CPA_TABLE_EDGES, 1))->count;
}

/* Edge sums are in the session while the thread runs; then the next thread uses their memory. */
static void test_edges(void **state)
{
	static struct cpa_self t, killed;
	uint64_t place;

	(void)state;
	begin(&t, 1);
	place = t.row->edges;
	assert_non_null(follow(&t, 3));
	assert_ptr_equal(t.edges, cpa_at(place));
	assert_int_equal(edge_count(), 0);
	cpa_thread_end(&t, 2);
	assert_int_equal(t.row->edges, 0);
	assert_int_equal(edge_count(), 3);
	begin(&killed, 3);
	assert_int_equal(killed.row->edges, place);
	follow(&killed, 4);
	/* A thread was killed with its process: the next user of its row adds up its edges. */
	cpa_header()->process_ids = CPA_TREE_KEPT;
	while (cpa_table(CPA_TABLE_THREADS)->used < CPA_TREE_KEPT)
		cpa_thread_claim(0, 0);
	cpa_thread_joined(killed.number);
	begin(&t, 4);
	assert_int_equal(t.number, killed.number);
	assert_int_equal(t.row->edges, place);
	cpa_thread_end(&t, 5);
	assert_int_equal(edge_count(), 7);
	/* Without memory for them they are refused. */
	begin(&t, 6);
	t.edges = NULL;
	assert_null(follow(&t, 1));
	assert_int_equal(cpa_header()->diag[CPA_DIAG_EDGES_REFUSED], 1);
	cpa_thread_end(&t, 7);
	assert_int_equal(edge_count(), 7);
}

/* With all rows in use there are more than CPA_THREADS_KEPT; a running thread keeps its row. */
static void test_many_running(void **state)
{
	enum { THREADS = CPA_THREADS_KEPT + 300 };
	static struct cpa_self t[THREADS];

	(void)state;
	for (uint32_t i = 0; i < THREADS; i++) {
		begin(&t[i], 1);
		assert_int_equal(t[i].number, i + 1);
	}
	cpa_thread_end(&t[17], 2);
	cpa_thread_joined(t[17].number);
	begin(&t[17], 3);
	assert_int_equal(t[17].number, 18);
	assert_int_equal(t[17].row->earlier, 1);
}

/* No space for a row: the thread is refused and counted, later ones as well. */
static void test_no_space(void **state)
{
	static struct cpa_self t;
	struct cpa_wait w = { .now = 1 };
	uint32_t n = 0;

	(void)state;
	while (memset(&t, 0, sizeof(t)), cpa_thread_begin(&t, 0, 1, NULL, &w) == 0) {
		work(&t, 5, 3);
		n++;
	}
	assert_true(n > 10);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_THREADS_REFUSED], 1);
	assert_int_equal(cpa_thread_begin(&t, 0, 1, NULL, &w), -12);
	/* A thread without memory for totals works nevertheless. */
	cpa_thread_joined(1);
}

/* One class held by two locks counts once, and until both are unlocked. */
static void test_hold(void **state)
{
	struct cpa_self t;

	(void)state;
	begin(&t, 1);
	cpa_hold(&t, 9, 9);
	cpa_hold(&t, 9, 9);
	work(&t, 5, 10);
	cpa_unhold(&t, 9);
	work(&t, 5, 10);
	cpa_unhold(&t, 9);
	work(&t, 5, 10);
	cpa_unhold(&t, 9); /* by a thread that does not hold it: nothing happens */
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 9), 20);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 5), 30);
	assert_int_equal(t.row->path.len, 30);
	assert_int_equal(t.row->held_count, 0);
}

static void test_hold_overflow(void **state)
{
	struct cpa_self t;

	(void)state;
	begin(&t, 1);
	for (uint32_t slot = 2; slot < 2 + CPA_HELD_MAX + 3; slot++)
		cpa_hold(&t, slot, slot);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_HELD_OVERFLOW], 3);
	for (uint32_t slot = 2; slot < 2 + CPA_HELD_MAX + 3; slot++)
		cpa_unhold(&t, slot);
	assert_int_equal(t.row->held_count, 0);
}

/*
 * Process time without samples goes to functions sampled earlier between the same events; without
 * those, to the thread's latest function; failing that, to the slot for unsampled time. Exact to
 * the tick.
 */
static void test_unsampled_time(void **state)
{
	struct cpa_self t;
	static const struct cpa_sampled sample[] = { { 20, 1 }, { 21, 2 } };
	struct cpa_span span = { .process = 100, .sample = sample };
	uint32_t a, b;

	(void)state;
	begin(&t, 1);
	a = cpa_summary_node(CPA_EV_LOCK, 1, 0);
	b = cpa_summary_node(CPA_EV_UNLOCK, 1, 0);
	cpa_activity_end(&t, &span, a);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, CPA_SLOT_UNSAMPLED), 100);
	span.sampled = 2;
	cpa_activity_end(&t, &span, b);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 20), 33);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 21), 67);
	span.sampled = 0;
	cpa_activity_end(&t, &span, a);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 21), 167);
	cpa_activity_end(&t, &span, b);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 20), 66);
	assert_int_equal(cpa_path_value(&t.row->path, CPA_H, 21), 234);
	assert_int_equal(t.row->path.len, 400);
	assert_int_equal(t.row->process, 400);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_begin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begin_after_create, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ends, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reuse, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reuse_by_kind, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begun_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copied, setup, teardown),
		cmocka_unit_test_setup_teardown(test_killed, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_helped, setup, teardown),
		cmocka_unit_test_setup_teardown(test_edges, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_running, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_space, setup_small, teardown),
		cmocka_unit_test_setup_teardown(test_hold, setup, teardown),
		cmocka_unit_test_setup_teardown(test_hold_overflow, setup, teardown),
		cmocka_unit_test_setup_teardown(test_unsampled_time, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
