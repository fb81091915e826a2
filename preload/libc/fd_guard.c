/* SPDX-License-Identifier: MIT */
#include "preload/libc/fd_guard.h"

#include <errno.h>
#include <linux/futex.h>
#include <time.h>
#include <unistd.h>

#include "preload/libc/real.h"
#include "preload/libc/signal_mask.h"
#include "shadow/store/kernel.h"

#define PATIENCE_NS 10000000 /* longest wait while ours is opened: takes some 0.01 ms */
#define TRIES	    3u

static uint32_t ours;	/* 1: a thread opens a descriptor of ours */
static uint32_t theirs; /* calls of the program that are choosing a number */

bool cpa_fd_guard_begin(sigset_t *signals)
{
	uint32_t none = 0;

	if (!cpa_kernel_begin())
		return false;
	*signals = cpa_signal_hold();
	/*
	 * SEQ_CST: of two that come at once, one sees the other. Pairs with cpa_fd_guard_place().
	 */
	if (__atomic_compare_exchange_n(&ours, &none, 1, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED)) {
		/* SEQ_CST: pairs with cpa_fd_guard_place(). */
		if (!__atomic_load_n(&theirs, __ATOMIC_SEQ_CST))
			return true;
		cpa_fd_guard_end(signals);
		return false;
	}
	cpa_signal_let(signals);
	cpa_kernel_end();
	return false;
}

void cpa_fd_guard_end(const sigset_t *signals)
{
	/*
	 * RELEASE: our descriptor has its final number, or is closed. Pairs with
	 * cpa_fd_guard_place().
	 */
	__atomic_store_n(&ours, 0, __ATOMIC_RELEASE);
	REAL(syscall)(SYS_futex, &ours, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	cpa_signal_let(signals);
	cpa_kernel_end();
}

void cpa_fd_guard_place(void)
{
	static const struct timespec patience = { 0, PATIENCE_NS };
	int err = errno;

	for (unsigned i = 0; i < TRIES; i++) {
		/* SEQ_CST: pairs with cpa_fd_guard_begin(). */
		__atomic_fetch_add(&theirs, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&ours, __ATOMIC_SEQ_CST))
			return;
		/* Relaxed: the call has done nothing yet. */
		__atomic_fetch_sub(&theirs, 1, __ATOMIC_RELAXED);
		if (!cpa_kernel_begin())
			break;
		REAL(syscall)(SYS_futex, &ours, FUTEX_WAIT_PRIVATE, 1, &patience, NULL, 0);
		cpa_kernel_end();
		errno = err;
	}
	/* Relaxed: the thread that opens ours is dead or stopped. */
	__atomic_fetch_add(&theirs, 1, __ATOMIC_RELAXED);
}

void cpa_fd_guard_placed(void)
{
	/*
	 * RELEASE: the program's call is over before one of ours is opened. Pairs with
	 * cpa_fd_guard_begin().
	 */
	__atomic_fetch_sub(&theirs, 1, __ATOMIC_RELEASE);
}

void cpa_fd_guard_forked(uint32_t forks)
{
	ours = 0;
	theirs = forks;
}
