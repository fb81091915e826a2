/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/annotations.c - nanoseconds per macro of cpa.h, whoever is preloaded
 *
 *	annotations [COUNT]
 *
 * One thread, nothing between the calls. Calls of an empty function are taken off; the least of
 * several runs is printed, as this is about the code and not about what else the machine did.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "preload/cpa.h"

#define RUNS 5

static char queue, address;

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define REPEATS 8

/*
 * A function for each turn: the compiler would find once for all turns that cpa is absent. In it
 * the macros stand many times, or a processor that works ahead hides them behind the call.
 */
#define REPEAT(call) \
	call;        \
	call;        \
	call;        \
	call;        \
	call;        \
	call;        \
	call;        \
	call;
#define BODY(name, call)                                                   \
	static __attribute__((noinline)) void name##_once(unsigned long i) \
	{                                                                  \
		REPEAT(call)                                               \
		__asm__ volatile("" : : "r"(i) : "memory");                \
	}                                                                  \
                                                                           \
	static void name(unsigned long n)                                  \
	{                                                                  \
		for (unsigned long i = 0; i < n; i++)                      \
			name##_once(i);                                    \
	}

BODY(empty, )
BODY(enqueue_dequeue, CPA_ENQUEUE(&queue, i); CPA_DEQUEUE(&queue, i))
BODY(with_done, CPA_ENQUEUE(&queue, i); CPA_DEQUEUE(&queue, i); CPA_ITEM_DONE(&queue, i))
BODY(region, CPA_REGION_BEGIN("region"); CPA_REGION_END())
BODY(mark, CPA_MARK("phase"))
BODY(before_after, CPA_HAPPENS_BEFORE(&address); CPA_HAPPENS_AFTER(&address))

static double least_ns(void (*body)(unsigned long), unsigned long n)
{
	double least = 0;

	for (int run = 0; run < RUNS; run++) {
		double begin = now_ns(), each;

		body(n);
		each = (now_ns() - begin) / (double)n;
		least = run && least < each ? least : each;
	}
	return least;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*body)(unsigned long n);
		int macros;
	} row[] = {
		{ "CPA_ENQUEUE, CPA_DEQUEUE", enqueue_dequeue, 2 },
		{ "CPA_ENQUEUE, CPA_DEQUEUE, CPA_ITEM_DONE", with_done, 3 },
		{ "CPA_REGION_BEGIN, CPA_REGION_END", region, 2 },
		{ "CPA_HAPPENS_BEFORE, CPA_HAPPENS_AFTER", before_after, 2 },
		{ "CPA_MARK", mark, 1 },
	};
	unsigned long n = argc > 1 ? strtoul(argv[1], NULL, 10) : 100000;
	double loop_ns = least_ns(empty, n);

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		double each_ns = (least_ns(row[i].body, n) - loop_ns) / row[i].macros / REPEATS;

		printf("%8.2f ns a macro  %s\n", each_ns > 0 ? each_ns : 0, row[i].name);
	}
	return 0;
}
