/* SPDX-License-Identifier: MIT */
/*
 * examples/pipeline.c - three stages, one of them slow
 *
 * 40 frames go through read_frames() (1 unit each), encode_frames() (6 units) and write_frames()
 * (2 units), one thread a stage, with a queue between two stages. The queues are annotated, so that
 * a stage depends on the frames that it gets, not on the lock of the queue.
 *
 * Critical path: the first frame is read, all are encoded, the last one is written: 1 + 40 x 6 + 2 =
 * 243 units. If encoding took no time: the first frame is read, all are written: 81 units. If writing
 * took no time: 241 units.
 */
#include "examples/work.h"

#include "preload/cpa.h"

#include <pthread.h>

#define FRAMES 40

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t filled;
	int frame[FRAMES];
	int put, taken;
};

#define QUEUE                                                                         \
	{                                                                             \
		.lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER \
	}

static struct queue raw = QUEUE, encoded = QUEUE;

static void put(struct queue *q, int frame)
{
	pthread_mutex_lock(&q->lock);
	CPA_ENQUEUE(q, frame);
	q->frame[q->put++] = frame;
	pthread_cond_signal(&q->filled);
	pthread_mutex_unlock(&q->lock);
}

static int take(struct queue *q)
{
	int frame;

	pthread_mutex_lock(&q->lock);
	while (q->taken == q->put)
		pthread_cond_wait(&q->filled, &q->lock);
	frame = q->frame[q->taken++];
	CPA_DEQUEUE(q, frame);
	pthread_mutex_unlock(&q->lock);
	return frame;
}

static void *read_frames(void *unused)
{
	for (int i = 1; i <= FRAMES; i++) {
		work(1);
		put(&raw, i);
	}
	return unused;
}

static void *encode_frames(void *unused)
{
	for (int i = 0; i < FRAMES; i++) {
		int frame = take(&raw);

		work(6);
		put(&encoded, frame);
		CPA_ITEM_DONE(&raw, frame);
	}
	return unused;
}

static void *write_frames(void *unused)
{
	for (int i = 0; i < FRAMES; i++) {
		int frame = take(&encoded);

		work(2);
		CPA_ITEM_DONE(&encoded, frame);
	}
	return unused;
}

int main(void)
{
	void *(*const stage[])(void *) = { read_frames, encode_frames, write_frames };
	pthread_t thread[3];

	CPA_QUEUE_NAME(&raw, "raw frames");
	CPA_QUEUE_LOCK(&raw, &raw.lock);
	CPA_QUEUE_NAME(&encoded, "encoded frames");
	CPA_QUEUE_LOCK(&encoded, &encoded.lock);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, stage[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
