/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/late_event.c - an operation of a thread begins in one part of the run, its event is in the next
 *
 *	late_event waits     it locks a mutex that was held when it tried, and is free when it waits; then it ends the
 *			     program
 *	late_event releases  it unlocks a mutex, for which main waits since the next part began
 *
 * Before, it computes for 60 ms. A second argument: profiling is stopped and started so many times in between.
 * With tests/plugins/slow_clock.so, as if the thread lost its processor in the operation. Without it it does nothing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define OFF_MS	50
#define ON_MS	50
#define BUSY_MS 60

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void (*arm)(void), (*let)(void);
static bool (*reached)(void);
static int tid; /* of main, as it waits */
static int stops;

/* By no function that cpa wraps. */
static void sleep_ms(long ms)
{
	struct timespec left = { .tv_nsec = ms * 1000000 };

	while (syscall(SYS_nanosleep, &left, &left))
		;
}

static void *waits(void *unused)
{
	sleep_ms(1); /* cpa looks at the clock after that */
	burn_ms(BUSY_MS);
	arm();
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	exit(0);
	return unused;
}

static void *releases(void *unused)
{
	pthread_mutex_lock(&mutex);
	sleep_ms(1);
	burn_ms(BUSY_MS);
	arm();
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *opener(void *unused)
{
	await_asleep(&tid);
	let();
	return unused;
}

static void next_part(void)
{
	while (!reached())
		sleep_ms(1);
	for (int i = 0; i < stops; i++) {
		CPA_STOP();
		sleep_ms(OFF_MS);
		CPA_START();
		sleep_ms(1);
	}
	sleep_ms(ON_MS);
}

static void wait_late(void)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, waits, NULL);
	next_part();
	pthread_mutex_unlock(&mutex);
	let();
	pthread_join(thread, NULL);
}

static void release_late(void)
{
	pthread_t thread, opens;

	pthread_create(&opens, NULL, opener, NULL);
	pthread_create(&thread, NULL, releases, NULL);
	next_part();
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

int main(int argc, char **argv)
{
	*(void **)&arm = dlsym(RTLD_DEFAULT, "slow_clock_arm");
	*(void **)&let = dlsym(RTLD_DEFAULT, "slow_clock_open");
	*(void **)&reached = dlsym(RTLD_DEFAULT, "slow_clock_reached");
	stops = argc > 2 ? atoi(argv[2]) : 1;
	if (argc < 2 || !arm || !let || !reached)
		return 2;
	if (strcmp(argv[1], "waits") == 0)
		wait_late();
	else
		release_late();
	return 0;
}
