/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/processors.c - how near two processors are
 *
 * Two threads, each on a processor of its own, write a cache line in turns. Prints the ns of a turn and
 * its answer, of the fastest batch: beside other work most batches are slower. On a virtual machine the
 * host decides where its processors are, and may decide anew at any time: on one core, as two hardware
 * threads of it, or on two cores. On one core each has about half of what the core can do while the other
 * computes; on two a lock that goes from one to the other takes longer. Prints 0 where there is one
 * processor only.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#define BATCHES 400
#define TURNS	200

static _Alignas(128) atomic_uint line;
static int processors[2];

static bool find_two(void)
{
	cpu_set_t all;
	int found = 0;

	if (sched_getaffinity(0, sizeof(all), &all))
		return false;
	for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
		if (CPU_ISSET(i, &all))
			processors[found++] = i;
	return found == 2;
}

static void stay_on(int processor)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(processor, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void await(unsigned value)
{
	while (atomic_load_explicit(&line, memory_order_acquire) != value)
		;
}

static void *answer(void *arg)
{
	stay_on(processors[1]);
	for (unsigned i = 0; i < BATCHES * TURNS; i++) {
		await(2 * i + 1);
		atomic_store_explicit(&line, 2 * i + 2, memory_order_release);
	}
	return arg;
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(void)
{
	uint64_t least = UINT64_MAX;
	pthread_t other;

	if (!find_two()) {
		puts("0");
		return 0;
	}
	stay_on(processors[0]);
	if (pthread_create(&other, NULL, answer, NULL))
		return 1;
	for (unsigned batch = 0; batch < BATCHES; batch++) {
		uint64_t begun = now_ns(), took;

		for (unsigned i = batch * TURNS; i < (batch + 1) * TURNS; i++) {
			atomic_store_explicit(&line, 2 * i + 1, memory_order_release);
			await(2 * i + 2);
		}
		took = now_ns() - begun;
		least = took < least ? took : least;
	}
	pthread_join(other, NULL);
	printf("%.0f\n", (double)least / TURNS);
	return 0;
}
