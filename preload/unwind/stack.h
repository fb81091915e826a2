/* SPDX-License-Identifier: MIT */
/*
 * preload/unwind/stack.h - what of the calling thread's stack may be read
 *
 * A thread's own stack reaches from the stack pointer to its top. Before a part of it is read for
 * the first time, the kernel is asked whether its pages can be: process_vm_readv() fails where a
 * load would fault. What was there once stays, because the frames between stack pointer and top are
 * those of the running thread. A stack pointer elsewhere is that of a coroutine or of an alternate
 * signal stack: the kernel is asked each time.
 */
#ifndef CPA_PRELOAD_UNWIND_STACK_H
#define CPA_PRELOAD_UNWIND_STACK_H

#include <stdbool.h>
#include <stdint.h>

/* What a thread knows of its own stack; only the thread reads and writes it. Addresses. */
struct cpa_stack_bounds {
	uint64_t top; /* end of the thread's own stack; 0: not known */
	uint64_t low; /* from here to the top it can be read; 0: nothing asked yet */
};

/* A part of the stack that can be read: addresses, `to` just behind the last byte. */
struct cpa_stack_part {
	uint64_t from, to;
};

/* The calling thread begins, on its own stack. No system call. */
__attribute__((visibility("hidden"))) void cpa_stack_begin(struct cpa_stack_bounds *bounds);

/*
 * The part from @sp on. Its end is @sp if nothing can be read. Makes system calls, by cpa_kernel() alone;
 * async-signal-safe; errno is changed. At most 16 MiB of the thread's own stack, or 256 KiB of another.
 */
__attribute__((visibility("hidden"))) struct cpa_stack_part
cpa_stack_from(struct cpa_stack_bounds *bounds, uint64_t sp);

/* Read the word at @address of @part. False: it is not there. */
static inline bool cpa_stack_load(const struct cpa_stack_part *part, uint64_t address,
				  uint64_t *word)
{
	if (!address || address < part->from || address >= part->to ||
	    part->to - address < sizeof(*word) || address % sizeof(*word))
		return false;
	*word = *(const uint64_t *)address;
	return true;
}

#endif
