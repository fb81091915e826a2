/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/spin_wait.c - a thread that burns most of its CPU time in waits for a spin lock
 *
 * The section of the one that waits is brief, that of the other one is not.
 */
#include "tests/programs/burn.h"

#include <pthread.h>

#define ROUNDS	 40
#define KEEP_MS	 20
#define APART_MS 4 /* between two sections of the holder's: the waiter gets the lock */
#define BRIEF_MS 2
#define REST_MS	 3

static pthread_spinlock_t lock;

__attribute__((noinline)) static void keep(void)
{
	burn_ms(KEEP_MS);
}

__attribute__((noinline)) static void apart(void)
{
	burn_ms(APART_MS);
}

__attribute__((noinline)) static void brief(void)
{
	burn_ms(BRIEF_MS);
}

__attribute__((noinline)) static void rest(void)
{
	burn_ms(REST_MS);
}

static void *waiter(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_spin_lock(&lock);
		brief();
		pthread_spin_unlock(&lock);
		rest();
	}
	return arg;
}

int main(void)
{
	pthread_t thread;

	pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
	pthread_create(&thread, NULL, waiter, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		pthread_spin_lock(&lock);
		keep();
		pthread_spin_unlock(&lock);
		apart();
	}
	pthread_join(thread, NULL);
	return 0;
}
