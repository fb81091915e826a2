/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/blocked_before.c - a part of the run begins while a thread is blocked
 *
 *	blocked_before lock     in pthread_mutex_lock()
 *	blocked_before poll     in poll(), which a signal ends
 *	blocked_before unseen   in a system call that cpa does not see; then it uses a lock of its own
 *
 * The thread, `waiter`, worked while profiling was off, and is asleep when the part begins. Prints, in
 * ns, its CPU time in the first part and from just before the call that blocks, and the time for which
 * it was blocked in the part at least.
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define WORK_MS 50
#define USES	1000 /* of its lock, so that its usual activity is known, and short */

static pthread_mutex_t awaited_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_lock = PTHREAD_MUTEX_INITIALIZER;
static int tid, done; /* done: a futex */
static bool unseen, polls;

static void use_own_lock(void)
{
	pthread_mutex_lock(&own_lock);
	pthread_mutex_unlock(&own_lock);
}

/* By no function that cpa wraps. */
static void futex(int operation, long value)
{
	register const void *timeout __asm__("r10") = NULL;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(SYS_futex), "D"(&done), "S"(operation), "d"(value), "r"(timeout)
			 : "rcx", "r11", "memory");
}

static void interrupt(int signal)
{
	(void)signal;
}

static void await(void)
{
	if (polls) {
		poll(NULL, 0, -1);
		return;
	}
	if (!unseen) {
		pthread_mutex_lock(&awaited_lock);
		pthread_mutex_unlock(&awaited_lock);
		return;
	}
	while (!__atomic_load_n(&done, __ATOMIC_ACQUIRE))
		futex(FUTEX_WAIT, 0);
	use_own_lock();
}

/* It was in the part before: cpa knows its CPU time since that ended. */
static void *waiter(void *unused)
{
	int64_t first_ns = burn_clock_ns(), begun_ns;

	for (int i = 0; i < USES; i++)
		use_own_lock();
	CPA_STOP();
	first_ns = burn_clock_ns() - first_ns;
	burn_ms(WORK_MS);
	begun_ns = burn_clock_ns();
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	await();
	printf("%lld\n", (long long)(first_ns + burn_clock_ns() - begun_ns));
	return unused;
}

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int64_t begun_ns;

	unseen = argc == 2 && strcmp(argv[1], "unseen") == 0;
	polls = argc == 2 && strcmp(argv[1], "poll") == 0;
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = interrupt }, NULL);
	pthread_mutex_lock(&awaited_lock);
	CPA_START();
	pthread_create(&thread, NULL, waiter, NULL);
	await_asleep(&tid);
	CPA_START();
	begun_ns = now_ns();
	burn_ms(WORK_MS);
	begun_ns = now_ns() - begun_ns;
	pthread_mutex_unlock(&awaited_lock);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	futex(FUTEX_WAKE, 1);
	if (polls)
		pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	CPA_STOP();
	printf("%lld\n", (long long)begun_ns);
	return 0;
}
