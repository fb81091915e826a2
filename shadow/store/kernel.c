/* SPDX-License-Identifier: MIT */
#include "shadow/arch/arch.h"
#include "shadow/store/hash.h"
#include "shadow/store/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define COUNTERS 64u
#define PATIENCE 20000u /* naps of NAP_NS */
#define NAP_NS	 100000

/* Atomic: system calls in progress in the threads that share the counter. */
static struct counter {
	uint32_t calls;
} __attribute__((aligned(CPA_CACHE_LINE))) counters[COUNTERS];

static uint32_t closed; /* atomic; never returns to 0 */

/* The calling thread's own calls in the counter: a signal handler may close during one. */
static __thread uint32_t own;

static struct counter *counter(void)
{
	uint64_t thread = (uint64_t)__builtin_thread_pointer();

	return &counters[(cpa_hash(thread) >> 32) % COUNTERS];
}

bool cpa_kernel_is_closed(void)
{
	/* Relaxed: a hint, except where fork() or a seccomp filter lies in between. */
	return __atomic_load_n(&closed, __ATOMIC_RELAXED);
}

bool cpa_kernel_begin(void)
{
	struct counter *c = counter();

	if (likely(!cpa_kernel_is_closed())) {
		own++;
		/*
		 * SEQ_CST, both: either this thread sees `closed` or cpa_kernel_close() sees the
		 * count.
		 */
		__atomic_fetch_add(&c->calls, 1, __ATOMIC_SEQ_CST);
		if (likely(!__atomic_load_n(&closed, __ATOMIC_SEQ_CST)))
			return true;
		cpa_kernel_end();
	}
	return false;
}

void cpa_kernel_end(void)
{
	/* RELEASE: the calls are complete. Pairs with cpa_kernel_close(). */
	__atomic_fetch_sub(&counter()->calls, 1, __ATOMIC_RELEASE);
	own--;
}

long cpa_kernel(long number, ...)
{
	long a[6], ret;
	va_list args;

	if (unlikely(!cpa_kernel_begin())) {
		errno = ENOSYS;
		return -1;
	}
	/*
	 * As libc does: read six arguments, even if fewer were passed; the kernel ignores the rest.
	 */
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	ret = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	cpa_kernel_end();
	return ret;
}

void cpa_kernel_close(void)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	const struct counter *mine = counter();
	unsigned naps = 0;

	/* SEQ_CST: pairs with cpa_kernel_begin(). */
	__atomic_store_n(&closed, 1, __ATOMIC_SEQ_CST);
	for (const struct counter *c = counters; c < counters + COUNTERS; c++)
		/* SEQ_CST: pairs with cpa_kernel_begin(), and with the RELEASE of cpa_kernel_end(). */
		while (__atomic_load_n(&c->calls, __ATOMIC_SEQ_CST) != (c == mine ? own : 0) &&
		       naps++ < PATIENCE)
			syscall(SYS_nanosleep, &nap, NULL);
}

void cpa_kernel_forked(void)
{
	memset(counters, 0, sizeof(counters));
	counter()->calls = own;
}
