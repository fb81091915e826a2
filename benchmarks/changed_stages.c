/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/changed_stages.c - a pipeline of three stages, with bounded queues that cpa knows of
 *
 *	changed_stages [items=300] [workers=2] [parse=1] [filter=1] [store=1] [kept=0]
 *
 * One thread parses, some filter, one stores. parse, filter, store: factors of their work. kept:
 * those that filter have one core, the others another.
 */
#include "benchmarks/changed.h"

#include <pthread.h>

#include "preload/cpa.h"

#define DEPTH	    8
#define PARSE	    900
#define FILTER	    2400
#define STORE	    500
#define WORKERS_MAX 64

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	int item[DEPTH];
	unsigned put, taken;
};

static struct queue parsed, filtered;
static unsigned items, workers;
static int kept;
static double parse_factor, filter_factor, store_factor;

static void set_up(struct queue *q, const char *name)
{
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->filled, NULL);
	pthread_cond_init(&q->emptied, NULL);
	CPA_QUEUE_LOCK(q, &q->lock);
	CPA_QUEUE_NAME(q, name);
}

static void put(struct queue *q, int item)
{
	pthread_mutex_lock(&q->lock);
	while (q->put - q->taken == DEPTH)
		pthread_cond_wait(&q->emptied, &q->lock);
	CPA_ENQUEUE(q, (uintptr_t)item);
	q->item[q->put++ % DEPTH] = item;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static int take(struct queue *q)
{
	int item;

	pthread_mutex_lock(&q->lock);
	while (q->put == q->taken)
		pthread_cond_wait(&q->filled, &q->lock);
	item = q->item[q->taken++ % DEPTH];
	CPA_DEQUEUE(q, (uintptr_t)item);
	pthread_cond_signal(&q->emptied);
	pthread_mutex_unlock(&q->lock);
	return item;
}

__attribute__((noinline)) static void parse(unsigned item)
{
	WORK(varied(item, PARSE) * parse_factor);
}

__attribute__((noinline)) static void filter(unsigned item)
{
	WORK(varied(item + 1, FILTER) * filter_factor);
}

__attribute__((noinline)) static void store(unsigned item)
{
	WORK(varied(item + 2, STORE) * store_factor);
}

static void *parser(void *unused)
{
	if (kept)
		keep_on(0);
	for (unsigned i = 1; i <= items; i++) {
		parse(i);
		put(&parsed, (int)i);
	}
	/* For each worker an item that says that there are no more. */
	for (unsigned i = 0; i < workers; i++)
		put(&parsed, -(int)i - 1);
	return unused;
}

static void *filterer(void *unused)
{
	int item;

	if (kept)
		keep_on(1);
	while ((item = take(&parsed)) > 0) {
		filter((unsigned)item);
		put(&filtered, item);
	}
	return unused;
}

static void *storer(void *unused)
{
	if (kept)
		keep_on(0);
	for (unsigned i = 0; i < items; i++) {
		store((unsigned)take(&filtered));
		COZ_PROGRESS;
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[WORKERS_MAX + 2];

	items = (unsigned)option(argc, argv, "items", 300);
	workers = (unsigned)option(argc, argv, "workers", 2);
	parse_factor = option(argc, argv, "parse", 1);
	filter_factor = option(argc, argv, "filter", 1);
	store_factor = option(argc, argv, "store", 1);
	if (workers > WORKERS_MAX)
		return 1;
	kept = option(argc, argv, "kept", 0) > 0;
	set_up(&parsed, "parsed");
	set_up(&filtered, "filtered");
	pthread_create(&thread[0], NULL, parser, NULL);
	pthread_create(&thread[1], NULL, storer, NULL);
	for (unsigned i = 0; i < workers; i++)
		pthread_create(&thread[2 + i], NULL, filterer, NULL);
	for (unsigned i = 0; i < workers + 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
