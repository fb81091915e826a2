/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/masked_often.c - a thread that blocks all signals for half of its CPU time, and lets them in in between
 */
#include "tests/programs/burn.h"

#include <pthread.h>
#include <signal.h>

#define EACH_MS 100
#define ROUNDS	8

__attribute__((noinline)) static void open_to_all(void)
{
	burn_ms(EACH_MS);
}

__attribute__((noinline)) static void masked(void)
{
	burn_ms(EACH_MS);
}

int main(void)
{
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	for (int i = 0; i < ROUNDS; i++) {
		open_to_all();
		pthread_sigmask(SIG_SETMASK, &all, NULL);
		masked();
		pthread_sigmask(SIG_SETMASK, &none, NULL);
	}
	return 0;
}
