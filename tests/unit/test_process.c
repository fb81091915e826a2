/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/test_process.c - shadow/edge/process.h: rows of processes and their reuse
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shadow/store/name.h"
#include "shadow/edge/offer.h"
#include "shadow/edge/thread.h"

#include "tests/unit/shadow_session.h"

static int setup(void **state)
{
	(void)state;
	return test_session(UINT64_C(1) << 28, 64);
}

static int teardown(void **state)
{
	(void)state;
	cpa_session_destroy();
	return 0;
}

static uint32_t make(uint32_t parent, uint32_t pid)
{
	uint32_t number = cpa_process_claim(parent);

	assert_int_not_equal(number, 0);
	cpa_process(number)->pid = pid;
	cpa_process(number)->state = CPA_PROCESS_RUNNING;
	return number;
}

/* A row is found by pid and parent until the process was waited for. */
static void test_find(void **state)
{
	struct cpa_self self = { 0 };
	uint32_t first = make(0, 100), child = make(first, 101), other = make(child, 101);

	(void)state;
	assert_int_equal(cpa_process_find(101, first, UINT64_MAX), child);
	assert_int_equal(cpa_process_find(101, child, UINT64_MAX), other);
	assert_int_equal(cpa_process_find(102, first, UINT64_MAX), 0);
	cpa_process(child)->state = CPA_PROCESS_ENDED;
	cpa_process_waited(&self, child, 256);
	assert_int_equal(cpa_process_find(101, first, UINT64_MAX), 0);
	assert_int_equal(cpa_process(child)->status, 256);
}

/* Of several rows with one pid the latest is found; a process may see itself under another pid. */
static void test_pids(void **state)
{
	enum { HERE = 7, THERE };
	struct cpa_self self = { 0 };
	uint32_t first = make(0, 100), older, newer;

	(void)state;
	cpa_process(first)->space = HERE;
	newer = make(first, 101);
	older = make(first, 102);
	cpa_process(older)->pid = 101;
	cpa_process(newer)->key = cpa_process(older)->key + 1;
	/* A process that was made since is another one. */
	assert_int_equal(cpa_process_find(101, first, cpa_process(older)->key), older);
	assert_int_equal(cpa_process(newer)->space, HERE);
	assert_int_equal(cpa_process_find(101, first, UINT64_MAX), newer);
	assert_int_equal(cpa_process_self(101, HERE), newer);
	assert_int_equal(cpa_process_self(101, 0), newer);
	assert_int_equal(cpa_process_self(101, THERE), 0);
	cpa_process_call(newer, 1);
	cpa_process(newer)->space = THERE;
	assert_int_equal(cpa_process_find(101, first, UINT64_MAX), newer);
	assert_int_equal(cpa_process_self(101, HERE), older);
	assert_int_equal(cpa_process_self(1, THERE), newer);
	assert_int_equal(cpa_process_self(1, HERE), 0);
	cpa_process(newer)->state = CPA_PROCESS_ENDED;
	assert_int_equal(cpa_process_self(1, THERE), 0);
	assert_int_equal(cpa_process_find(101, first, UINT64_MAX), newer);
	cpa_process_waited(&self, newer, 0);
	assert_int_equal(cpa_process_find(101, first, UINT64_MAX), older);
}

/* A child that had a row before its parent is adopted, if it is that process's child. */
static void test_adoption(void **state)
{
	uint32_t first = make(0, 100), child = make(0, 102), late = make(0, 103), parent;

	(void)state;
	assert_int_equal(cpa_process_of_parent(child, 101), 0);
	cpa_process(child)->seen_ns = 20;
	assert_int_equal(cpa_process_of_parent(late, 101), 0);
	cpa_process(late)->seen_ns = 10;
	parent = make(first, 101);
	cpa_process_adopt(parent, 20);
	assert_int_equal(cpa_process(child)->parent, parent);
	assert_int_equal(cpa_process(child)->parent_key, cpa_process(parent)->key);
	assert_int_equal(cpa_process(late)->parent, 0);
	assert_int_equal(cpa_process_of_parent(late, 101), parent);
	assert_int_equal(cpa_process(late)->parent, parent);
	assert_int_equal(cpa_process_of_parent(first, 0), 0);
}

