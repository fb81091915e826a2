/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/stack.h - lock-free stacks of numbers in the session, shared by all its processes
 *
 * A stack is a word {changes:32, number:32} that names the top. Each number has a fixed place for
 * the number below it, which the caller provides and which is used for nothing else. The count of
 * changes makes a late compare-and-exchange fail (ABA). Any process may push a number that another
 * one popped. A process that is killed between pop and push loses its number.
 *
 *           push  pop      "-": the calls may overlap, in several processes
 *   push     -     -
 *   pop      -     -
 *
 * Progress: lock-free. liburcu's stack is no alternative: it holds pointers, which differ between
 * processes, and its pops need a grace period or a lock, which a killed process would never
 * release.
 */
#ifndef CPA_SHADOW_STORE_STACK_H
#define CPA_SHADOW_STORE_STACK_H

#include "shadow/store/session.h"

/* Return the place for the number below @number. */
typedef uint32_t *cpa_stack_below(uint32_t number);

/* Push @number, not 0, which the caller owns. */
static inline void cpa_stack_push(uint64_t *stack, uint32_t number, cpa_stack_below *below)
{
	uint64_t old = __atomic_load_n(stack, __ATOMIC_RELAXED);

	/* Relaxed: a late pop may read it, but its exchange then fails. */
	do
		__atomic_store_n(below(number), (uint32_t)old, __ATOMIC_RELAXED);
	/* RELEASE: the owner's stores to the number's object. Pairs with cpa_stack_pop(). */
	while (!__atomic_compare_exchange_n(stack, &old, ((old >> 32) + 1) << 32 | number, true,
					    __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Pop the top; 0: the stack is empty. */
static inline uint32_t cpa_stack_pop(uint64_t *stack, cpa_stack_below *below)
{
	/* ACQUIRE pairs with cpa_stack_push(). */
	uint64_t old = __atomic_load_n(stack, __ATOMIC_ACQUIRE), next;

	do {
		if (!(uint32_t)old)
			return 0;
		/*
		 * If the top was popped and pushed again meanwhile, the count of changes differs.
		 */
		next = ((old >> 32) + 1) << 32 |
		       __atomic_load_n(below((uint32_t)old), __ATOMIC_RELAXED);
		/* ACQUIRE pairs with cpa_stack_push(), also for the value read again. */
	} while (!__atomic_compare_exchange_n(stack, &old, next, true, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return (uint32_t)old;
}

#endif
