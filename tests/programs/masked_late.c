/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/masked_late.c - a thread that comes to block all signals
 *
 * Each function has as much CPU time as the others, but for a millisecond, as the compiler would
 * make one of them: one while signals may come, and two after.
 */
#include "tests/programs/burn.h"

#include <pthread.h>
#include <signal.h>

#define EACH_MS 800

__attribute__((noinline)) static void open_to_all(void)
{
	burn_ms(EACH_MS);
}

__attribute__((noinline)) static void masked(void)
{
	burn_ms(EACH_MS + 1);
}

__attribute__((noinline)) static void still_masked(void)
{
	burn_ms(EACH_MS + 2);
}

int main(void)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	sigset_t all;

	open_to_all();
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	for (int i = 0; i < 2; i++) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		if (i)
			still_masked();
		else
			masked();
	}
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	return 0;
}
