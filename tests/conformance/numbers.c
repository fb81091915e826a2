/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/numbers.c - descriptors by number, beside threads that begin
 *
 * A program that knows which numbers are free may put what it likes on any of them. Meanwhile
 * threads have their first sample and their first wait, in which the profiler opens files: what the
 * program put somewhere is there a moment later.
 */
#include "tests/conformance/case.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#define THREADS 200
#define WORK_NS 4000000
#define LOOKS	40 /* at a descriptor, before it is closed: some microseconds */

static volatile int over;

/* Its first sample, and its first wait. */
static void *begins(void *argument)
{
	struct timespec cpu = { 0 };

	while (cpu.tv_nsec < WORK_NS)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	sleep_ms(2);
	return argument;
}

static void *begin_all(void *argument)
{
	for (int i = 0; i < THREADS / 2; i++) {
		pthread_t t[2];

		for (int j = 0; j < 2; j++)
			must(!pthread_create(&t[j], NULL, begins, NULL), "pthread_create");
		for (int j = 0; j < 2; j++)
			pthread_join(t[j], NULL);
	}
	over = 1;
	return argument;
}

/* Whether @number is file @inode for a while. */
static bool stays(int number, ino_t inode)
{
	struct stat s;

	for (int i = 0; i < LOOKS; i++)
		if (fstat(number, &s) || s.st_ino != inode)
			return false;
	return true;
}

int main(void)
{
	int lost = 0, refused = 0, from[2], lowest;
	struct stat s;
	pthread_t t;

	must(!pipe(from), "pipe");
	must(!fstat(from[0], &s), "fstat");
	lowest = from[1] + 1;
	must(!pthread_create(&t, NULL, begin_all, NULL), "pthread_create");
	for (int i = 0; !over; i++) {
		int number = lowest + (i & 1);

		if (i & 2)
			refused += dup2(from[0], number) != number;
		else
			refused += dup3(from[0], number, O_CLOEXEC) != number;
		lost += !stays(number, s.st_ino);
		if (i & 4)
			refused += close(number) != 0;
		else if (i % 64)
			refused += close_range((unsigned)number, (unsigned)number, 0) != 0;
		else
			closefrom(lowest);
		if (i % 16 == 0)
			sched_yield();
	}
	pthread_join(t, NULL);
	begin("numbers");
	add(" lost=%d refused=%d", lost, refused);
	end();
	return 0;
}
