/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/apr.c - apr_queue of the Apache Portable Runtime (libaprutil; libapr from 2.0)
 *
 * APR is neither linked nor included.
 */
#include "preload/lib/next_symbol.h"

#define NOT_IMPLEMENTED 70023 /* APR_ENOTIMPL */

int apr_queue_push(void *queue, void *data);
int apr_queue_trypush(void *queue, void *data);
int apr_queue_pop(void *queue, void **data);
int apr_queue_trypop(void *queue, void **data);

#define FUNCTIONS(F)         \
	F(apr_queue_push)    \
	F(apr_queue_trypush) \
	F(apr_queue_pop)     \
	F(apr_queue_trypop)

CPA_NEXT_SYMBOL_LIBRARY(apr, FUNCTIONS)

/* Not done: the queue is full, or was interrupted or terminated. */
#define PUSH(name)                                                                   \
	CPA_EXPORT int name(void *queue, void *data)                                 \
	{                                                                            \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(apr, name);           \
		bool nested = cpa_next_symbol_nested();                              \
		int ret;                                                             \
                                                                                     \
		if (unlikely(!original))                                             \
			return NOT_IMPLEMENTED;                                      \
		if (likely(!nested))                                                 \
			cpa_item_enqueue(queue, (uint64_t)data, NULL, CPA_CALLER()); \
		ret = CPA_INNER(original(queue, data));                              \
		if (unlikely(ret && !nested))                                        \
			cpa_item_refused(queue, (uint64_t)data, CPA_CALLER());       \
		return ret;                                                          \
	}

PUSH(apr_queue_push)
PUSH(apr_queue_trypush)

#define POP(name)                                                                     \
	CPA_EXPORT int name(void *queue, void **data)                                 \
	{                                                                             \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(apr, name);            \
		int ret;                                                              \
                                                                                      \
		if (unlikely(!original))                                              \
			return NOT_IMPLEMENTED;                                       \
		ret = CPA_INNER(original(queue, data));                               \
		if (likely(!ret && !cpa_next_symbol_nested()))                        \
			cpa_item_dequeue(queue, (uint64_t)*data, NULL, CPA_CALLER()); \
		return ret;                                                           \
	}

POP(apr_queue_pop)
POP(apr_queue_trypop)
