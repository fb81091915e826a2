/* SPDX-License-Identifier: MIT */
#include "preload/code/unload.h"

#include <errno.h>
#include <time.h>

#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

#define PAUSES	 100u	/* some microseconds: what a reader that runs needs */
#define PATIENCE 20000u /* naps of NAP_NS */
#define NAP_NS	 50000

uint32_t cpa_unloads;

/* Atomic: threads that read modules, and threads that unload some. */
static uint32_t reading, unloading;

bool cpa_unload_hold_in(uint32_t mine)
{
	/*
	 * SEQ_CST, here and in cpa_unload_begin(): each of two threads at least sees the count of the
	 * other.
	 */
	__atomic_fetch_add(&reading, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&unloading, __ATOMIC_SEQ_CST) == mine)
		return true;
	cpa_unload_let();
	return false;
}

bool cpa_unload_hold(void)
{
	return cpa_unload_hold_in(0);
}

void cpa_unload_let(void)
{
	/* RELEASE: all reads come before. Pairs with cpa_unload_begin(). */
	__atomic_fetch_sub(&reading, 1, __ATOMIC_RELEASE);
}

void cpa_unload_begin(void)
{
	static const struct timespec nap = { .tv_nsec = NAP_NS };
	int err = errno;

	/* SEQ_CST, all: as in cpa_unload_hold(). */
	__atomic_fetch_add(&unloading, 1, __ATOMIC_SEQ_CST);
	for (unsigned n = 0; n < PAUSES && __atomic_load_n(&reading, __ATOMIC_SEQ_CST); n++)
		cpa_arch_pause();
	/* A nap leaves the processor to a reader that has lost its own, whatever its priority. */
	for (unsigned n = 0; n < PATIENCE && __atomic_load_n(&reading, __ATOMIC_SEQ_CST); n++)
		cpa_kernel(SYS_nanosleep, &nap, NULL);
	errno = err;
}

void cpa_unload_end(void)
{
	/* RELEASE: the libraries are gone. Pairs with cpa_unload_hold(). */
	__atomic_fetch_sub(&unloading, 1, __ATOMIC_RELEASE);
}

void cpa_unload_forked(uint32_t mine)
{
	/* Only this thread is left. A destructor may fork: then its library is still to be unloaded. */
	reading = 0;
	unloading = mine;
}
