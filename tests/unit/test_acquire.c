/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_acquire.c - shadow/edge/acquire.h: tokens, grants and rounds where order matters
 *
 * tests/property checks the resulting paths. These tests check with which release an acquire is
 * matched in unusual orders, and that tokens are given back. At the borders of parts: test_acquire_parts.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "shadow/edge/fifo.h"
#include "shadow/edge/merge.h"
#include "shadow/edge/release.h"

#include "tests/unit/shadow_threads.h"

static struct cpa_object *object, *mutex;

static int setup(void **state)
{
	int ret = threads_setup(state);

	if (ret)
		return ret;
	object = cpa_row(CPA_TABLE_OBJECTS, cpa_table_append(CPA_TABLE_OBJECTS));
	mutex = cpa_row(CPA_TABLE_OBJECTS, cpa_table_append(CPA_TABLE_OBJECTS));
	return 0;
}

static int teardown(void **state)
{
	cpa_object_clear(&t[0], object);
	cpa_object_clear(&t[0], mutex);
	return threads_teardown(state);
}

/* The last thread joins the others, round by round; one that releases nothing is no part of it. */
static void test_join_rounds(void **state)
{
	(void)state;
	for (uint64_t r = 0; r < 1000; r++) {
		struct cpa_wait w = { .arrived = r * 100, .now = r * 100 + 50 };
		int longest = (int)(r % (THREADS - 1)), missing = (int)((r + 1) % (THREADS - 1));

		for (int i = 0; i < THREADS - 1; i++)
			if (i != missing)
				cpa_join_release(at(i, r * 100 + (i == longest ? 20 : 10),
						    r * 10 + (i == longest ? 5 : 1)),
						 object, r);
		cpa_join_acquired(at(THREADS - 1, r * 100, r * 10), object, r, &w);
		assert_true(w.matched);
		assert_int_equal(from(&w), longest);
		assert_int_equal(t[THREADS - 1].row->path.len, r * 10 + 5);
	}
	assert_true(cpa_table(CPA_TABLE_TOKENS)->used < 20);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_TOKENS_REFUSED], 0);
}

/* Nobody released in this round: the last round's paths are not read again. */
static void test_join_of_nobody(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 30 }, next = { .arrived = 40, .now = 60 };

	(void)state;
	cpa_join_release(at(0, 20, 5), object, 7);
	cpa_join_acquired(at(1, 10, 1), object, 7, &w);
	assert_int_equal(from(&w), 0);
	cpa_join_acquired(at(2, 40, 1), object, 8, &next);
	assert_true(next.matched);
	assert_int_equal(from(&next), UINT32_MAX);
	assert_int_equal(t[2].row->path.len, 1);
}

/*
 * Signals s1, then s2: the first waiter to return gets s1, although it was not the first to sleep.
 */
static void test_signals_in_order(void **state)
{
	struct cpa_wait a = { .arrived = 10, .now = 40 }, b = { .arrived = 11, .now = 50 };

	(void)state;
	cpa_wait_begin(object);
	cpa_wait_begin(object);
	assert_int_equal(cpa_wake(at(2, 20, 5), object, 1), 1);
	assert_int_equal(cpa_wake(at(3, 30, 6), object, 1), 1);
	/* No waiter is left to wake. */
	assert_int_equal(cpa_wake(at(4, 35, 7), object, 1), 0);
	cpa_wait_end(&t[1], object, true, NULL, &b);
	cpa_wait_end(&t[0], object, true, NULL, &a);
	assert_int_equal(from(&b), 2);
	assert_int_equal(from(&a), 3);
	assert_true(a.matched && b.matched);
	assert_int_equal(t[1].row->path.len, 5);
	assert_int_equal(t[0].row->path.len, 6);
	assert_int_equal(object->waiting, 0);
}

/* A signal without waiters is lost, as POSIX requires. */
static void test_signal_without_waiters(void **state)
{
	struct cpa_wait w = { .arrived = 30, .now = 30 };

	(void)state;
	assert_int_equal(cpa_wake(at(2, 20, 5), object, UINT32_MAX), 0);
	cpa_wait_begin(object);
	cpa_wait_end(&t[0], object, true, NULL, &w);
	assert_false(w.matched);
	assert_int_equal(from(&w), UINT32_MAX);
	assert_int_equal(object->waiting, 0);
}

