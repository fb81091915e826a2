/* SPDX-License-Identifier: MIT */
/* tests/programs/brief_sleeps.c - sleeps of as many us as the argument says, until a thread has worked for 200 ms */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define WORK_MS 200

static bool done; /* atomic */

static void *work(void *unused)
{
	burn_ms(WORK_MS);
	__atomic_store_n(&done, true, __ATOMIC_RELEASE);
	return unused;
}

int main(int argc, char **argv)
{
	useconds_t us = argc > 1 ? (useconds_t)atoi(argv[1]) : 0;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		usleep(us);
	pthread_join(thread, NULL);
	return 0;
}
