/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/many.h - many components, of which a few matter, and then a few others
 *
 * Two threads take turns; so the path is all that either does. A turn is some time in each of the
 * planted components of the phase, and a little in many others. All components are used once before
 * that, in the order of their numbers; the planted ones are not among the first. In the end what
 * each used is printed as JSON. Nothing here is instrumented.
 */
#ifndef CPA_TESTS_MANY_H
#define CPA_TESTS_MANY_H

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifndef MANY
#define MANY	      10000u
#define MANY_FIRST_US 1
#endif
#define MANY_PHASES  2
#define MANY_PLANTED 5
#define MANY_ROUNDS  150
#define MANY_OTHERS  150
#define MANY_PLAIN   __attribute__((no_instrument_function, unused)) static

/* Use @component for @us microseconds of CPU time: many_burn(), in whatever makes it one. */
static void many_use(unsigned component, long us);

/* All have more than a sixteenth of their phase. */
static const struct {
	unsigned component;
	long us;
} many_planted[MANY_PHASES][MANY_PLANTED] = {
	{ { 9801 % MANY, 2600 },
	  { 6607 % MANY, 1700 },
	  { 7623 % MANY, 1300 },
	  { 5555 % MANY, 1000 },
	  { 9999 % MANY, 800 } },
	{ { 4942 % MANY, 2500 },
	  { 8888 % MANY, 1800 },
	  { 9702 % MANY, 1200 },
	  { 5556 % MANY, 1100 },
	  { 3333 % MANY, 800 } },
};

static long many_used[MANY], many_all; /* ns; who has the turn writes */
static sem_t many_turn[2];

MANY_PLAIN long many_cpu_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return now.tv_sec * 1000000000L + now.tv_nsec;
}

/* @component was used since @start. */
MANY_PLAIN void many_note(unsigned component, long start)
{
	long ns = many_cpu_ns() - start;

	many_used[component] += ns;
	many_all += ns;
}

MANY_PLAIN void many_burn(unsigned component, long us)
{
	long start = many_cpu_ns();

	while (many_cpu_ns() < start + us * 1000)
		for (int i = 0; i < 500; i++)
			__asm__ volatile("" : : "r"(i));
	many_note(component, start);
}

MANY_PLAIN void many_round(int phase, int round)
{
	for (int i = 0; i < MANY_PLANTED; i++)
		many_use(many_planted[phase][i].component, many_planted[phase][i].us);
	/* 7919 is prime. */
	for (unsigned i = 0; i < MANY_OTHERS; i++)
		many_use(7919 * ((unsigned)round * MANY_OTHERS + i) % MANY, 10);
}

MANY_PLAIN void many_take_turns(int phase, int self)
{
	for (int round = self; round < MANY_ROUNDS; round += 2) {
		while (sem_wait(&many_turn[self]))
			;
		many_round(phase, round);
		sem_post(&many_turn[!self]);
	}
}

MANY_PLAIN void *many_other(void *unused)
{
	for (int phase = 0; phase < MANY_PHASES; phase++)
		many_take_turns(phase, 1);
	return unused;
}

MANY_PLAIN void many_run(void)
{
	const char *before = "[";
	pthread_t other;

	sem_init(&many_turn[0], 0, 1);
	sem_init(&many_turn[1], 0, 0);
	for (unsigned i = 0; i < MANY; i++)
		many_use(i, MANY_FIRST_US);
	if (pthread_create(&other, NULL, many_other, NULL))
		exit(2);
	for (int phase = 0; phase < MANY_PHASES; phase++) {
		long begin = many_all;

		many_take_turns(phase, 0);
		while (sem_wait(&many_turn[0]))
			;
		printf("%s\n{\"begin_ns\": %ld, \"end_ns\": %ld, \"used_ns\": {", before, begin,
		       many_all);
		for (int i = 0; i < MANY_PLANTED; i++)
			printf("%s\"%u\": %ld", i ? ", " : "", many_planted[phase][i].component,
			       many_used[many_planted[phase][i].component]);
		printf("}}");
		before = ",";
		sem_post(&many_turn[0]);
	}
	pthread_join(other, NULL);
	printf("\n]\n");
}

/* A macro for each of ten, of a hundred numbers that begin with @n. */
#define EACH(do, n) \
	do          \
	(n##0) do(n##1) do(n##2) do(n##3) do(n##4) do(n##5) do(n##6) do(n##7) do(n##8) do(n##9)
#define TENS(do, n)    \
	EACH(do, n##0) \
	EACH(do, n##1) \
	EACH(do, n##2) \
	EACH(do, n##3) \
	EACH(do, n##4) \
	EACH(do, n##5) EACH(do, n##6) EACH(do, n##7) EACH(do, n##8) EACH(do, n##9)

#endif
