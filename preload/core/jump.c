/* SPDX-License-Identifier: MIT */
/*
 * preload/core/jump.c - longjmp() and its variants
 *
 * A jump ends the waits, the calls and the instrumented functions that it leaves.
 */
#include <setjmp.h>

#include "preload/core/instrument.h"
#include "preload/core/signal.h"
#include "preload/core/window.h"
#include "preload/libc/fd_guard.h"
#include "preload/libc/real.h"
#include "shadow/arch/arch.h"

/* A jump out of a handler that interrupted calls which take numbers of descriptors ends these. */
static void leave_calls(uint64_t target)
{
	uint64_t frame;

	while (unlikely((frame = cpa_fd_guard_frame())) && cpa_signal_leaves(frame, target))
		cpa_fd_guard_placed();
}

#define JUMP(name)                                                      \
	CPA_EXPORT void name(struct __jmp_buf_tag buffer[1], int value) \
	{                                                               \
		leave_calls(cpa_arch_jump_target(buffer));              \
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
