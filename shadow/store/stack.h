/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/stack.h - lock-free stacks of numbers, in the session, for all its processes
 *
 * A pile is a word {changes:32, number:32} that names the top; each number has a place for the
 * number below, which the caller knows, and which is never used for anything else. The count of
 * changes keeps a late exchange from success. A number that was popped may be pushed by any
 * process. One that is killed in between loses it.
 *
 *           push  pop      "-": the calls may overlap, in several processes
 *   push     -     -
 *   pop      -     -
 *
 * Progress: lock-free. liburcu's stack holds pointers, which are one process's own, and its pops
 * need a grace period or exclude each other, which a process may be killed in.
 */
#ifndef CPA_SHADOW_STORE_STACK_H
#define CPA_SHADOW_STORE_STACK_H

#include "shadow/store/session.h"

/* Where the number below @number is kept. */
typedef uint32_t *cpa_pile_below(uint32_t number);

/* Push @number, not 0, which the caller owns. */
static inline void cpa_pile_push(uint64_t *pile, uint32_t number, cpa_pile_below *below)
{
	uint64_t old = __atomic_load_n(pile, __ATOMIC_RELAXED);

	/* Relaxed: a pop that is late may read it; its exchange then fails. */
	do
		__atomic_store_n(below(number), (uint32_t)old, __ATOMIC_RELAXED);
	/* RELEASE: it is as its owner left it. Pairs with cpa_pile_pop(). */
	while (!__atomic_compare_exchange_n(pile, &old, ((old >> 32) + 1) << 32 | number, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Pop the top; 0: there is none. */
static inline uint32_t cpa_pile_pop(uint64_t *pile, cpa_pile_below *below)
{
	/* ACQUIRE pairs with cpa_pile_push(). */
	uint64_t old = __atomic_load_n(pile, __ATOMIC_ACQUIRE), next;

	do {
		if (!(uint32_t)old)
			return 0;
		/* If it is popped and pushed meanwhile, the count has moved on. */
		next = ((old >> 32) + 1) << 32 |
		       __atomic_load_n(below((uint32_t)old), __ATOMIC_RELAXED);
		/* ACQUIRE: as above, for the value read anew. */
	} while (!__atomic_compare_exchange_n(pile, &old, next, true, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return (uint32_t)old;
}

#endif
