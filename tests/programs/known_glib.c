/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_glib.c - a GAsyncQueue with one producer and two consumers, then a
 * GThreadPool of two threads that main waits for
 *
 * Items leave the queue in the order of their priority, and the pool in another one than its lock
 * is taken in.
 */
#include <glib.h>

#include "tests/programs/known_items.h"

#define ITEMS	  14
#define CONSUMERS 2
#define TASKS	  10

static struct ki_queue queue = { .name = "producer", .component = KI_FIRST };
static struct ki_queue pool = { .name = "with_pool", .component = KI_SECOND };
static GAsyncQueue *items;
static struct ki_path ended[CONSUMERS];
static struct ki_path worked[TASKS];
static struct ki_path main_path;

static int later_first(const void *a, const void *b, void *unused)
{
	const struct ki_item *x = a, *y = b;

	(void)unused;
	return y->number - x->number;
}

static void *producer(void *unused)
{
	static struct ki_item item[ITEMS], stop[CONSUMERS];

	ki_me = main_path;
	for (int i = 0; i < ITEMS; i++) {
		item[i].number = i + 1;
		ki_burn(15 * KI_MS);
		ki_push(&queue, &item[i]);
		if (i % 4 == 3)
			g_async_queue_push_sorted(items, &item[i], later_first, NULL);
		else if (i % 4 == 2)
			g_async_queue_push_front(items, &item[i]);
		else
			g_async_queue_push(items, &item[i]);
	}
	g_async_queue_lock(items);
	for (int i = 0; i < CONSUMERS; i++) {
		ki_push(&queue, &stop[i]);
		g_async_queue_push_unlocked(items, &stop[i]);
	}
	g_async_queue_unlock(items);
	return unused;
}

static struct ki_item *take(void)
{
	struct ki_item *item;

	item = g_async_queue_try_pop(items);
	if (!item)
		item = g_async_queue_timeout_pop(items, 60 * G_USEC_PER_SEC);
	return item;
}

static void *consumer(void *argument)
{
	struct ki_path *end = argument;
	struct ki_item *item;
	long sum = 0;

	ki_me = main_path;
	while (item = take(), ki_pop(&queue, item), item->number) {
		sum += item->number;
		ki_burn((40 + item->number) * KI_MS);
		ki_done(&queue);
	}
	*end = ki_me;
	return (void *)sum;
}

static __attribute__((noinline)) void with_queue(void)
{
	pthread_t thread[1 + CONSUMERS];
	long sum = 0;

	items = g_async_queue_new();
	ki_event(KI_NONE);
	main_path = ki_me;
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&thread[i], NULL, consumer, &ended[i]);
	pthread_create(&thread[CONSUMERS], NULL, producer, NULL);
	for (int i = 0; i <= CONSUMERS; i++) {
		void *result;

		pthread_join(thread[i], &result);
		sum += (long)result;
	}
	ki_event(KI_NONE);
	for (int i = 0; i < CONSUMERS; i++)
		ki_join(&ended[i]);
	printf("queue: %ld left, sum %ld\n", (long)g_async_queue_length(items), sum);
	g_async_queue_unref(items);
}

static void task(void *data, void *user_data)
{
	struct ki_item *item = data;

	ki_pop(&pool, item);
	ki_burn((20 + 5 * (item->number % 3)) * KI_MS);
	*(_Atomic long *)user_data += item->number;
	ki_done(&pool);
	worked[item->number] = ki_me;
}

static __attribute__((noinline)) void with_pool(void)
{
	static struct ki_item item[TASKS];
	_Atomic long sum = 0;
	GThreadPool *p = g_thread_pool_new(task, (void *)&sum, 2, FALSE, NULL);

	printf("pool: user data %s, exclusive %d\n", p->user_data == &sum ? "kept" : "lost",
	       p->exclusive);
	for (int i = 0; i < TASKS; i++) {
		item[i].number = i;
		ki_burn(5 * KI_MS);
		ki_push(&pool, &item[i]);
		if (!g_thread_pool_push(p, &item[i], NULL))
			exit(3);
	}
	g_thread_pool_free(p, FALSE, TRUE);
	ki_event(KI_NONE);
	for (int i = 0; i < TASKS; i++)
		ki_join(&worked[i]);
	ki_burn(50 * KI_MS);
	printf("pool: sum %ld\n", sum);
}

int main(int argc, char **argv)
{
	FILE *f = ki_open(argv);

	(void)argc;
	ki_begin();
	with_queue();
	with_pool();
	return ki_finish(f, &queue, &pool);
}
