/* SPDX-License-Identifier: MIT */
/*
 * preload/core/instrument.h - programs compiled with -finstrument-functions
 *
 * The compiler calls __cyg_profile_func_enter() and __cyg_profile_func_exit() around each function;
 * libc has them too, empty, so such programs run without us. One clock stamp a call: the time since
 * the last one belongs to the function that was innermost. What our own code takes after that stamp
 * is known from a measurement at the first call; it is probe time, and the next stamp takes it off.
 *
 * Tail of exceptions and jumps: gcc makes an exit call as an exception passes. clang does not, then
 * the next call of the catching function shows which calls are over. longjmp() and kin are wrapped
 * and tell the stack pointer they go to: see preload/core/jump.c.
 */
#ifndef CPA_PRELOAD_CORE_INSTRUMENT_H
#define CPA_PRELOAD_CORE_INSTRUMENT_H

#include "preload/core/worker.h"

/* Add to @span, of the time since the last stamp, what was stamped since the last event. */
CPA_HIDDEN void cpa_instrument_end(struct cpa_calls *c, struct cpa_span *span);

/* The calling thread is about to jump to a function whose stack pointer is @stack. */
CPA_HIDDEN void cpa_instrument_jump(uint64_t stack);

#endif
