/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_apr.c - an apr_queue with room for three items, one producer and two
 * consumers, that is terminated in the end
 *
 * A producer that waits for room depends on nothing: with unlimited processors there would be.
 */
#include <apr_general.h>
#include <apr_queue.h>
#include <semaphore.h>

#include "tests/programs/known_items.h"

#define ITEMS	  20
#define CONSUMERS 2
#define ROOM	  3

static struct ki_queue queue = { .name = "producer", .component = KI_FIRST };
static apr_queue_t *items;
static sem_t done;
static struct ki_path main_path, ended[CONSUMERS + 1];

static void *producer(void *unused)
{
	static struct ki_item item[ITEMS];

	ki_me = main_path;
	for (int i = 0; i < ITEMS; i++) {
		item[i].number = i + 1;
		ki_burn(8 * KI_MS);
		ki_push(&queue, &item[i]);
		/* One that is refused was never in the queue. */
		if (apr_queue_trypush(items, &item[i]) != APR_SUCCESS &&
		    apr_queue_push(items, &item[i]) != APR_SUCCESS)
			exit(3);
	}
	ki_event(KI_NONE);
	ended[CONSUMERS] = ki_me;
	return unused;
}

static void *consumer(void *argument)
{
	void *got;
	long sum = 0;

	ki_me = main_path;
	while (apr_queue_pop(items, &got) == APR_SUCCESS) {
		struct ki_item *item = got;

		ki_pop(&queue, item);
		sum += item->number;
		ki_burn((25 + item->number) * KI_MS);
		ki_done(&queue);
		sem_post(&done);
	}
	ki_event(KI_NONE);
	*(struct ki_path *)argument = ki_me;
	return (void *)sum;
}

int main(int argc, char **argv)
{
	FILE *f = ki_open(argv);
	pthread_t thread[CONSUMERS + 1];
	apr_pool_t *memory;
	void *result, *got;
	long sum = 0;

	(void)argc;
	ki_begin();
	apr_initialize();
	apr_pool_create(&memory, NULL);
	apr_queue_create(&items, ROOM, memory);
	sem_init(&done, 0, 0);
	printf("empty: %d\n", apr_queue_trypop(items, &got));
	ki_event(KI_NONE);
	main_path = ki_me;
	pthread_create(&thread[CONSUMERS], NULL, producer, NULL);
	for (int i = 0; i < CONSUMERS; i++)
		pthread_create(&thread[i], NULL, consumer, &ended[i]);
	pthread_join(thread[CONSUMERS], NULL);
	for (int i = 0; i < ITEMS; i++)
		sem_wait(&done);
	apr_queue_term(items);
	for (int i = 0; i < CONSUMERS; i++) {
		pthread_join(thread[i], &result);
		sum += (long)result;
	}
	ki_event(KI_NONE);
	for (int i = 0; i <= CONSUMERS; i++)
		ki_join(&ended[i]);
	printf("terminated: %d %d, sum %ld\n", apr_queue_push(items, &f),
	       apr_queue_trypop(items, &got), sum);
	return ki_finish(f, &queue, NULL);
}
