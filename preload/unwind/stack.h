/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/stack.h - words of the calling thread's stack
 *
 * A load may fault: a walk may be misled by code without tables or by a damaged stack. So before a walk
 * loads from a page of the thread's own stack the kernel is asked whether that can be read. Frames
 * between stack pointer and top are those of the running thread, and stay there meanwhile. How far
 * down the stack goes nobody says exactly; half of its size is surely its own.
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

/* Addresses that belong to the calling thread's own stack: the upper half. Zeros: not known. */
struct cpa_stack_own {
	uint64_t from, top;
};

/* A stack as a walk sees it. The caller owns it. Addresses. */
struct cpa_stack_view {
	struct cpa_stack_own own;
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

/*
 * The calling thread's own stack. Zeros: the thread is not on it, or deep in it. @size: bytes that it has
 * at least, if it is not the process's first thread; 0: not known. No system call.
 */
__attribute__((visibility("hidden"))) struct cpa_stack_own cpa_stack_own(uint64_t size);

/* The same, if the frame at @address lies in it. */
__attribute__((visibility("hidden"))) struct cpa_stack_own cpa_stack_own_at(uint64_t address,
									    uint64_t size);

/* Whether something can be read of the stack of a thread whose own is @own. */
__attribute__((visibility("hidden"))) bool cpa_stack_can(struct cpa_stack_own own);

/*
 * Copy @size bytes at @address of the process. False: they cannot be read, or the kernel cannot be asked to copy.
 * Async-signal-safe; errno is changed.
 */
__attribute__((visibility("hidden"))) bool cpa_stack_read(void *to, uint64_t address, size_t size);

/*
 * Whether the 8 bytes at @address can be read, by a system call. False also where the kernel cannot be asked.
 * Async-signal-safe; errno is changed.
 */
__attribute__((visibility("hidden"))) bool cpa_stack_is_readable(uint64_t address);

/* A walk begins, of the thread whose own stack is @own. */
static inline void cpa_stack_begin(struct cpa_stack_view *s, struct cpa_stack_own own)
{
	s->own = own;
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
