/* SPDX-License-Identifier: MIT */
/* tests/torture/thread.c - thread rows that pass from thread to thread */
#include "tests/torture/torture.h"

static uint8_t in_use[2 * CPA_THREADS_KEPT + 1]; /* atomic */
static uint64_t ended;				 /* atomic */

/* A thread's life, on a row that no other thread has meanwhile. */
static void live(struct worker *w, struct cpa_self *self)
{
	struct cpa_wait start = { .now = 5 };
	uint32_t number;

	memset(self, 0, sizeof(*self));
	EXPECT(!cpa_thread_begin(self, 0, 1, NULL, &start));
	number = self->number;
	EXPECT(number <= 2 * CPA_THREADS_KEPT);
	EXPECT(!__atomic_exchange_n(&in_use[number], 1, __ATOMIC_RELAXED));
	EXPECT(self->row->path.len == 0 && self->row->path.version == 0);
	for (uint32_t i = 0; i < 20; i++)
		cpa_path_add(self, &self->row->path, 2 + i, 1);
	self->row->path.len = 20 + rnd_below(&w->r, 10);
	cpa_thread_end(self, 6);
	__atomic_store_n(&in_use[number], 0, __ATOMIC_RELAXED);
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
	cpa_thread_joined(number);
}

static void live_often(struct worker *w)
{
	static struct cpa_self self[WORKERS];
	unsigned n = torture_work(40000);

	for (unsigned i = 0; i < n; i++)
		live(w, &self[w->index]);
}

static void run_rows(void)
{
	uint64_t lives = 0;

	ended = 0;
	torture_threads(WORKERS, live_often);
	EXPECT(cpa_table(CPA_TABLE_THREADS)->used <= CPA_THREADS_KEPT + WORKERS);
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_THREADS)->used; i++)
		lives += ((struct cpa_thread *)cpa_row(CPA_TABLE_THREADS, i))->earlier + 1;
	EXPECT(lives == ended + WORKERS);
	EXPECT(cpa_header()->started == lives);
	torture_given_back();
}

/* Pop rows from the stack of free ones and push them at once in another order. */
static void pop_and_push(struct worker *w)
{
	unsigned n = torture_work(600000);

	for (unsigned i = 0; i < n; i++) {
		uint32_t number[2];

		for (int k = 0; k < 2; k++) {
			number[k] = cpa_thread_claim(0, 0);
			EXPECT(number[k] && number[k] <= 2 * CPA_THREADS_KEPT);
			EXPECT(!__atomic_exchange_n(&in_use[number[k]], 1, __ATOMIC_RELAXED));
		}
		for (unsigned k = 0, first = rnd_next(&w->r) % 2; k < 2; k++) {
			__atomic_store_n(&in_use[number[k ^ first]], 0, __ATOMIC_RELAXED);
			cpa_thread_joined(number[k ^ first]);
		}
	}
}

static void run_stack(void)
{
	for (uint32_t i = 1; i <= CPA_THREADS_KEPT; i++)
		EXPECT(cpa_thread_claim(0, 0) == i);
	/* Few rows are free, so the same ones return soon. */
	for (uint32_t i = 1; i <= 3 * WORKERS; i++)
		cpa_thread_joined(i);
	torture_threads(WORKERS, pop_and_push);
	EXPECT(cpa_table(CPA_TABLE_THREADS)->used == CPA_THREADS_KEPT);
	torture_given_back();
}

/* Exit and detach race: exactly one of them frees the row. */
#define ROUNDS 5000u

static struct cpa_self racing[ROUNDS];
static pthread_barrier_t gate;

static void exit_or_detach(struct worker *w)
{
	unsigned rounds = torture_work(ROUNDS) < ROUNDS ? torture_work(ROUNDS) : ROUNDS;

	for (unsigned i = 0; i < rounds; i++) {
		struct cpa_wait start = { .now = 5 };

		if (w->index == 0)
			EXPECT(!cpa_thread_begin(&racing[i], 0, 1, NULL, &start));
		pthread_barrier_wait(&gate);
		if (w->index == 0)
			cpa_thread_end(&racing[i], 6);
		else
			cpa_thread_detached(racing[i].number);
		pthread_barrier_wait(&gate);
		if (w->index == 0)
			EXPECT(racing[i].row->state == CPA_THREAD_DONE);
	}
}

static void run_detach(void)
{
	uint32_t rows = 0, number;

	memset(racing, 0, sizeof(racing));
	pthread_barrier_init(&gate, NULL, 2);
	torture_threads(2, exit_or_detach);
	pthread_barrier_destroy(&gate);
	/* Each row is on the stack of free rows once, except those of the two workers. */
	for (number = (uint32_t)cpa_header()->done; number && rows <= CPA_THREADS_KEPT; rows++)
		number = ((struct cpa_thread *)cpa_row(CPA_TABLE_THREADS, number))->next_done;
	EXPECT(rows == cpa_table(CPA_TABLE_THREADS)->used - 2);
	torture_given_back();
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("a row has one user", seed, run_rows);
	torture("a free row is popped once", seed, run_stack);
	torture("exit and detach free a row once", seed, run_detach);
	return torture_end();
}
