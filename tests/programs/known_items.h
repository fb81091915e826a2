/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_items.h - write a program with a library's queue that knows its own path
 *
 * Each thread carries the length of its longest path, as it is and with each component at weight
 * zero, and each item that of the thread that enqueued it. An activity adds its CPU time, a dequeue
 * takes the longer of two. The figures go to the file that is the program's first argument, as one
 * JSON object; standard output is the program's own, and the same in each run.
 */
#ifndef CPA_TESTS_KNOWN_ITEMS_H
#define CPA_TESTS_KNOWN_ITEMS_H

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define KI_MS 1000000L /* nanoseconds */

enum ki_component { KI_FIRST, KI_SECOND, KI_COMPONENTS, KI_NONE = KI_COMPONENTS };

struct ki_path {
	int64_t whole, without[KI_COMPONENTS];
};

/* What the report must say of one queue, and of the processing of its items. */
struct ki_queue {
	const char *name; /* a part of what the report calls it */
	enum ki_component component;
	_Atomic long enqueued, dequeued;
	_Atomic int64_t wait_ns, service_ns;
};

struct ki_item {
	int number;
	int64_t pushed_ns;
	struct ki_path path;
};

static _Thread_local struct ki_path ki_me;
static _Thread_local int64_t ki_cpu, ki_stolen;
static _Atomic int64_t ki_stolen_ns; /* by all threads: with much of it no figure is exact */

static inline int64_t ki_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Nanoseconds for which this thread was ready to run and waited for a processor; 0 if unknown. */
static inline int64_t ki_ready(void)
{
	long long ran, ready = 0;
	char text[64] = "";
	int fd = open("/proc/thread-self/schedstat", O_RDONLY);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0 ||
	    sscanf(text, "%lld %lld", &ran, &ready) != 2)
		ready = 0;
	close(fd);
	return ready;
}

/* Nanoseconds, from some time on, in which this thread neither ran nor waited for a processor. */
static inline int64_t ki_elsewhere(void)
{
	int64_t ready = ki_ready(), before, ns;

	/* A thread that is preempted in between would seem to have been elsewhere. */
	do {
		before = ready;
		ns = ki_clock(CLOCK_MONOTONIC) - ki_clock(CLOCK_THREAD_CPUTIME_ID);
		ready = ki_ready();
	} while (ready != before);
	return ns - ready;
}

/* The activity of this thread ends here. Return its CPU time, and what was stolen from it. */
static inline int64_t ki_event(enum ki_component component)
{
	int64_t now = ki_clock(CLOCK_THREAD_CPUTIME_ID), ns = now - ki_cpu + ki_stolen;

	ki_cpu = now;
	ki_stolen = 0;
	ki_me.whole += ns;
	for (int i = 0; i < KI_COMPONENTS; i++)
		if (i != (int)component)
			ki_me.without[i] += ns;
	return ns;
}

static inline void ki_join(const struct ki_path *other)
{
	if (other->whole > ki_me.whole)
		ki_me.whole = other->whole;
	for (int i = 0; i < KI_COMPONENTS; i++)
		if (other->without[i] > ki_me.without[i])
			ki_me.without[i] = other->without[i];
}

/* First in main(). CPU time before it, the loader's and a profiler's, is not on the path. */
static inline void ki_begin(void)
{
	ki_cpu = ki_clock(CLOCK_THREAD_CPUTIME_ID);
}

/*
 * Use the processor for @ns, in registers. A thread that is elsewhere meanwhile was stopped by the
 * hypervisor: to the thread it is as if it had blocked.
 */
static __attribute__((noinline)) void ki_burn(int64_t ns)
{
	int64_t end = ki_clock(CLOCK_THREAD_CPUTIME_ID) + ns, elsewhere = ki_elsewhere();

	while (ki_clock(CLOCK_THREAD_CPUTIME_ID) < end)
		for (long i = 0; i < 10000; i++)
			__asm__ volatile("" : : "r"(i));
	elsewhere = ki_elsewhere() - elsewhere;
	if (elsewhere > 0) {
		ki_stolen += elsewhere;
		ki_stolen_ns += elsewhere;
	}
}

/* About to enqueue, and after the dequeue. */
static inline void ki_push(struct ki_queue *queue, struct ki_item *item)
{
	ki_event(KI_NONE);
	queue->enqueued++;
	item->path = ki_me;
	item->pushed_ns = ki_clock(CLOCK_MONOTONIC);
}

static inline void ki_pop(struct ki_queue *queue, struct ki_item *item)
{
	queue->wait_ns += ki_clock(CLOCK_MONOTONIC) - item->pushed_ns;
	queue->dequeued++;
	ki_event(KI_NONE);
	ki_join(&item->path);
}

static inline FILE *ki_open(char **argv)
{
	FILE *f = argv[1] ? fopen(argv[1], "w") : NULL;

	if (!f) {
		fprintf(stderr, "usage: %s FILE\n", argv[0]);
		exit(2);
	}
	return f;
}

/* The processing of an item ends here. */
static inline void ki_done(struct ki_queue *queue)
{
	queue->service_ns += ki_event(queue->component);
}

/* The last thing that main does, with its queues. */
static inline int ki_finish(FILE *f, const struct ki_queue *first, const struct ki_queue *second)
{
	const struct ki_queue *queue[2] = { first, second };

	ki_event(KI_NONE);
	fprintf(f, "{\"critical_path_s\": %.6f, \"stolen_s\": %.6f, \"queues\": [",
		(double)ki_me.whole / 1e9, (double)ki_stolen_ns / 1e9);
	for (int i = 0; i < 2 && queue[i]; i++) {
		const struct ki_queue *q = queue[i];

		fprintf(f,
			"%s{\"name\": \"%s\", \"enqueued\": %ld, \"dequeued\": %ld, "
			"\"item_wait_s\": %.6f, \"service_s\": %.6f, \"saved_s\": %.6f}",
			i ? ", " : "", q->name, q->enqueued, q->dequeued, (double)q->wait_ns / 1e9,
			(double)q->service_ns / 1e9,
			(double)(ki_me.whole - ki_me.without[q->component]) / 1e9);
	}
	fprintf(f, "]}\n");
	return fclose(f);
}

#endif