/* A child takes the oldest token on offer, and no other child takes it. */
static void test_offers(void **state)
{
	struct cpa_self self = { 0 };
	uint32_t first = make(0, 100), older, newer, place[2];
	struct cpa_path path = { .released = 20, .owner = 1 };

	(void)state;
	newer = cpa_token_new(&self, &path);
	path.released = 10;
	older = cpa_token_new(&self, &path);
	place[0] = cpa_offer(first, newer);
	place[1] = cpa_offer(first, older);
	assert_true(place[0] < CPA_OFFERS && place[1] < CPA_OFFERS);
	assert_int_equal(cpa_offer_take(first), older);
	assert_int_equal(cpa_offer_take_back(first, place[1], older), 0);
	assert_int_equal(cpa_offer_take_back(first, place[0], newer), newer);
	assert_int_equal(cpa_offer_take(first), 0);
	for (unsigned i = 0; i < CPA_OFFERS; i++)
		assert_true(cpa_offer(first, older) < CPA_OFFERS);
	assert_int_equal(cpa_offer(first, older), CPA_OFFERS);
}

static bool is_since(uint64_t seen_ns)
{
	return seen_ns >= 10;
}

/* Make a row as the child of row @parent does; the parent saw it at 20 ns. */
static uint32_t make_own(uint32_t parent, uint32_t pid)
{
	uint32_t own = make(0, pid);

	cpa_process(own)->token = CPA_TOKEN_NONE;
	cpa_process(own)->seen_ns = 20;
	assert_int_equal(cpa_process_of_parent(own, cpa_process(parent)->pid), parent);
	return own;
}

/* Make a row for the child as its parent does. */
static uint32_t make_for(uint32_t parent, uint32_t pid)
{
	uint32_t made = make(parent, pid);

	cpa_process(made)->state = CPA_PROCESS_CLAIMED;
	cpa_process(made)->seen_ns = 20;
	return made;
}

/* Whichever of the two rows of a spawned child exists first: it ends with one row, and the path. */
static void test_two_rows(void **state)
{
	uint32_t first = make(0, 100), token, place, made, own;
	struct cpa_self self = { 0 };
	struct cpa_path path = { .released = 10, .owner = 1 };

	(void)state;
	/* The child finds its parent's row. */
	token = cpa_token_new(&self, &path);
	place = cpa_offer(first, token);
	made = make_for(first, 101);
	assert_int_equal(cpa_offer_bind(made, 15, place, token), 0);
	assert_int_equal(cpa_process_self(101, 0), made);
	assert_true(cpa_process_occupy(made, 101));
	assert_int_equal(cpa_offer_token(made), token);
	/* The parent finds the child's row. */
	place = cpa_offer(first, token);
	own = make_own(first, 102);
	assert_int_equal(cpa_offer_row(own, 102, is_since), own);
	made = make_for(first, 102);
	assert_int_equal(cpa_offer_bind(made, 15, place, token), 0);
	assert_int_equal(cpa_process(made)->state, CPA_PROCESS_FREE);
	assert_int_equal(cpa_offer_token(own), token);
	/* The parent took the token back before the child stored its pid. */
	place = cpa_offer(first, token);
	made = make_for(first, 103);
	assert_int_equal(cpa_offer_bind(made, 15, place, token), 0);
	own = make_own(first, 103);
	assert_int_equal(cpa_offer_row(own, 103, is_since), made);
	assert_int_equal(cpa_process(own)->state, CPA_PROCESS_FREE);
	assert_int_equal(cpa_offer_token(made), token);
	/* A row made for an earlier process with the pid is not the child's. */
	made = make_for(first, 104);
	cpa_process(made)->seen_ns = 5;
	own = make_own(first, 104);
	assert_int_equal(cpa_offer_row(own, 104, is_since), own);
	assert_int_equal(cpa_offer_token(own), 0);
}

