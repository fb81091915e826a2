/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/frames.c - a library with frames of all kinds, whose tables tests/e2e/damaged_tables.py
 * damages
 *
 * Threads meet at its barrier, compute and fork, each time below one frame of each kind.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH  4
#define ROUNDS 60
#define SPINS  600000

static pthread_barrier_t met;

/* No tail calls: each frame stays. */
#define STAYS() __asm__ volatile("" ::: "memory")

static __attribute__((noinline)) long compute(long seed)
{
	for (long i = 0; i < SPINS; i++)
		seed = (seed * 1103515245 + 12345) & 0x7fffffff;
	return seed;
}

/* A child of fork() ends at once. */
static __attribute__((noinline)) long meet(long round)
{
	long found = compute(round);
	int status = 0;
	pid_t child;

	pthread_barrier_wait(&met);
	if (round % 16 == 0) {
		child = fork();
		if (!child)
			_exit(7);
		found += waitpid(child, &status, 0) == child && WEXITSTATUS(status) == 7;
	}
	pthread_barrier_wait(&met);
	return found;
}

static long (*volatile to_meet)(long round) = meet;

/* Through a pointer, with as many values in registers as are kept there. */
static __attribute__((noinline)) long by_pointer(long a, long b, long c, long d, long e)
{
	long found = to_meet(a);

	STAYS();
	return found ^ a ^ b ^ c ^ d ^ e;
}

/* A frame that is aligned more than the stack is. */
static __attribute__((noinline)) long aligned(long round)
{
	volatile char room[128] __attribute__((aligned(64)));

	room[round % 128] = (char)round;
	return by_pointer(round, round + 1, round ^ 2, round * 3, round << 4) + room[round % 128];
}

/* A frame of a size that is known at run time only. */
static __attribute__((noinline)) long of_any_size(long round)
{
	volatile char *room = __builtin_alloca((size_t)round % 64 + 1);

	room[round % 64] = (char)round;
	return aligned(round) + room[round % 64];
}

static __attribute__((noinline)) long recurse(int depth, long round)
{
	long found = depth ? recurse(depth - 1, round) : of_any_size(round);

	STAYS();
	return found + depth;
}

static void *run(void *argument)
{
	long sum = 0;

	for (long round = 0; round < ROUNDS; round++)
		sum += recurse(DEPTH, round);
	*(long *)argument = sum;
	return NULL;
}

/* In @threads threads; return a sum of what they computed. */
long frames_run(unsigned threads);
long frames_run(unsigned threads)
{
	pthread_t thread[8];
	long sum[8], all = 0;

	pthread_barrier_init(&met, NULL, threads);
	for (unsigned i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, run, &sum[i]);
	for (unsigned i = 0; i < threads; i++) {
		pthread_join(thread[i], NULL);
		all += sum[i];
	}
	pthread_barrier_destroy(&met);
	return all;
}