/* A waiter that times out leaves the token to the one that was woken. */
static void test_timeout_leaves_the_grant(void **state)
{
	struct cpa_wait a = { .arrived = 10, .now = 20 }, b = { .arrived = 10, .now = 30 };

	(void)state;
	cpa_wait_begin(object);
	cpa_wait_begin(object);
	assert_int_equal(cpa_wake(at(2, 15, 5), object, 1), 1);
	cpa_wait_end(&t[0], object, false, NULL, &a);
	assert_false(a.matched);
	cpa_wait_end(&t[1], object, true, NULL, &b);
	assert_int_equal(from(&b), 2);
	assert_int_equal(object->waiting, 0);
}

/* The last waiter times out while a signal is granted to it: the token goes with it. */
static void test_timeout_takes_the_last_grant(void **state)
{
	struct cpa_wait a = { .arrived = 10, .now = 20 }, b = { .arrived = 30, .now = 40 };

	(void)state;
	cpa_wait_begin(object);
	assert_int_equal(cpa_wake(at(2, 15, 5), object, 1), 1);
	cpa_wait_end(&t[0], object, false, NULL, &a);
	assert_false(a.matched);
	assert_int_equal(t[0].row->path.len, 0);
	cpa_wait_begin(object);
	assert_int_equal(cpa_wake(at(3, 35, 6), object, 1), 1);
	cpa_wait_end(&t[1], object, true, NULL, &b);
	assert_int_equal(from(&b), 3);
}

static void test_broadcast(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++)
		cpa_wait_begin(object);
	assert_int_equal(cpa_wake(at(5, 20, 9), object, UINT32_MAX), 4);
	for (int i = 0; i < 4; i++) {
		struct cpa_wait w = { .arrived = 10, .now = 30 };

		cpa_wait_end(&t[i], object, true, NULL, &w);
		assert_int_equal(from(&w), 5);
		assert_int_equal(t[i].row->path.len, 9);
		assert_int_equal(t[i].row->path.observed[CPA_TIME_HANDOFF], 10);
	}
	assert_int_equal(object->waiting, 0);
}

/* The woken thread waited last for the mutex, which was released after the signal. */
static void test_wait_follows_the_mutex(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 40 };

	(void)state;
	cpa_wait_begin(object);
	cpa_wake(at(2, 20, 5), object, 1);
	cpa_lock_release(at(3, 30, 8), mutex);
	cpa_wait_end(&t[0], object, true, mutex, &w);
	assert_int_equal(from(&w), 3);
	assert_int_equal(t[0].row->path.len, 8);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_HANDOFF], 10);
}

/* After the release the thread was without a processor for a part of the time, or all of it. */
static void test_run_queue_is_no_handoff(void **state)
{
	static const uint64_t ready[] = { 0, 4, 20, 100 }, counted[] = { 0, 4, 20, 20 };

	(void)state;
	for (int i = 0; i < 4; i++)
		cpa_wait_begin(object);
	cpa_wake(at(5, 20, 9), object, UINT32_MAX);
	for (int i = 0; i < 4; i++) {
		struct cpa_wait w = { .arrived = 10, .now = 40, .runqueue = ready[i] };
		const uint64_t *observed = t[i].row->path.observed;

		cpa_wait_end(&t[i], object, true, NULL, &w);
		assert_int_equal(observed[CPA_TIME_RUNQUEUE], counted[i]);
		assert_int_equal(observed[CPA_TIME_HANDOFF], 20 - counted[i]);
	}
}

/* A wake of three that found two sleepers takes one grant back. */
static void test_wake_undo(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		cpa_wait_begin(object);
	assert_int_equal(cpa_wake(at(5, 20, 9), object, 3), 3);
	cpa_wake_undo(&t[5], object, 1);
	assert_int_equal(object->waiting, UINT64_C(2) << 32 | 1);
	for (int i = 0; i < 3; i++) {
		struct cpa_wait w = { .arrived = 10, .now = 30 };

		cpa_wait_end(&t[i], object, i != 1, NULL, &w);
		assert_int_equal(w.matched, i != 1);
	}
	assert_int_equal(object->waiting, 0);
	cpa_wake_undo(&t[5], object, 5);
	assert_int_equal(object->waiting, 0);
}

/* Initial tokens have no release; after them posts come in order. */
static void test_semaphore(void **state)
{
	(void)state;
	object->waiting = 2;
	for (int i = 2; i < 5; i++)
		cpa_sem_release(at(i, (uint64_t)i * 10, (uint64_t)i), object);
	for (uint32_t i = 0; i < 5; i++) {
		struct cpa_wait w = { .arrived = 5, .now = 100 };

		t[0].row->path.len = 0;
		cpa_sem_acquired(&t[0], object, &w);
		assert_true(w.matched);
		assert_int_equal(from(&w), i < 2 ? UINT32_MAX : i);
		assert_int_equal(t[0].row->path.len, i < 2 ? 0 : i);
	}
}

