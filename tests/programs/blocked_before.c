/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/blocked_before.c - a part of the run begins while a thread is blocked
 *
 *	blocked_before lock     in pthread_mutex_lock()
 *	blocked_before poll     in poll(), which a signal ends
 *	blocked_before sampled  in poll(), which a signal ends, together with one as the sampler's timer sends it
 *	blocked_before restarted in a system call that cpa does not see, which both interrupt; the kernel begins it
 *				again
 *	blocked_before handles  in poll(), with a sample just before; a signal ends it whose handler works, without a
 *				frame of its own
 *	blocked_before unseen   in a system call that cpa does not see; then it uses a lock of its own
 *	blocked_before works    in a system call that cpa does not see, with a sample just before; then it works,
 *				without an event
 *
 * The thread, `waiter`, worked while profiling was off, and is asleep when the part begins. Prints, in
 * ns, its CPU time in the first part and from just before the call that blocks, and the time for which
 * it was blocked in the part at least.
 */
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
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
static bool unseen, polls, sampled, works, restarted, handles;
static long rounds;	 /* of the handler that works */
static siginfo_t sample; /* a signal of the sampler's timer */

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

/* For some WORK_MS. It calls nothing: the stack pointer stays where the kernel set it. */
static void work(int signal)
{
	(void)signal;
	for (long i = 0; i < rounds; i++)
		__asm__ volatile("" : : "r"(i));
}

static void measure_rounds(void)
{
	int64_t begun_ns = burn_clock_ns();

	rounds = 10 * 1000 * 1000;
	work(0);
	rounds = (long)((double)rounds * WORK_MS * 1e6 / (double)(burn_clock_ns() - begun_ns));
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
	if (works)
		burn_ms(WORK_MS);
	else
		use_own_lock();
}

/* Work, then take a signal that the sampler's timer sent to the thread meanwhile. Without cpa there is none. */
static void take_sample(void)
{
	const struct timespec now = { 0, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGSTKFLT);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	burn_ms(WORK_MS);
	for (int i = 0; i < 20 * WORK_MS && !sample.si_signo; i++) {
		burn_ms(1);
		syscall(SYS_rt_sigtimedwait, &set, &sample, &now, _NSIG / 8);
	}
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static void send_sample(int to)
{
	if (sample.si_signo)
		syscall(SYS_rt_tgsigqueueinfo, getpid(), to, SIGSTKFLT, &sample);
}

/* It was in the part before: cpa knows its CPU time since that ended. */
static void *waiter(void *unused)
{
	int64_t first_ns = burn_clock_ns(), begun_ns;

	for (int i = 0; i < USES; i++)
		use_own_lock();
	CPA_STOP();
	first_ns = burn_clock_ns() - first_ns;
	if (sampled || restarted || works || handles)
		take_sample();
	else
		burn_ms(WORK_MS);
	begun_ns = burn_clock_ns();
	if (works || handles)
		send_sample((int)syscall(SYS_gettid));
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

/*
 * The threads share a processor, and do not preempt each other as they wake: when the waiter runs again it has
 * both of two signals.
 */
static void share_processor(void)
{
	const struct sched_param none = { 0 };
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
	sched_setscheduler(0, SCHED_BATCH, &none);
}

static void choose(const char *how)
{
	handles = strcmp(how, "handles") == 0;
	sampled = strcmp(how, "sampled") == 0;
	restarted = strcmp(how, "restarted") == 0;
	works = strcmp(how, "works") == 0;
	unseen = works || restarted || strcmp(how, "unseen") == 0;
	polls = sampled || handles || strcmp(how, "poll") == 0;
	if (handles)
		measure_rounds();
	if (sampled || restarted)
		share_processor();
	sigaction(SIGUSR1,
		  &(struct sigaction){ .sa_handler = handles ? work : interrupt,
				       .sa_flags = restarted ? SA_RESTART : 0 },
		  NULL);
}

/* Let both signals interrupt the call, which goes on. */
static void interrupt_only(pthread_t thread)
{
	const struct timespec while_it_runs = { 0, 10 * 1000 * 1000 };

	send_sample(tid);
	pthread_kill(thread, SIGUSR1);
	nanosleep(&while_it_runs, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	int64_t begun_ns;

	choose(argc == 2 ? argv[1] : "");
	pthread_mutex_lock(&awaited_lock);
	CPA_START();
	pthread_create(&thread, NULL, waiter, NULL);
	await_asleep(&tid);
	CPA_START();
	begun_ns = now_ns();
	burn_ms(WORK_MS);
	begun_ns = now_ns() - begun_ns;
	if (restarted)
		interrupt_only(thread);
	pthread_mutex_unlock(&awaited_lock);
	__atomic_store_n(&done, 1, __ATOMIC_RELEASE);
	futex(FUTEX_WAKE, 1);
	if (sampled)
		send_sample(tid);
	if (polls)
		pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	CPA_STOP();
	printf("%lld\n", (long long)begun_ns);
	return 0;
}
