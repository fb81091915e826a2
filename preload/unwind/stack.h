/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/stack.h - words of the calling thread's stack
 *
 * A load may fault: a walk may be misled by code without tables or by a damaged stack. So before a walk
 * loads from a page of the thread's own stack the kernel is asked whether that can be read. Frames
 * between stack pointer and top are those of the running thread, and stay there meanwhile.
 *
 * Elsewhere, on stacks of coroutines and of signals, nobody knows who may unmap what a misled walk looks
 * at. From there the kernel copies, a window at a time, by process_vm_readv(), which fails where a
 * load would fault. It costs some 10 us where a question costs half of one.
 */
#ifndef CPA_PRELOAD_UNWIND_STACK_H
#define CPA_PRELOAD_UNWIND_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define CPA_STACK_WINDOW 4096u /* bytes */
#define CPA_STACK_TURNS	 64u   /* most system calls for windows in a walk */

/* A stack as a walk sees it. The caller owns it. Addresses. */
struct cpa_stack_view {
	uint64_t top;	   /* end of the thread's own stack; 0: not known */
	uint64_t bottom;   /* stack pointer of the innermost frame: nothing is read below */
	uint64_t from, to; /* what the window holds */
	const char *at;	   /* where it holds it */
	uint32_t turns;	   /* windows that the walk may still get */
	char copy[CPA_STACK_WINDOW];
};

/*
 * Once, at start: @copies: process_vm_readv() may be called. Without it only the thread's own stack is
 * read. Asks the kernel whether it copies: a container may forbid that.
 */
__attribute__((visibility("hidden"))) void cpa_stack_init(bool copies);

/* The end of the calling thread's own stack; 0: it is not on it. No system call. */
__attribute__((visibility("hidden"))) uint64_t cpa_stack_top(void);

/* Whether something can be read of the stack of a thread whose own ends at @top, 0: not known. */
__attribute__((visibility("hidden"))) bool cpa_stack_can(uint64_t top);

/* A walk begins, of the thread whose own stack ends at @top, 0: not known. */
static inline void cpa_stack_begin(struct cpa_stack_view *s, uint64_t top)
{
	s->top = top;
	s->bottom = s->from = s->to = 0;
	s->turns = CPA_STACK_TURNS;
}

/* From now on read from @sp upwards: the thread's own stack, a coroutine's or one of signals. */
static inline void cpa_stack_from(struct cpa_stack_view *s, uint64_t sp)
{
	s->bottom = sp;
}

/*
 * Move the window to @address. False: it cannot be read, or is no part of the stack, or there were
 * enough windows. Makes system calls, by cpa_kernel() alone; async-signal-safe; errno is changed.
 */
__attribute__((visibility("hidden"))) bool cpa_stack_move(struct cpa_stack_view *s,
							  uint64_t address);

/* Read the word at @address, a multiple of its size. False: as cpa_stack_move(). */
static inline bool cpa_stack_load(struct cpa_stack_view *s, uint64_t address, uint64_t *word)
{
	if (address % sizeof(*word) || address < s->bottom)
		return false;
	if ((address < s->from || address >= s->to || s->to - address < sizeof(*word)) &&
	    !cpa_stack_move(s, address))
		return false;
	memcpy(word, s->at + (address - s->from), sizeof(*word));
	return true;
}

#endif
