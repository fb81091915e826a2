/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/busy_waits.c - `busy_waits WAY`: a thread uses CPU time in a loop
 *
 * `variable`, `fence`, `pause`: it waits until the other one sets a variable, which that does when the loop has used so
 * much. `list`: it follows a list that is long enough, a loop that only loads and compares as well.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOP_NS 300000000u /* CPU time */
#define LINKS	1000

static volatile int flag;

struct link {
	struct link *next;
};
static struct link list[LINKS];

static uint64_t used(pthread_t thread)
{
	clockid_t clock;
	struct timespec t;

	pthread_getcpuclockid(thread, &clock);
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void *variable(void *argument)
{
	while (!flag) /* variable */
		;
	return argument;
}

static void *fence(void *argument)
{
	while (!flag) /* fence */
		__sync_synchronize();
	return argument;
}

static void *pause_loop(void *argument)
{
	while (!flag) /* pause */
		__builtin_ia32_pause();
	return argument;
}

static void *follow(void *argument)
{
	while (!flag)
		for (struct link *link = list; link; link = *(struct link *volatile *)&link->next)
			;
	return argument;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void *(*loop)(void *);
	} ways[] = {
		{ "variable", variable },
		{ "fence", fence },
		{ "pause", pause_loop },
		{ "list", follow },
	};
	pthread_t thread;

	for (unsigned i = 0; i + 1 < LINKS; i++)
		list[i].next = &list[i + 1];
	for (unsigned i = 0; argc == 2 && i < sizeof(ways) / sizeof(ways[0]); i++) {
		if (strcmp(argv[1], ways[i].name) != 0)
			continue;
		if (pthread_create(&thread, NULL, ways[i].loop, NULL))
			return 1;
		while (used(thread) < LOOP_NS)
			usleep(1000);
		flag = 1;
		return pthread_join(thread, NULL) != 0;
	}
	puts("variable, fence, pause, or list");
	return 2;
}