/* Thousands of posts ahead, and none left over. */
static void test_fifo_is_long(void **state)
{
	(void)state;
	for (int round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= 5000; i++) {
			struct cpa_self *self = at((int)(i % THREADS), i, i);

			assert_true(
				cpa_fifo_put(self, object, cpa_token_new(self, &self->row->path)));
		}
		for (uint32_t i = 1; i <= 5000; i++) {
			uint32_t token = cpa_fifo_take(&t[i * 7 % THREADS], object);

			assert_true(token != 0);
			assert_int_equal(cpa_token(token)->path.len, i);
			cpa_token_free(&t[i * 7 % THREADS], token);
		}
		assert_int_equal(cpa_fifo_take(&t[0], object), 0);
	}
	/* A token and a node each, plus those that each thread keeps. */
	assert_true(cpa_table(CPA_TABLE_TOKENS)->used <= 2 * 5000 + THREADS * 40);
}

/* A child of fork() may find a queue that other threads were changing during the copy. */
static void test_fifo_that_is_a_ring(void **state)
{
	struct cpa_self *self = at(0, 1, 1);
	uint64_t *last, *first;
	uint32_t used;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_true(cpa_fifo_put(self, object, cpa_token_new(self, &self->row->path)));
	first = &cpa_token((uint32_t)object->head)->next;
	last = &cpa_token((uint32_t)object->tail)->next;
	*last |= (uint32_t)*first;
	used = cpa_table(CPA_TABLE_TOKENS)->used;
	/* Nothing is put, and nothing leaks. */
	for (int i = 0; i < 50; i++)
		assert_false(cpa_fifo_put(self, object, cpa_token_new(self, &self->row->path)));
	assert_true(cpa_table(CPA_TABLE_TOKENS)->used <= used + 2);
	cpa_fifo_clear(self, object);
}

/* In each round all depend on the latest arrival; tokens do not accumulate. */
static void test_barrier_rounds(void **state)
{
	(void)state;
	object->waiting = THREADS;
	for (uint64_t r = 0; r < 1000; r++) {
		uint64_t round[THREADS];

		for (int i = 0; i < THREADS; i++)
			round[i] = cpa_barrier_arrive(at(i, r * 100 + (uint64_t)i,
							 r * 10 + (uint64_t)i),
						      object, THREADS);
		for (int i = THREADS; i-- > 0;) {
			struct cpa_wait w = { .arrived = r * 100, .now = r * 100 + 50 };

			assert_int_equal(round[i], r);
			cpa_barrier_left(&t[i], object, r, &w);
			assert_true(w.matched);
			assert_int_equal(from(&w), THREADS - 1);
			assert_int_equal(t[i].row->path.len, r * 10 + THREADS - 1);
		}
	}
	assert_true(cpa_table(CPA_TABLE_TOKENS)->used < 20);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_TOKENS_REFUSED], 0);
}

/*
 * A thread that still waits in the barrier runs a task. It is of this round, which others wait for, until
 * the first thread has left; behind that it is of the next one.
 */
static void test_barrier_with_tasks(void **state)
{
	struct cpa_wait w[3] = { { .arrived = 10, .now = 30 },
				 { .arrived = 40, .now = 50 },
				 { .arrived = 10, .now = 30 } };

	(void)state;
	object->waiting = 3;
	for (int i = 0; i < 3; i++)
		cpa_barrier_arrive_at(at(i, 10, 5), object, 0, 3);
	cpa_barrier_arrive_again(at(1, 20, 9), object, 0, 3);
	cpa_barrier_left(&t[0], object, 0, &w[0]);
	assert_int_equal(t[0].row->path.len, 9);
	cpa_barrier_arrive_again(at(1, 40, 29), object, 0, 3);
	cpa_barrier_left(&t[2], object, 0, &w[2]);
	assert_int_equal(t[2].row->path.len, 9);
	cpa_barrier_left(&t[1], object, 0, &w[1]);
	assert_int_equal(t[1].row->path.len, 29);
	assert_int_equal(object->round[0], 0);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_TOKENS_REFUSED], 0);
}

/*
 * The first thread to leave initializes the barrier again while another has yet to leave. That one
 * finds nothing or its own round, never a freed token, and it does not end the new round.
 */
