/* SPDX-License-Identifier: MIT */
/*
 * preload/core/jump.c - longjmp() and kin
 *
 * The waits that a jump leaves have no end, the calls of instrumented builds no exit. glibc keeps
 * the stack pointer of the function that called setjmp() in the buffer, rotated and mixed with a
 * number of the thread's.
 */
#include <setjmp.h>

#include "preload/core/instrument.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"

#ifndef __x86_64__
#error "cpa needs x86-64: preload/core/jump.c is one more place to add a processor"
#endif

#define STACK_POINTER 6 /* its place in the buffer */
#define ROTATED	      17

static uint64_t target(const struct __jmp_buf_tag *buffer)
{
	uint64_t mixed = (uint64_t)buffer->__jmpbuf[STACK_POINTER], guard;

	mixed = mixed >> ROTATED | mixed << (64 - ROTATED);
	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return mixed ^ guard;
}

#define JUMP(name)                                                      \
	CPA_EXPORT void name(struct __jmp_buf_tag buffer[1], int value) \
	{                                                               \
		cpa_part_jump(target(buffer));                          \
		cpa_instrument_jump(target(buffer));                    \
		REAL(name)(buffer, value);                              \
		__builtin_unreachable();                                \
	}

void __longjmp_chk(struct __jmp_buf_tag buffer[1], int value) __attribute__((noreturn));

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk) /* what _FORTIFY_SOURCE makes of them */