/* A child took a sibling's token: the sibling gets the remaining one. */
static void test_wrong_token(void **state)
{
	uint32_t first = make(0, 100), older, newer, place[2], made, own;
	struct cpa_self self = { 0 };
	struct cpa_path path = { .released = 10, .owner = 1 };

	(void)state;
	older = cpa_token_new(&self, &path);
	path.released = 20;
	newer = cpa_token_new(&self, &path);
	place[0] = cpa_offer(first, older);
	place[1] = cpa_offer(first, newer);
	own = make_own(first, 102);
	assert_int_equal(cpa_offer_token(own), older);
	made = make_for(first, 101);
	assert_true(cpa_process_occupy(made, 101));
	assert_int_equal(cpa_offer_bind(made, 15, place[0], older), 0);
	assert_int_equal(cpa_offer_token(made), newer);
	made = make_for(first, 102);
	assert_int_equal(cpa_offer_bind(made, 15, place[1], newer), 0);
	assert_int_equal(cpa_process(made)->state, CPA_PROCESS_FREE);
}

/* The last child that ended, and was not waited for, between two clocks. */
static void test_ended(void **state)
{
	uint32_t first = make(0, 100), a = make(first, 101), b = make(first, 102);

	(void)state;
	assert_int_equal(cpa_process_ended(first, 0, UINT64_MAX), 0);
	cpa_process(a)->end_ticks = 50;
	cpa_process(b)->end_ticks = 60;
	cpa_process(a)->exit_thread = cpa_process(b)->exit_thread = 1;
	cpa_process(a)->state = CPA_PROCESS_ENDED;
	assert_int_equal(cpa_process_ended(first, 0, UINT64_MAX), a);
	assert_int_equal(cpa_process_ended(first, 50, UINT64_MAX), 0);
	cpa_process(b)->state = CPA_PROCESS_ENDED;
	assert_int_equal(cpa_process_ended(first, 0, UINT64_MAX), b);
	assert_int_equal(cpa_process_ended(first, 0, 60), a);
	assert_int_equal(cpa_process_ended(first, 0, 50), 0);
	cpa_process(b)->waited = 1;
	assert_int_equal(cpa_process_ended(first, 0, UINT64_MAX), a);
	assert_int_equal(cpa_process_ended(a, 0, UINT64_MAX), 0);
}

/* Children that began after a clock, and neither ended nor were waited for. */
static void test_begun(void **state)
{
	uint32_t first = make(0, 100), a = make(first, 101), b = make(first, 102);

	(void)state;
	assert_int_equal(cpa_process_begun(first, 0, 0), 0);
	cpa_process(a)->start_ticks = 50;
	cpa_process(b)->start_ticks = 60;
	cpa_process(a)->state = CPA_PROCESS_RUNNING;
	cpa_process(b)->state = CPA_PROCESS_EXECED;
	assert_int_equal(cpa_process_begun(first, 0, 0), a);
	assert_int_equal(cpa_process_begun(first, 0, a), b);
	assert_int_equal(cpa_process_begun(first, 50, 0), b);
	assert_int_equal(cpa_process_begun(first, 0, b), 0);
	cpa_process(a)->state = CPA_PROCESS_ENDED;
	assert_int_equal(cpa_process_begun(first, 0, 0), b);
	cpa_process(b)->waited = 1;
	assert_int_equal(cpa_process_begun(first, 0, 0), 0);
}

/*
 * With any number of processes rows are bounded, and no time of theirs is lost. The latest of each command has its
 * row, and so has the busiest.
 */
