/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unseen_parts.c - parts that cpa cannot see: a wait and a thread without a function call
 *
 * A thread that clone() makes works for 300 ms and wakes, by a system call that is compiled in, the
 * thread `waiter`, which main() joins. It begins when that one is blocked, and works for at least as long
 * as all that came before took, so that of the run's time the wait is a large part. The cloned thread is
 * still there at the end. Before, main() reads a byte from standard input. It has a copy of nobody's
 * thread-local storage: it calls no function of the C library.
 */
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "burn.h"

#define STACK	65536
#define WORK_MS 300
#define MAIN_MS 200

static uint32_t done;  /* atomic, a futex */
static uint64_t begun; /* ticks */
static char stack[STACK] __attribute__((aligned(16)));

__attribute__((always_inline)) static inline long call(long number, const void *a, long b, long c)
{
	register long fourth __asm__("r10") = 0;
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth)
			 : "rcx", "r11", "memory");
	return result;
}

/* CPU time of the calling thread. */
static int64_t worked_ns(void)
{
	struct timespec now = { 0 };

	call(SYS_clock_gettime, (void *)CLOCK_THREAD_CPUTIME_ID, (long)&now, 0);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static _Noreturn int stranger(void *unused)
{
	uint64_t now;

	(void)unused;
	while (call(SYS_futex, &done, FUTEX_WAKE, 1) != 1)
		;
	now = __builtin_ia32_rdtsc();
	while (worked_ns() < WORK_MS * INT64_C(1000000) ||
	       __builtin_ia32_rdtsc() - now < now - begun)
		for (long i = 0; i < 100000; i++)
			__asm__ volatile("" : : "r"(i));
	__atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
	call(SYS_futex, &done, FUTEX_WAKE, 1);
	for (;;)
		call(SYS_pause, NULL, 0, 0);
}

static void *waiter(void *unused)
{
	while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST))
		call(SYS_futex, &done, FUTEX_WAIT, 0);
	return unused;
}

int main(void)
{
	pthread_t thread;
	char byte;

	begun = __builtin_ia32_rdtsc();
	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 2;
	burn_ms(MAIN_MS);
	if (clone(stranger, stack + STACK,
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM,
		  NULL) < 0)
		return 3;
	if (pthread_create(&thread, NULL, waiter, NULL) || pthread_join(thread, NULL))
		return 4;
	puts("done");
	return 0;
}
