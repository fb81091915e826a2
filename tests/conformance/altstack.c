/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/altstack.c - threads that share one alternate stack
 *
 * As Varnish's do: only a panic is to use it. Two handlers of cpa on it would overwrite each other.
 */
#include <signal.h>

#include "tests/conformance/case.h"

#define THREADS 8
#define CPU_MS	300

static char stack[64 << 10];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
	stack_t all = { .ss_sp = stack, .ss_size = sizeof(stack) };
	struct timespec used;

	(void)argument;
	if (sigaltstack(&all, NULL))
		return NULL;
	do {
		for (int i = 0; i < 100; i++) {
			pthread_mutex_lock(&m);
			pthread_mutex_unlock(&m);
		}
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	} while (used.tv_sec == 0 && used.tv_nsec < CPU_MS * 1000000);
	return stack;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *done;

	begin("one alternate stack for all threads");
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], &done);
		DO("works", done == stack);
	}
	end();
	return 0;
}
