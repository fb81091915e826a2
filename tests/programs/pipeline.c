/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/pipeline.c - three stages with bounded queues between them
 *
 * Path: main before + parsing the first item + filtering every item + storing the last one + main
 * after. Without the filtering, storing every item bounds it. The queues have one writer and one
 * reader and no lock, whose edges would depend on who comes first.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (250 * KP_MS)
#define PARSE_US  (10 * KP_MS)
#define FILTER_US (25 * KP_MS)
#define STORE_US  (15 * KP_MS)
#define ITEMS	  44
#define DEPTH	  4

struct queue {
	struct kp_sem filled, empty;
	int item[DEPTH];
	unsigned put, taken;
};

static sem_t parsed_filled, parsed_empty, filtered_filled, filtered_empty;
static struct queue parsed = {
	.filled = { .sem = &parsed_filled },
	.empty = { .sem = &parsed_empty, .initial = DEPTH },
};
static struct queue filtered = {
	.filled = { .sem = &filtered_filled },
	.empty = { .sem = &filtered_empty, .initial = DEPTH },
};

static void put(struct queue *queue, int item)
{
	kp_sem_wait(&queue->empty);
	queue->item[queue->put++ % DEPTH] = item;
	kp_post(&queue->filled);
}

static int take(struct queue *queue)
{
	int item;

	kp_sem_wait(&queue->filled);
	item = queue->item[queue->taken++ % DEPTH];
	kp_post(&queue->empty);
	return item;
}

static void *parser(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ITEMS; i++) {
		work_a(PARSE_US);
		put(&parsed, i);
	}
	return kp_leave();
}

static void *filter(void *kp)
{
	int item;

	kp_enter(kp);
	do {
		item = take(&parsed);
		work_b(FILTER_US);
		put(&filtered, item);
	} while (item < ITEMS - 1);
	return kp_leave();
}

static void *storer(void *kp)
{
	int item;

	kp_enter(kp);
	do {
		item = take(&filtered);
		work_c(STORE_US);
	} while (item < ITEMS - 1);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *stage[3];
	int i;

	kp_begin();
	sem_init(&parsed_filled, 0, 0);
	sem_init(&parsed_empty, 0, DEPTH);
	sem_init(&filtered_filled, 0, 0);
	sem_init(&filtered_empty, 0, DEPTH);
	work_main(MAIN_US);
	stage[0] = kp_create(parser, NULL);
	stage[1] = kp_create(filter, NULL);
	stage[2] = kp_create(storer, NULL);
	for (i = 0; i < 3; i++)
		kp_join(stage[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + PARSE_US + ITEMS * FILTER_US + STORE_US);
	kp_claim(KP_SHARE, "filter", ITEMS * FILTER_US);
	kp_claim(KP_SAVED, "work_b", ITEMS * (FILTER_US - STORE_US));
	kp_claim(KP_SAVED, "storer", STORE_US);
	return kp_finish();
}
