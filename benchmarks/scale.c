/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/scale.c - many of one thing, for what it costs in memory
 *
 *	scale threads N		N threads at once, each takes a lock
 *	scale successive N	N threads one after the other
 *	scale unused N		N mutexes, initialized and never taken
 *	scale mutexes N		N mutexes, each taken once
 *	scale shared N		N mutexes, each taken by two threads
 *	scale regions N		N named regions, each entered once
 *	scale length N		N uses of 64 locks by two threads
 *
 * Prints how many there were, as many threads as the machine permits, and the peak of the resident
 * memory in KiB.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/cpa.h"

#define STACK	 65536
#define LOCKS	 64
#define NAME_LEN 32

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t *mutexes;
static unsigned long count;

static void lock_pair(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
}

static void *take_gate(void *argument)
{
	lock_pair(&gate);
	return argument;
}

static pthread_t thread(void *(*body)(void *), pthread_attr_t *attr)
{
	pthread_t made;

	return pthread_create(&made, attr, body, NULL) ? 0 : made;
}

static unsigned long at_once(unsigned long n)
{
	pthread_t *threads = calloc(n, sizeof(*threads));
	unsigned long made = 0;
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	pthread_mutex_lock(&gate);
	while (threads && made < n && (threads[made] = thread(take_gate, &attr)))
		made++;
	pthread_mutex_unlock(&gate);
	for (unsigned long i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	return made;
}

static unsigned long successive(unsigned long n)
{
	unsigned long made = 0;
	pthread_t last;

	while (made < n && (last = thread(take_gate, NULL))) {
		pthread_join(last, NULL);
		made++;
	}
	return made;
}

static unsigned long make_mutexes(unsigned long n)
{
	count = n;
	mutexes = calloc(n, sizeof(*mutexes));
	for (unsigned long i = 0; mutexes && i < n; i++)
		pthread_mutex_init(&mutexes[i], NULL);
	return n;
}

static void *take_all(void *argument)
{
	for (unsigned long i = 0; i < count; i++)
		lock_pair(&mutexes[i]);
	return argument;
}

static unsigned long take_mutexes(unsigned long n)
{
	make_mutexes(n);
	take_all(NULL);
	return n;
}

static unsigned long share_mutexes(unsigned long n)
{
	take_mutexes(n);
	pthread_join(thread(take_all, NULL), NULL);
	return n;
}

static unsigned long enter_regions(unsigned long n)
{
	char(*names)[NAME_LEN] = calloc(n, sizeof(*names));

	for (unsigned long i = 0; names && i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "region %lu", i);
		CPA_REGION_BEGIN(names[i]);
		for (int k = 0; k < 1000; k++)
			__asm__ volatile("" : : "r"(k));
		CPA_REGION_END();
	}
	free(names);
	return n;
}

static void *take_often(void *argument)
{
	for (unsigned long i = 0; i < count / 2; i++)
		lock_pair(&mutexes[i % LOCKS]);
	return argument;
}

static unsigned long run_long(unsigned long n)
{
	pthread_t other;

	make_mutexes(LOCKS);
	count = n;
	other = thread(take_often, NULL);
	take_often(NULL);
	pthread_join(other, NULL);
	return n;
}

/* getrusage() would count what the process was before exec, too. */
static unsigned long peak_kib(void)
{
	FILE *status = fopen("/proc/self/status", "r");
	unsigned long peak = 0;
	char line[128];

	while (status && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmHWM: %lu", &peak) == 1)
			break;
	if (status)
		fclose(status);
	return peak;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long (*run)(unsigned long n);
	} kind[] = {
		{ "threads", at_once },	     { "successive", successive },
		{ "unused", make_mutexes },  { "mutexes", take_mutexes },
		{ "shared", share_mutexes }, { "regions", enter_regions },
		{ "length", run_long },
	};
	unsigned long made;

	for (size_t i = 0; argc > 2 && i < sizeof(kind) / sizeof(*kind); i++) {
		if (!strcmp(argv[1], kind[i].name)) {
			made = kind[i].run(strtoul(argv[2], NULL, 10));
			printf("%lu %lu\n", made, peak_kib());
			return 0;
		}
	}
	return 2;
}
