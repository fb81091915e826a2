/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/offer.c - parents and spawned children: each child gets one row and one path
 *
 * The children are threads that take the steps of a beginning process.
 */
#include <sched.h>

#include "shadow/edge/offer.h"
#include "shadow/path/token.h"

#include "tests/torture/torture.h"

#define PARENTS (WORKERS / 2)
#define PARENT	1000u /* pid of the process whose threads act as the parents */
#define FIRST	2000u /* pid of the first child */

enum step { IDLE, SPAWNED, BEGUN };

static struct child {
	uint32_t pid, row;
	enum step step; /* atomic: SPAWNED by the parent, BEGUN by the child, IDLE by the parent */
} child[PARENTS];

static uint32_t parent_row;
static uint32_t next_pid; /* atomic */
static uint64_t now_ns;	  /* atomic */
static unsigned rounds;

static uint64_t tick(void)
{
	/* SEQ_CST: one order of all times, for every thread. */
	return __atomic_add_fetch(&now_ns, 1, __ATOMIC_SEQ_CST);
}

static void await(struct child *c, enum step step)
{
	/* ACQUIRE pairs with the RELEASE stores of `step`. */
	while (__atomic_load_n(&c->step, __ATOMIC_ACQUIRE) != step)
		sched_yield();
}

static void dawdle(struct worker *w)
{
	for (uint64_t i = rnd_below(&w->r, 300); i > 0; i--)
		__asm__ volatile("" : : "r"(i));
}

static void tell(uint32_t number, uint32_t pid)
{
	struct cpa_process_row *p = cpa_process(number);

	p->seen_ns = tick();
	/* RELEASE: seen_ns is stored before the pid. Pairs with is_called() in process.c. */
	__atomic_store_n(&p->pid, pid, __ATOMIC_RELEASE);
}

static bool is_since(uint64_t seen_ns)
{
	return seen_ns != 0; /* no pid is used again here */
}

static void spawn(struct worker *w, struct child *c)
{
	uint64_t since_ns = tick();
	uint32_t token = cpa_token_new(&w->self, NULL), place, number;

	EXPECT(token && !__atomic_exchange_n(&cpa_token(token)->left, 1, __ATOMIC_RELAXED));
	cpa_offer_spawning(parent_row, 1);
	place = cpa_offer(parent_row, token);
	EXPECT(place < CPA_OFFERS);
	c->pid = __atomic_add_fetch(&next_pid, 1, __ATOMIC_RELAXED);
	/* RELEASE: pairs with await(). */
	__atomic_store_n(&c->step, SPAWNED, __ATOMIC_RELEASE);
	dawdle(w);
	number = cpa_process_claim(parent_row);
	EXPECT(number);
	tell(number, c->pid);
	dawdle(w);
	EXPECT(!cpa_offer_bind(number, since_ns, place, token));
	cpa_offer_spawning(parent_row, -1);
	await(c, BEGUN);
	number = cpa_process_find(c->pid, parent_row, UINT64_MAX);
	EXPECT(number && number == c->row);
	if (number)
		cpa_process_waited(&w->self, number, 0);
	/* RELEASE: pairs with await(). */
	__atomic_store_n(&c->step, IDLE, __ATOMIC_RELEASE);
}

/* As own_row() in preload/process/process.c. */
static uint32_t own_row(struct worker *w, uint32_t pid)
{
	uint32_t number = cpa_process_self(pid, 0);

	if (number && cpa_process_occupy(number, pid))
		return number;
	dawdle(w);
	number = cpa_process_claim(0);
	EXPECT(number);
	cpa_process(number)->token = CPA_TOKEN_NONE;
	tell(number, pid);
	EXPECT(cpa_process_of_parent(number, PARENT) == parent_row);
	dawdle(w);
	return cpa_offer_row(number, pid, is_since);
}

static void begin(struct worker *w, struct child *c)
{
	uint32_t token;

	await(c, SPAWNED);
	dawdle(w);
	c->row = own_row(w, c->pid);
	token = cpa_offer_token(c->row);
	EXPECT(token != 0);
	/* No other child has the token. */
	EXPECT(!token || __atomic_exchange_n(&cpa_token(token)->left, 0, __ATOMIC_RELAXED) == 1);
	__atomic_store_n(&cpa_process(c->row)->state, CPA_PROCESS_RUNNING, __ATOMIC_RELEASE);
	__atomic_store_n(&c->step, BEGUN, __ATOMIC_RELEASE);
}

static void spawn_or_begin(struct worker *w)
{
	for (unsigned i = 0; i < rounds; i++) {
		if (w->index < PARENTS)
			spawn(w, &child[w->index]);
		else
			begin(w, &child[w->index - PARENTS]);
	}
}

static void run_spawn(void)
{
	parent_row = cpa_process_claim(0);
	tell(parent_row, PARENT);
	cpa_process(parent_row)->state = CPA_PROCESS_RUNNING;
	next_pid = FIRST;
	memset(child, 0, sizeof(child));
	rounds = torture_work(20000);
	torture_threads(WORKERS, spawn_or_begin);
	EXPECT(cpa_offer_take(parent_row) == 0);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("every child has one row, and a path of its own", seed, run_spawn);
	return torture_end();
}
