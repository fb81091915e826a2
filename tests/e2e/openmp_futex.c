/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_futex.c - OpenMP locks whose runtime waits by futex on the word of the lock
 *
 * Prints how often eight threads were in sections of a lock and of a critical section. libomp does so with
 * KMP_LOCK_KIND=futex.
 */
#include <omp.h>
#include <stdio.h>

#define ROUNDS	  20
#define SECTIONS  1000
#define AWAY_EACH 8 /* sections between two in which the holder gives its processor away */

int sched_yield(void);

static long locked, entered;

static void section(long *count, int number)
{
	++*count;
	if (number % AWAY_EACH == 0)
		sched_yield();
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		omp_lock_t lock;

		omp_init_lock(&lock);
#pragma omp parallel for num_threads(8)
		for (int i = 0; i < SECTIONS; i++) {
			omp_set_lock(&lock);
			section(&locked, i);
			omp_unset_lock(&lock);
#pragma omp critical(ours)
			section(&entered, i);
		}
		omp_destroy_lock(&lock);
	}
	printf("%ld %ld\n", locked, entered);
	return 0;
}
