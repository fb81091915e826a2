/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unseen_parts.c - parts that cpa cannot see: a wait and a thread without a function call
 *
 * A thread that clone() makes works for 300 ms and wakes, by a system call that is compiled in, the
 * thread `waiter`, which main() joins. The cloned thread is still there at the end. Before, main() reads
 * a byte from standard input. It has a copy of nobody's thread-local storage: it calls no function of
 * the C library.
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

static uint32_t done; /* atomic, a futex */
static long rounds;   /* of WORK_MS */
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

static _Noreturn int stranger(void *unused)
{
	(void)unused;
	for (long i = 0; i < rounds; i++)
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

/* Rounds of a loop that take @ms, by what 50 ms of CPU time are. */
static long measure(int ms)
{
	int64_t begin = burn_clock_ns();
	long all = 0;

	for (; burn_clock_ns() - begin < 50 * INT64_C(1000000); all += 100000)
		for (long i = 0; i < 100000; i++)
			__asm__ volatile("" : : "r"(i));
	return all / 50 * ms;
}

int main(void)
{
	pthread_t thread;
	char byte;

	if (read(STDIN_FILENO, &byte, 1) != 1)
		return 2;
	rounds = measure(WORK_MS);
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
