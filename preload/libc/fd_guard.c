/* SPDX-License-Identifier: MIT */
#include "preload/libc/fd_guard.h"

#include <errno.h>
#include <linux/futex.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "preload/libc/real.h"
#include "preload/libc/signal_mask.h"
#include "shadow/arch/arch.h"
#include "shadow/store/kernel.h"

/*
 * Longest wait while ours is opened. That takes some 0.01 ms, but the thread may lose its processor
 * meanwhile, for several turns of all others.
 */
#define PATIENCE_S 2

/*
 * State of the guard. HELD: a thread of the profiler opens a descriptor. AWAITED: the same, and calls of the program
 * sleep until it is done. LOST: that thread did not end within PATIENCE_S, and calls of the program no longer wait for
 * it.
 */
enum { FREE, HELD, AWAITED, LOST };

/* A handler may interrupt a call, make one, and be interrupted: more than so many seldom are in each other. */
#define FRAMES 4u

static uint32_t ours;
static uint32_t theirs; /* calls of the program that are choosing a number */

/* The thread has the guard: a handler of a fault, which is not blocked, does not wait for it. */
static __thread bool holds __attribute__((tls_model("initial-exec")));

/* Of `theirs` those of the thread: a handler may interrupt one, and fork. */
static __thread uint32_t placing __attribute__((tls_model("initial-exec")));

/* Of the first of these the stack pointer, while it is counted in `theirs`; else 0. */
static __thread uint64_t frame[FRAMES] __attribute__((tls_model("initial-exec")));

bool cpa_fd_guard_begin(sigset_t *signals)
{
	uint32_t none = FREE;

	if (!cpa_kernel_begin())
		return false;
	*signals = cpa_signal_hold();
	/*
	 * SEQ_CST: of two that come at once, one sees the other. Pairs with cpa_fd_guard_place().
	 */
	if (__atomic_compare_exchange_n(&ours, &none, HELD, false, __ATOMIC_SEQ_CST,
					__ATOMIC_RELAXED)) {
		holds = true;
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
	holds = false;
	/*
	 * RELEASE: our descriptor has its final number, or is closed. Pairs with
	 * cpa_fd_guard_place(). If it is LOST, others that came later may still sleep.
	 */
	if (unlikely(__atomic_exchange_n(&ours, FREE, __ATOMIC_RELEASE) != HELD))
		REAL(syscall)(SYS_futex, &ours, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
	cpa_signal_let(signals);
	cpa_kernel_end();
}

/* If a thread has the guard, tell it that the caller waits. Return whether one has. */
static bool is_awaited(void)
{
	uint32_t state = HELD;

	/* SEQ_CST, both: as in cpa_fd_guard_place(). */
	return __atomic_compare_exchange_n(&ours, &state, AWAITED, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST) ||
	       state == AWAITED;
}

/* Wait until nobody has the guard. Who has it for too long is dead or stopped, and has lost it. */
static __attribute__((noinline, cold)) void await_ours(void)
{
	struct timespec until;
	uint32_t awaited = AWAITED;
	int err = errno;

	if (!cpa_kernel_begin())
		return;
	REAL(syscall)(SYS_clock_gettime, CLOCK_MONOTONIC, &until);
	until.tv_sec += PATIENCE_S;
	while (is_awaited() && (!REAL(syscall)(SYS_futex, &ours, FUTEX_WAIT_BITSET_PRIVATE, AWAITED,
					       &until, NULL, FUTEX_BITSET_MATCH_ANY) ||
				errno == EINTR || errno == EAGAIN))
		;
	/* Relaxed, both: nothing follows. Another thread that has it by now is about to give it up. */
	__atomic_compare_exchange_n(&ours, &awaited, LOST, false, __ATOMIC_RELAXED,
				    __ATOMIC_RELAXED);
	cpa_kernel_end();
	errno = err;
}

/* The frame of the latest call has the stack pointer @pointer. */
static void set_frame(uint64_t pointer)
{
	/* SEQ_CST, both: handlers of the thread see it and the counts in order. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (likely(placing - 1 < FRAMES))
		frame[placing - 1] = pointer;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

void cpa_fd_guard_place(void)
{
	uint64_t here;
	uint32_t state;

	CPA_ARCH_STORE_STACK_POINTER(here);
	placing++;
	/* SEQ_CST, both: pairs with cpa_fd_guard_begin(). */
	__atomic_fetch_add(&theirs, 1, __ATOMIC_SEQ_CST);
	set_frame(here);
	state = __atomic_load_n(&ours, __ATOMIC_SEQ_CST);
	if (unlikely((state == HELD || state == AWAITED) && !holds))
		await_ours();
}

void cpa_fd_guard_placed(void)
{
	if (unlikely(!placing)) /* a jump seemed to end it, which was one to another stack */
		return;
	set_frame(0);
	/*
	 * RELEASE: the program's call is over before one of ours is opened. Pairs with
	 * cpa_fd_guard_begin().
	 */
	__atomic_fetch_sub(&theirs, 1, __ATOMIC_RELEASE);
	placing--;
}

uint64_t cpa_fd_guard_frame(void)
{
	return placing - 1 < FRAMES ? frame[placing - 1] : 0;
}

void cpa_fd_guard_ended(void)
{
	/* One that a jump left just before it was counted, or behind that, has no frame. Relaxed: sums. */
	for (; unlikely(placing); placing--)
		if (placing > FRAMES || frame[placing - 1])
			__atomic_fetch_sub(&theirs, 1, __ATOMIC_RELAXED);
	memset(frame, 0, sizeof(frame));
}

void cpa_fd_guard_forked(void)
{
	set_frame(0);
	ours = FREE;
	if (likely(placing)) /* as in cpa_fd_guard_placed() */
		placing--;
	theirs = placing;
}
