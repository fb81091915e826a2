/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/queue_order.c - the same items, taken newest first and oldest first
 *
 * Main makes five items, and puts each into two queues. Both consumers wait until all are there.
 * What the newest-first one takes first was made last: its processing comes in series after all
 * the making. The oldest-first one could have begun with the first item: only its last item is in
 * series. Both take their locks after main's last unlock; locks would put them in series alike.
 */
#include "tests/conformance/asleep.h"
#include "tests/programs/known_path.h"

#include "preload/cpa.h"

#define MAKE_US	  (60 * KP_MS)
#define NEWEST_US (80 * KP_MS)
#define OLDEST_US (40 * KP_MS)
#define AFTER_US  (100 * KP_MS)
#define ITEMS	  5

struct queue {
	struct kp_queue kp;
	pthread_mutex_t lock;
	pthread_cond_t full;
	volatile int waits; /* the consumer, which does or is about to */
	struct kp_item item[ITEMS];
	unsigned count;
};

#define QUEUE(queue, text)                                                                        \
	{                                                                                         \
		.kp = { .address = &(queue), .name = (text) }, .lock = PTHREAD_MUTEX_INITIALIZER, \
		.full = PTHREAD_COND_INITIALIZER                                                  \
	}

static struct queue stack = QUEUE(stack, "stack"), line = QUEUE(line, "line");

static void put(struct queue *queue, unsigned i)
{
	pthread_mutex_lock(&queue->lock);
	kp_enqueue(&queue->kp, &queue->item[i]);
	queue->count = i + 1;
	if (queue->count == ITEMS)
		pthread_cond_signal(&queue->full);
	pthread_mutex_unlock(&queue->lock);
}

static void take(struct queue *queue, unsigned i)
{
	kp_arrive();
	pthread_mutex_lock(&queue->lock);
	while (queue->count < ITEMS) {
		queue->waits = gettid();
		pthread_cond_wait(&queue->full, &queue->lock);
	}
	kp_dequeue(&queue->kp, &queue->item[i]);
	pthread_mutex_unlock(&queue->lock);
}

static void *newest_first(void *kp)
{
	unsigned i;

	kp_enter(kp);
	for (i = ITEMS; i-- > 0;) {
		take(&stack, i);
		work_a(NEWEST_US);
		kp_item_done(&stack.kp, &stack.item[i]);
	}
	return kp_leave();
}

/* Never says that an item is done. */
static void *oldest_first(void *kp)
{
	unsigned i;

	kp_enter(kp);
	for (i = 0; i < ITEMS; i++) {
		take(&line, i);
		work_b(OLDEST_US);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *consumer[2];
	unsigned i;

	kp_begin();
	CPA_QUEUE_NAME(&stack, "stack");
	CPA_QUEUE_NAME(&line, "line");
	CPA_QUEUE_LOCK(&stack, &stack.lock);
	CPA_QUEUE_LOCK(&line, &line.lock);
	consumer[0] = kp_create(newest_first, NULL);
	consumer[1] = kp_create(oldest_first, NULL);
	await_asleep(&stack.waits);
	await_asleep(&line.waits);
	for (i = 0; i < ITEMS; i++) {
		work_main(MAKE_US);
		put(&stack, i);
		put(&line, i);
	}
	kp_join(consumer[0]);
	kp_join(consumer[1]);
	work_main(AFTER_US);

	kp_claim(KP_PATH, NULL, ITEMS * (MAKE_US + NEWEST_US) + AFTER_US);
	kp_claim(KP_SHARE, "stack", ITEMS * NEWEST_US);
	kp_claim(KP_SAVED, "stack", ITEMS * NEWEST_US - OLDEST_US);
	kp_claim(KP_SAVED, "work_main", ITEMS * MAKE_US + AFTER_US);
	kp_claim(KP_SHARE, "line", 0);
	return kp_finish();
}
