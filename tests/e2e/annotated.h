/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/annotated.h - what annotation_builds.py compiles in each way there is: one queue each
 */
#ifndef CPA_TESTS_ANNOTATED_H
#define CPA_TESTS_ANNOTATED_H

#include "preload/cpa.h"

/* Every macro; arguments of every kind. */
static inline int annotated(const char *name, const volatile char *queue, long number)
{
	unsigned char small = 3;
	int lock = 0;

	CPA_QUEUE_NAME(queue, name);
	CPA_QUEUE_LOCK(queue, &lock);
	CPA_LOCK_NAME(&lock, name);
	CPA_ENQUEUE(queue, number);
	if (number)
		CPA_ENQUEUE(queue, small);
	else
		CPA_MARK("never");
	CPA_DEQUEUE(queue, 3U);
	CPA_DEQUEUE(queue, number);
	CPA_ITEM_DONE(queue, number);
	CPA_ENQUEUE(queue, queue);
	CPA_ENQUEUE(queue, &lock);
	CPA_REGION_BEGIN(name);
	CPA_MARK(name);
	CPA_HAPPENS_BEFORE(&small);
	CPA_HAPPENS_AFTER(&lock);
	CPA_REGION_END();
	return lock;
}

#ifdef __cplusplus
extern "C"
#endif
	__attribute__((visibility("default"))) int
	library_function(void);

#endif
