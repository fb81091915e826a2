/* SPDX-License-Identifier: MIT */
/*
 * preload/core/jump.c - longjmp() and its variants
 *
 * A jump ends the waits, the calls and the instrumented functions that it leaves. One out of our own code ends
 * the thread's profile.
 */
#include <errno.h>
#include <setjmp.h>

#include "preload/core/instrument.h"
#include "preload/core/signal.h"
#include "preload/core/window.h"
#include "preload/libc/fd_guard.h"
#include "preload/libc/real.h"
#include "preload/unwind/stack.h"
#include "shadow/arch/arch.h"
#include "shadow/edge/thread.h"

/*
 * Whether a jump to @target ends the call at @frame: it stays on the thread's own stack, as far as that is known.
 * A handler that jumps to another stack may have switched coroutines, and the call goes on later.
 */
static bool ends(uint64_t frame, uint64_t target)
{
	struct cpa_stack_own own = cpa_stack_own_at(frame, cpa_tls.stack);

	return target >= frame && target < own.top && cpa_signal_leaves(frame, target);
}

/* A jump out of a handler that interrupted calls which take numbers of descriptors ends these. */
static __attribute__((noinline, cold)) void leave_calls(uint64_t target)
{
	int err = errno;
	uint64_t frame;

	while ((frame = cpa_fd_guard_frame()) && *cpa_alive && ends(frame, target))
		cpa_fd_guard_placed();
	errno = err;
}

/* A jump out of our own code ends the thread's profile, perhaps in the middle of an event: others read its row. */
static __attribute__((noinline, cold)) void leave_inside(uint64_t target)
{
	struct cpa_worker *w = cpa_tls.worker;
	int err = errno;

	if (*cpa_alive && w && w->between && ends(w->between, target))
		cpa_thread_left(&w->self);
	errno = err;
}

#define JUMP(name)                                                      \
	CPA_EXPORT void name(struct __jmp_buf_tag buffer[1], int value) \
	{                                                               \
		if (unlikely(cpa_fd_guard_frame()))                     \
			leave_calls(cpa_arch_jump_target(buffer));      \
		if (unlikely(cpa_tls.inside))                           \
			leave_inside(cpa_arch_jump_target(buffer));     \
		cpa_window_jump(cpa_arch_jump_target(buffer));          \
		cpa_instrument_jump(cpa_arch_jump_target(buffer));      \
		REAL(name)(buffer, value);                              \
		__builtin_unreachable();                                \
	}

void __longjmp_chk(struct __jmp_buf_tag buffer[1], int value) __attribute__((noreturn));

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk) /* called in place of longjmp() by programs built with _FORTIFY_SOURCE */
