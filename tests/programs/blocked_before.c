/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/blocked_before.c - a part of the run begins while a thread waits for a lock
 *
 * The waiter works while profiling is off, and is asleep in its call when the part begins. Prints the CPU
 * time, in ns, that it took from just before that call to its end.
 */
#include <pthread.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define WORK_MS 50

static pthread_mutex_t awaited_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static int tid;

/* It was in the part before: cpa knows its CPU time since that ended. */
static void *waiter(void *unused)
{
	int64_t begun_ns;

	pthread_mutex_lock(&own_lock);
	pthread_mutex_unlock(&own_lock);
	CPA_STOP();
	burn_ms(WORK_MS);
	begun_ns = burn_clock_ns();
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pthread_mutex_lock(&awaited_lock);
	pthread_mutex_unlock(&awaited_lock);
	printf("%lld\n", (long long)(burn_clock_ns() - begun_ns));
	return unused;
}

int main(void)
{
	pthread_t thread;

	pthread_mutex_lock(&awaited_lock);
	CPA_START();
	pthread_create(&thread, NULL, waiter, NULL);
	await_asleep(&tid);
	CPA_START();
	burn_ms(WORK_MS);
	pthread_mutex_unlock(&awaited_lock);
	pthread_join(thread, NULL);
	CPA_STOP();
	return 0;
}
