/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/nested_reads.c - a read lock that is taken again inside its own read, very often
 *
 * Prints which part of the time the thread has it: parts of a round are so long that what the lock
 * itself takes is less than a hundredth of them.
 */
#include <pthread.h>
#include <stdio.h>

#define ROUNDS	50000
#define BEFORE	1 /* in the read, before it is taken again; all in units of half a microsecond */
#define INSIDE	1
#define AFTER	6
#define OUTSIDE 4
#define UNIT	1500 /* spins */

static pthread_rwlock_t nested_lock = PTHREAD_RWLOCK_INITIALIZER;

/* One loop, so that all units take as long wherever the linker puts them. */
static __attribute__((noinline)) void spin(int units)
{
	for (int i = 0; i < units * UNIT; i++)
		__asm__ volatile("" : : "r"(i));
}

static void read_again(void)
{
	pthread_rwlock_rdlock(&nested_lock);
	spin(INSIDE);
	pthread_rwlock_unlock(&nested_lock);
}

int main(void)
{
	const int held = BEFORE + INSIDE + AFTER;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_rwlock_rdlock(&nested_lock);
		spin(BEFORE);
		read_again();
		spin(AFTER);
		pthread_rwlock_unlock(&nested_lock);
		spin(OUTSIDE);
	}
	printf("%.6f\n", (double)held / (held + OUTSIDE));
	return 0;
}
