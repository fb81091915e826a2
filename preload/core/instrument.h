/* SPDX-License-Identifier: MIT */
/*
 * preload/core/instrument.h - programs compiled with -finstrument-functions
 *
 * The compiler calls __cyg_profile_func_enter() and __cyg_profile_func_exit() around each function;
 * libc has empty ones, so such programs run without cpa. Each call takes one clock stamp: the time
 * since the last stamp belongs to the innermost function. The time of our code behind the stamp is
 * measured at the first call; it is probe time, and the next stamp subtracts it.
 *
 * Exceptions and jumps: code of gcc calls the exit function as an exception passes. Code of clang
 * does not; the next call of the catching function then shows which calls are over. The wrappers of
 * longjmp() and kin tell the stack pointer of the target: see preload/core/jump.c.
 */
#ifndef CPA_PRELOAD_CORE_INSTRUMENT_H
#define CPA_PRELOAD_CORE_INSTRUMENT_H

#include "preload/core/guard.h"

/* Add the times stamped since the last event to @span, which has the time since the last stamp. */
CPA_HIDDEN void cpa_instrument_end(struct cpa_calls *c, struct cpa_span *span);

/* The calling thread is about to jump to a function whose stack pointer is @stack. */
CPA_HIDDEN void cpa_instrument_jump(uint64_t stack);

#endif
