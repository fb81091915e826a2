/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/misuse.c - annotations that contradict each other, some marks, and locks of a
 * queue at addresses that are used again
 *
 * 80 regions begin inside each other, of which cpa keeps 64; 3 are never ended, one of them by a
 * thread that exits. 2 ends have no begin. Items: one enqueued twice, one never dequeued, one
 * dequeued but never enqueued, two done that were not in process.
 */
#include "preload/cpa.h"

#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define DEEP 80

static char queue;

static void *never_ends(void *unused)
{
	CPA_REGION_BEGIN("for ever");
	return unused;
}

static void regions(void)
{
	char name[16];

	for (int i = 0; i < DEEP; i++) {
		snprintf(name, sizeof(name), "level %d", i);
		CPA_REGION_BEGIN(name);
	}
	for (int i = 0; i < DEEP; i++)
		CPA_REGION_END();
	CPA_REGION_END();
	CPA_REGION_END();
	CPA_REGION_BEGIN("open");
	CPA_REGION_BEGIN(NULL);
}

static void items(void)
{
	CPA_QUEUE_NAME(&queue, "misused");
	CPA_ENQUEUE(&queue, 1);
	CPA_ENQUEUE(&queue, 1);
	CPA_DEQUEUE(&queue, 1);
	CPA_ITEM_DONE(&queue, 1);
	CPA_ITEM_DONE(&queue, 1);
	CPA_DEQUEUE(&queue, 1);
	CPA_ITEM_DONE(&queue, 1);
	CPA_ENQUEUE(&queue, 2);
	CPA_DEQUEUE(&queue, 3);
	CPA_ITEM_DONE(&queue, 4);
	CPA_ENQUEUE(NULL, 5);
	CPA_DEQUEUE(NULL, 5);
	CPA_QUEUE_LOCK(NULL, &queue);
	CPA_QUEUE_LOCK(&queue, NULL);
}

/* A queue's lock where a condition variable was that nobody destroyed. */
static union {
	pthread_cond_t cond;
	pthread_mutex_t mutex;
} place = { .cond = PTHREAD_COND_INITIALIZER };

/* A lock that was a queue's until it was destroyed. */
static pthread_mutex_t freed = PTHREAD_MUTEX_INITIALIZER;

static void locks(void)
{
	static pthread_mutex_t with = PTHREAD_MUTEX_INITIALIZER;
	struct timespec past = { 0 };

	pthread_mutex_lock(&with);
	pthread_cond_timedwait(&place.cond, &with, &past);
	pthread_mutex_unlock(&with);
	place.mutex = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	CPA_QUEUE_LOCK(&queue, &place.mutex);
	pthread_mutex_lock(&place.mutex);
	pthread_mutex_unlock(&place.mutex);

	CPA_QUEUE_LOCK(&queue, &freed);
	pthread_mutex_lock(&freed);
	pthread_mutex_unlock(&freed);
	pthread_mutex_destroy(&freed);
	freed = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	pthread_mutex_lock(&freed);
	pthread_mutex_unlock(&freed);
}

int main(void)
{
	pthread_t thread;

	CPA_MARK("begin");
	items();
	CPA_MARK("items done");
	locks();
	pthread_create(&thread, NULL, never_ends, NULL);
	pthread_join(thread, NULL);
	regions();
	CPA_HAPPENS_AFTER(&queue);
	CPA_HAPPENS_BEFORE(NULL);
	CPA_MARK("end");
	return 0;
}
