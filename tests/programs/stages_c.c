/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stages_c.c - three stages with bounded buffers between them, in C
 *
 * Four lines for cpa: the one that includes its header, and three that begin with CPA_.
 */
#include "tests/programs/stages.h"

#include <pthread.h>

#include "preload/cpa.h"

struct buffer {
	pthread_mutex_t lock;
	pthread_cond_t filled, emptied;
	int item[STAGES_DEPTH];
	unsigned put, taken;
};

static struct buffer parsed, filtered;

static void set_up(struct buffer *b)
{
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->filled, NULL);
	pthread_cond_init(&b->emptied, NULL);
	CPA_QUEUE_LOCK(b, &b->lock);
}

static void put(struct buffer *b, int item)
{
	pthread_mutex_lock(&b->lock);
	while (b->put - b->taken == STAGES_DEPTH)
		pthread_cond_wait(&b->emptied, &b->lock);
	CPA_ENQUEUE(b, item);
	b->item[b->put++ % STAGES_DEPTH] = item;
	pthread_cond_signal(&b->filled);
	pthread_mutex_unlock(&b->lock);
}

static int take(struct buffer *b)
{
	int item;

	pthread_mutex_lock(&b->lock);
	while (b->put == b->taken)
		pthread_cond_wait(&b->filled, &b->lock);
	item = b->item[b->taken++ % STAGES_DEPTH];
	CPA_DEQUEUE(b, item);
	pthread_cond_signal(&b->emptied);
	pthread_mutex_unlock(&b->lock);
	return item;
}

static void *parser(void *unused)
{
	for (int i = 0; i < STAGES_ITEMS; i++) {
		parse();
		put(&parsed, i);
	}
	return unused;
}

static void *filterer(void *unused)
{
	for (int i = 0; i < STAGES_ITEMS; i++) {
		int item = take(&parsed);

		filter();
		put(&filtered, item);
	}
	return unused;
}

static void *storer(void *unused)
{
	for (int i = 0; i < STAGES_ITEMS; i++) {
		take(&filtered);
		store();
	}
	return unused;
}

int main(void)
{
	void *(*const routine[])(void *) = { parser, filterer, storer };
	pthread_t thread[3];

	set_up(&parsed);
	set_up(&filtered);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, routine[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
