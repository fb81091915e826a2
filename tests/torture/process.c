/* SPDX-License-Identifier: MIT */
/*
 * tests/torture/process.c - parents wait for children of few commands: rows are kept, summed and used again
 */
#include "shadow/edge/process.h"
#include "shadow/store/name.h"

#include "tests/torture/torture.h"

#define COMMANDS 3u
#define FIRST	 2000u /* pid of the first child */

static uint32_t parent[WORKERS], name[COMMANDS];
static uint32_t next_pid; /* atomic */
static uint64_t work;	  /* atomic: of all children */
static unsigned rounds;

static void wait_for_children(struct worker *w)
{
	for (unsigned i = 0; i < rounds; i++) {
		uint32_t number = cpa_process_claim(parent[w->index]);
		struct cpa_process_row *p = cpa_process(number);

		EXPECT(number);
		__atomic_store_n(&p->pid, __atomic_add_fetch(&next_pid, 1, __ATOMIC_RELAXED),
				 __ATOMIC_RELAXED);
		p->name = name[rnd_below(&w->r, COMMANDS)];
		p->sums.process = p->cpu_ns = 1 + rnd_below(&w->r, 1000);
		__atomic_fetch_add(&work, p->cpu_ns, __ATOMIC_RELAXED);
		__atomic_store_n(&p->state, CPA_PROCESS_ENDED, __ATOMIC_RELEASE);
		EXPECT(cpa_process_find(p->pid, parent[w->index], UINT64_MAX) == number);
		cpa_process_waited(&w->self, number, 0);
		w->count++;
	}
}

/* Each child is in one row, its own or the sum of its command; those that are kept are no others'. */
static void check(uint64_t children)
{
	uint64_t process = 0, cpu_ns = 0, count = 0;

	for (uint32_t i = 1 + WORKERS; i <= cpa_table(CPA_TABLE_PROCESSES)->used; i++) {
		const struct cpa_process_row *p = cpa_process(i);

		if (p->state == CPA_PROCESS_FREE)
			continue;
		process += p->sums.process;
		cpu_ns += p->cpu_ns;
		count += p->state == CPA_PROCESS_SUM ? p->count : 1;
		if (p->state != CPA_PROCESS_SUM)
			continue;
		EXPECT(!p->latest || cpa_process(p->latest)->name == p->name);
		EXPECT(!p->busiest ||
		       (p->busiest != p->latest && cpa_process(p->busiest)->name == p->name));
	}
	EXPECT(count == children);
	EXPECT(process == work && cpu_ns == work);
}

static void run_waits(void)
{
	static const char *const command[COMMANDS] = { "cc", "as", "ld" };
	uint64_t children = 0;

	next_pid = FIRST;
	work = 0;
	rounds = torture_work(50000);
	for (unsigned i = 0; i < COMMANDS; i++)
		name[i] = cpa_name(command[i]);
	for (unsigned i = 0; i < WORKERS; i++) {
		parent[i] = cpa_process_claim(0);
		cpa_process(parent[i])->pid = 1 + i;
		cpa_process(parent[i])->state = CPA_PROCESS_RUNNING;
	}
	torture_threads(WORKERS, wait_for_children);
	for (unsigned i = 0; i < WORKERS; i++)
		children += worker[i].count;
	check(children);
}

int main(void)
{
	uint64_t seed = rnd_seed();

	printf("# seed %llu\n", (unsigned long long)seed);
	torture("every child is counted once", seed, run_waits);
	return torture_end();
}