static void test_barrier_cleared_early(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 30 }, late = w;
	uint32_t token, other[64];
	unsigned n = 0;

	(void)state;
	object->waiting = 2;
	cpa_barrier_arrive(at(0, 10, 5), object, 2);
	cpa_barrier_arrive(at(1, 20, 6), object, 2);
	token = (uint32_t)object->round[0];
	cpa_barrier_left(&t[0], object, 0, &w);
	assert_int_equal(from(&w), 1);
	cpa_object_clear(&t[0], object);
	object->waiting = 2;
	/* The token is not among those that other threads may write to now. */
	while (n < 64 && (other[n] = cpa_token_new(&t[0], NULL)))
		assert_int_not_equal(other[n++], token);
	while (n)
		cpa_token_free(&t[0], other[--n]);
	cpa_barrier_left(&t[1], object, 0, &late);
	assert_int_equal(from(&late), UINT32_MAX);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_UNMATCHED_WAKES], 1);
	assert_int_equal(cpa_header()->diag[CPA_DIAG_TOKENS_REFUSED], 1);
	for (int i = 0; i < 2; i++)
		cpa_barrier_arrive(at(2 + i, 50, 7), object, 2);
	for (int i = 0; i < 2; i++) {
		w = (struct cpa_wait){ .arrived = 50, .now = 60 };
		cpa_barrier_left(&t[2 + i], object, 0, &w);
		assert_true(w.matched);
	}
	/* For teardown: the token that is lost by design. */
	cpa_token_free(&t[0], token);
}

/* Readers' releases are joined; the next writer depends on all of them, the one after on none. */
static void test_readers(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 60 }, again = w;

	(void)state;
	cpa_lock_release(at(4, 5, 1), object);
	for (int i = 0; i < 3; i++)
		cpa_read_release(at(i, 20 + 10 * (uint64_t)i, 9 - (uint64_t)i), object);
	cpa_write_acquired(&t[3], object, &w);
	assert_int_equal(t[3].row->path.len, 9); /* the longest */
	assert_int_equal(from(&w), 2);		 /* the latest */
	assert_int_equal(t[3].row->path.observed[CPA_TIME_HANDOFF], 20);
	cpa_write_acquired(&t[5], object, &again);
	assert_int_equal(t[5].row->path.len, 1);
	assert_int_equal(from(&again), 4);
}

/* A thread's own release changes nothing: its path already includes it. */
static void test_own_release(void **state)
{
	struct cpa_wait w = { .arrived = 20, .now = 25 };

	(void)state;
	cpa_lock_release(at(0, 10, 5), object);
	at(0, 20, 8);
	cpa_lock_acquired(&t[0], object, &w);
	assert_false(w.followed);
	assert_int_equal(t[0].row->path.len, 8);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_HANDOFF], 5);
}

/* Clocks of two processors may differ: no hand-off before the release, where the path is now. */
static void test_release_after_acquire(void **state)
{
	struct cpa_wait w = { .arrived = 20, .now = 25 };

	(void)state;
	cpa_lock_release(at(1, 27, 5), object);
	cpa_lock_acquired(&t[0], object, &w);
	assert_int_equal(t[0].row->path.len, 5);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_HANDOFF], 0);
	assert_int_equal(t[0].row->path.released, 27);
}

/*
 * Posts at 20 and 60. Who returned at 25 lost its processor, and the other one takes the first post: what
 * the path adds up to is then the second post.
 */
static void test_posts_in_the_order_of_takers(void **state)
{
	struct cpa_wait first = { .arrived = 10, .now = 25 }, second = { .arrived = 10, .now = 65 };
	uint64_t slow = t[0].slow;

	(void)state;
	for (int i = 0; i < 2; i++) {
		at(2 + i, 20 + 40 * (uint64_t)i, 5 + (uint64_t)i);
		t[2 + i].row->path.observed[CPA_TIME_PROCESS] = t[2 + i].row->path.released;
		cpa_sem_release(&t[2 + i], object);
	}
	cpa_sem_acquired(&t[1], object, &second);
	assert_int_equal(from(&second), 2);
	assert_int_equal(t[1].row->path.released, 65);
	assert_int_equal(t[1].row->path.observed[CPA_TIME_HANDOFF], 45);
	cpa_sem_acquired(&t[0], object, &first);
	assert_int_equal(from(&first), 3);
	assert_int_equal(t[0].row->path.released, 60);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_PROCESS], 60);
	assert_int_equal(t[0].row->path.observed[CPA_TIME_HANDOFF], 0);
	assert_int_not_equal(t[0].slow, slow);
}

