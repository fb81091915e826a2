/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/task_queue.c lock|item paid|free - what prepare() costs, and what it would save
 *
 * One queue, from which each stage takes its own kind of task. A thread prepares jobs and puts
 * them in; a second one finishes them; a third one works off tasks that were there from the start.
 * "item" tells the profiler of items, "lock" leaves it with the queue's lock. "free": prepare()
 * costs nothing, really.
 *
 * The longest chain is preparing everything and finishing the last job; without preparing, it is
 * finishing all jobs or the third thread's work. The lock puts that thread's takes in front of the
 * finisher's: a chain that seems to remain when prepare() is free, but nobody waits for it then.
 */
#include "tests/programs/burn.h"

#include "preload/cpa.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define JOBS	   2
#define PREPARE_MS 200
#define FINISH_MS  150
#define SINGLES	   28
#define SINGLE_MS  10

enum kind { JOB, SINGLE };

struct task {
	struct task *next;
	enum kind kind;
};

static struct {
	pthread_mutex_t lock;
	pthread_cond_t more;
	struct task *first;
} queue = { .lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER };
static struct task job[JOBS], single[SINGLES];
static bool by_item, is_free;

static void put(struct task *task)
{
	pthread_mutex_lock(&queue.lock);
	if (by_item)
		CPA_ENQUEUE(&queue, task);
	task->next = queue.first;
	queue.first = task;
	pthread_cond_broadcast(&queue.more);
	pthread_mutex_unlock(&queue.lock);
}

static struct task *take(enum kind kind)
{
	struct task **at, *task;

	pthread_mutex_lock(&queue.lock);
	for (;;) {
		for (at = &queue.first; *at && (*at)->kind != kind; at = &(*at)->next)
			;
		task = *at;
		if (task)
			break;
		pthread_cond_wait(&queue.more, &queue.lock);
	}
	*at = task->next;
	if (by_item)
		CPA_DEQUEUE(&queue, task);
	pthread_mutex_unlock(&queue.lock);
	return task;
}

static __attribute__((noinline)) void prepare(void)
{
	if (!is_free)
		burn_ms(PREPARE_MS);
}

static __attribute__((noinline)) void finish(void)
{
	burn_ms(FINISH_MS);
}

static __attribute__((noinline)) void single_task(void)
{
	burn_ms(SINGLE_MS);
}

static void *preparer(void *unused)
{
	for (int i = 0; i < JOBS; i++) {
		prepare();
		put(&job[i]);
	}
	return unused;
}

static void *finisher(void *unused)
{
	for (int i = 0; i < JOBS; i++) {
		take(JOB);
		finish();
	}
	return unused;
}

static void *single_worker(void *unused)
{
	for (int i = 0; i < SINGLES; i++) {
		take(SINGLE);
		single_task();
	}
	return unused;
}

int main(int argc, char **argv)
{
	void *(*const routine[])(void *) = { preparer, finisher, single_worker };
	pthread_t thread[3];

	by_item = argc > 1 && !strcmp(argv[1], "item");
	is_free = argc > 2 && !strcmp(argv[2], "free");
	if (by_item) {
		CPA_QUEUE_NAME(&queue, "tasks");
		CPA_QUEUE_LOCK(&queue, &queue.lock);
	}
	for (int i = 0; i < JOBS; i++)
		job[i].kind = JOB;
	for (int i = 0; i < SINGLES; i++) {
		single[i].kind = SINGLE;
		put(&single[i]);
	}
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, routine[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
