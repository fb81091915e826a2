/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_random.c - a random OpenMP program
 *
 * `openmp_random SEED` runs regions of two to eight threads with barriers, loops, single, sections, ordered,
 * critical sections, locks, and trees of tasks with groups, waits and dependences, as the seed says. What it
 * prints depends on the seed alone: how often each construct was reached.
 */
#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef __clang__ /* libomp interrupts them: see docs/openmp.md, "Not seen" */
#define UNTIED
#else
#define UNTIED untied
#endif
#define REGIONS 3
#define ROUNDS	4
#define DEEPEST 3

enum { WORKS, TASKS, WAITS, GROUPS, LOCKED, ORDERED, SINGLES, NESTED, COUNTS };

static _Atomic long count[COUNTS];
static omp_lock_t lock;

static uint64_t next(uint64_t *r)
{
	uint64_t x = *r += UINT64_C(0x9e3779b97f4a7c15);

	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static void work(uint64_t *r)
{
	uint64_t x = 1, n = next(r) % 20000;

	for (uint64_t i = 0; i < n; i++) {
		x *= UINT64_C(0x9e3779b97f4a7c15);
		__asm__ volatile("" : "+r"(x));
	}
	count[WORKS]++;
}

/* What one task does: work, tasks of its own, and waits for them. */
static void block(uint64_t r, int depth)
{
	char cell[3];
	int steps = (int)(next(&r) % 5);

	(void)cell;
	for (int i = 0; i < steps; i++) {
		uint64_t kind = next(&r) % 10, own = next(&r);
		int a = (int)(next(&r) % 3), b = (a + 1) % 3;

		(void)a, (void)b;
		if (depth == 0)
			kind %= 3;
		count[TASKS] += kind > 4;
		switch (kind) {
		case 0:
		case 1:
			work(&own);
			break;
		case 2:
#pragma omp critical
			work(&own);
			count[LOCKED]++;
			break;
		case 3: {
#pragma omp taskwait
			count[WAITS]++;
			break;
		}
		case 4:
#pragma omp taskgroup
			block(own, depth - 1);
			count[GROUPS]++;
			break;
		case 5:
#pragma omp task depend(in : cell[a]) depend(out : cell[b])
			block(own, depth - 1);
			break;
		case 6:
#pragma omp task depend(inout : cell[a])
			block(own, depth - 1);
			break;
		case 7:
#pragma omp task if (own % 2)
			block(own, depth - 1);
			break;
		case 8:
#pragma omp taskloop grainsize(1)
			for (int k = 0; k < 3; k++)
				block(own + (uint64_t)k, depth - 1);
			break;
		default:
#pragma omp task UNTIED
			block(own, depth - 1);
			break;
		}
	}
}

/* What all threads of a team do between two barriers. */
static void round_of(uint64_t r)
{
	uint64_t kind = next(&r) % 8, own = r + (uint64_t)omp_get_thread_num();

	switch (kind) {
	case 0:
		work(&own);
		break;
	case 1:
#pragma omp single
	{
		block(r, DEEPEST);
		count[SINGLES]++;
	} break;
	case 2:
		block(own, DEEPEST);
		break;
	case 3:
#pragma omp for schedule(dynamic, 1)
		for (int i = 0; i < 12; i++) {
			uint64_t each = r + (uint64_t)i;

			work(&each);
		}
		break;
	case 4:
#pragma omp for ordered schedule(static, 1)
		for (int i = 0; i < 6; i++) {
			uint64_t each = r + (uint64_t)i;

			work(&each);
#pragma omp ordered
			{
				work(&each);
				count[ORDERED]++;
			}
		}
		break;
	case 5:
		omp_set_lock(&lock);
		work(&own);
		count[LOCKED]++;
		omp_unset_lock(&lock);
		break;
	case 6:
#pragma omp sections
	{
		work(&own);
#pragma omp section
		block(r, 1);
	} break;
	default:
#pragma omp parallel num_threads(2)
	{
		uint64_t inner = own;

		work(&inner);
		count[NESTED]++;
	} break;
	}
}

static void region(uint64_t r)
{
	int threads = (int)(2 + next(&r) % 7);

	(void)threads;
#pragma omp parallel num_threads(threads)
	for (uint64_t i = 0; i < ROUNDS; i++) {
		round_of(r + 1000 * i);
#pragma omp barrier
	}
}

int main(int argc, char **argv)
{
	uint64_t r = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;

	omp_set_max_active_levels(2);
	omp_init_lock(&lock);
	for (int i = 0; i < REGIONS; i++)
		region(next(&r));
	omp_destroy_lock(&lock);
	for (int i = 0; i < COUNTS; i++)
		printf("%ld\n", count[i]);
	return 0;
}