static void test_many(void **state)
{
	enum { MANY = 5000, BUSIEST = 2000, BUSY = 100000 };
	struct cpa_self self = { 0 };
	uint32_t first = make(0, 1), names[2] = { cpa_name("one"), cpa_name("two") };
	uint64_t process = 0, count = 0, cpu_ns = 0;
	bool busiest = false, last[2] = { false };

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		struct cpa_process_row *p = cpa_process(make(first, 2 + i));

		p->name = names[i % 2];
		p->sums.process = i == BUSIEST ? BUSY : i;
		p->cpu_ns = 3;
		p->state = CPA_PROCESS_ENDED;
		cpa_process_waited(&self, cpa_process_find(2 + i, first, UINT64_MAX), 0);
	}
	assert_true(cpa_table(CPA_TABLE_PROCESSES)->used <= CPA_PROCESSES_KEPT + 8);
	for (uint32_t i = 2; i <= cpa_table(CPA_TABLE_PROCESSES)->used; i++) {
		const struct cpa_process_row *p = cpa_process(i);

		if (p->state == CPA_PROCESS_FREE)
			continue;
		process += p->sums.process;
		count += p->state == CPA_PROCESS_SUM ? p->count : 1;
		cpu_ns += p->cpu_ns;
		busiest |= p->pid == 2 + BUSIEST;
		last[0] |= p->pid == 2 + MANY - 2;
		last[1] |= p->pid == 2 + MANY - 1;
	}
	assert_true(busiest && last[0] && last[1]);
	assert_int_equal(count, MANY);
	assert_int_equal(process, (uint64_t)MANY * (MANY - 1) / 2 - BUSIEST + BUSY);
	assert_int_equal(cpu_ns, 3 * MANY);
}

/* A thread's sums are added to its process once. */
static void test_sums(void **state)
{
	uint32_t number = make(0, 1);
	struct cpa_thread row = { .process = 100, .wait = 5 };

	(void)state;
	cpa_process_enter(&row, number);
	row.process += 7;
	row.wait += 2;
	cpa_process_give(&row);
	cpa_process_give(&row);
	assert_int_equal(cpa_process(number)->sums.process, 7);
	assert_int_equal(cpa_process(number)->sums.wait, 2);
	assert_int_equal(cpa_process(number)->threads, 1);
	cpa_process(number)->key++; /* its row belongs to another process now */
	row.process += 7;
	cpa_process_give(&row);
	assert_int_equal(cpa_process(number)->sums.process, 7);
}

/* A thread row of a child has another user by the time that the child is waited for. */
static void test_claimed_again(void **state)
{
	struct cpa_self self = { 0 };
	uint32_t first = make(0, 100), child = make(first, 101), row = 0, last = 0;

	(void)state;
	/* As many rows of the child as there may be, until rows are used again. */
	for (unsigned i = 0; i < CPA_THREADS_KEPT; i++) {
		row = cpa_thread_claim(child, 0);
		assert_int_not_equal(row, 0);
		cpa_process_enter(cpa_row(CPA_TABLE_THREADS, row), child);
	}
	cpa_thread_joined(row);
	last = cpa_thread_claim(first, 0);
	assert_int_equal(last, row);
	cpa_process(child)->state = CPA_PROCESS_ENDED;
	cpa_process_waited(&self, child, 0);
	for (unsigned i = 1; i < CPA_THREADS_KEPT; i++)
		assert_int_not_equal(cpa_thread_claim(first, 0), last);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_find, setup, teardown),
		cmocka_unit_test_setup_teardown(test_pids, setup, teardown),
		cmocka_unit_test_setup_teardown(test_adoption, setup, teardown),
		cmocka_unit_test_setup_teardown(test_offers, setup, teardown),
		cmocka_unit_test_setup_teardown(test_two_rows, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wrong_token, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(test_begun, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many, setup, teardown),
		cmocka_unit_test_setup_teardown(test_claimed_again, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sums, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