/* A lock owned by a queue, or used inside the queue's code: only the observed path follows. */
static void test_queues_own_lock(void **state)
{
	(void)state;
	for (int inner = 0; inner < 2; inner++) {
		struct cpa_wait w = { .arrived = 10, .now = 40 };
		struct cpa_self *self = at(2 * inner, 10, 3), *other = at(2 * inner + 1, 30, 9);

		object->queue = !inner;
		self->inner = (uint32_t)inner;
		cpa_path_add(self, &self->row->path, 2, 3);
		cpa_path_add(other, &other->row->path, 3, 9);
		other->row->path.observed[CPA_TIME_PROCESS] = 29;
		cpa_lock_release(other, object);
		cpa_lock_acquired(self, object, &w);
		assert_true(w.matched);
		assert_false(w.followed);
		assert_int_equal(from(&w), 2 * inner + 1);
		assert_int_equal(self->row->path.len, 3);
		assert_int_equal(cpa_path_value(&self->row->path, CPA_S, 2), 3);
		assert_int_equal(cpa_path_value(&self->row->path, CPA_H, 2), 3);
		assert_int_equal(cpa_path_value(&self->row->path, CPA_O, 2), 0);
		assert_int_equal(cpa_path_value(&self->row->path, CPA_S, 3), 0);
		assert_int_equal(cpa_path_value(&self->row->path, CPA_H, 3), 0);
		assert_int_equal(cpa_path_value(&self->row->path, CPA_O, 3), 9);
		assert_int_equal(self->row->path.observed[CPA_TIME_PROCESS], 29);
		assert_int_equal(self->row->path.observed[CPA_TIME_HANDOFF], 10);
		object->queue = 0;
	}
}

/* A lock gets its path at its first release, and the path's place stays. */
static void test_path_of_a_lock(void **state)
{
	struct cpa_wait w = { .arrived = 10, .now = 10 };
	const struct cpa_path *place;

	(void)state;
	cpa_lock_acquired(at(1, 10, 5), mutex, &w);
	assert_true(w.matched);
	assert_int_equal(from(&w), UINT32_MAX);
	assert_int_equal(cpa_table(CPA_TABLE_PATHS)->used, 0);
	cpa_lock_release(&t[1], mutex);
	place = cpa_object_path(mutex);
	assert_int_equal(place->owner, t[1].id);
	cpa_object_clear(&t[0], mutex);
	assert_ptr_equal(cpa_object_path(mutex), place);
	assert_int_equal(place->owner, 0);
	assert_int_equal(place->len, 0);
	cpa_lock_release(at(2, 20, 6), mutex);
	assert_ptr_equal(cpa_object_path(mutex), place);
	assert_int_equal(place->len, 6);
	assert_int_equal(cpa_table(CPA_TABLE_PATHS)->used, 1);
}

/* Without space nothing is published; this is counted. */
static void test_no_space_for_a_path(void **state)
{
	const uint64_t *refused = &cpa_header()->diag[CPA_DIAG_OBJECTS_REFUSED];
	struct cpa_wait w = { .arrived = 30, .now = 30 };

	(void)state;
	while (cpa_table_append(CPA_TABLE_PATHS))
		;
	assert_int_equal(*refused, 0);
	cpa_lock_release(at(1, 20, 5), mutex);
	cpa_lock_release(at(1, 25, 6), mutex);
	assert_int_equal(*refused, 2);
	assert_int_equal(mutex->path, 0);
	cpa_lock_acquired(at(2, 30, 1), mutex, &w);
	assert_int_equal(from(&w), UINT32_MAX);
	assert_int_equal(t[2].row->path.len, 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_signals_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_signal_without_waiters, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeout_leaves_the_grant, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timeout_takes_the_last_grant, setup, teardown),
		cmocka_unit_test_setup_teardown(test_broadcast, setup, teardown),
		cmocka_unit_test_setup_teardown(test_run_queue_is_no_handoff, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wait_follows_the_mutex, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wake_undo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_semaphore, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo_is_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fifo_that_is_a_ring, setup, teardown),
		cmocka_unit_test_setup_teardown(test_barrier_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_barrier_with_tasks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_barrier_cleared_early, setup, teardown),
		cmocka_unit_test_setup_teardown(test_join_rounds, setup, teardown),
		cmocka_unit_test_setup_teardown(test_join_of_nobody, setup, teardown),
		cmocka_unit_test_setup_teardown(test_readers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_own_release, setup, teardown),
		cmocka_unit_test_setup_teardown(test_release_after_acquire, setup, teardown),
		cmocka_unit_test_setup_teardown(test_posts_in_the_order_of_takers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_queues_own_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_path_of_a_lock, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_space_for_a_path, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
