/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/openmp_late.c - a loop that one of two threads begins when the other one has done half of it
 *
 * A signal keeps the second thread, which waits for its region, until the first one has done as many iterations
 * as a static schedule gives it. With OMP_SCHEDULE=static,1 each has half then. Prints "late" if the second thread
 * began that late. Needs OMP_WAIT_POLICY=passive: it sleeps where it waits.
 */
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ITERATIONS 64
#define EACH_NS	   2000000L

static pthread_t second;
static pid_t second_tid;
static _Atomic int kept, done;
static int half_done[2]; /* a pipe */

/* By a system call, of which cpa sees nothing: this is a part of the wait. */
static void keep(int number)
{
	char byte;

	(void)number;
	kept = 1;
	syscall(SYS_read, half_done[0], &byte, 1);
}

static void rest(void)
{
	const struct timespec time = { .tv_nsec = 1000000 };

	nanosleep(&time, NULL);
}

static void work(void)
{
	struct timespec t;
	long end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = t.tv_sec * 1000000000 + t.tv_nsec + EACH_NS;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	while (t.tv_sec * 1000000000 + t.tv_nsec < end);
}

/* The state of the second thread, a letter as in ps. */
static char state(void)
{
	char path[64], text[256] = "";
	const char *behind;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", second_tid);
	file = fopen(path, "r");
	if (!file)
		return '?';
	fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	behind = strrchr(text, ')');
	return behind && behind[1] ? behind[2] : '?';
}

static int run(void)
{
	int before = -1;

#pragma omp parallel num_threads(2)
	{
		if (omp_get_thread_num() == 1)
			before = done;
#pragma omp for schedule(runtime)
		for (int i = 0; i < ITERATIONS; i++) {
			work();
			if (omp_get_thread_num() == 0 && ++done == ITERATIONS / 2)
				syscall(SYS_write, half_done[1], "", 1);
		}
	}
	return before;
}

int main(void)
{
	if (pipe(half_done))
		return 1;
	signal(SIGUSR1, keep);
#pragma omp parallel num_threads(2)
	if (omp_get_thread_num() == 1) {
		second = pthread_self();
		second_tid = (pid_t)syscall(SYS_gettid);
	}
	while (state() != 'S')
		rest();
	pthread_kill(second, SIGUSR1);
	while (!kept)
		rest();
	puts(run() >= ITERATIONS / 2 ? "late" : "early");
	return 0;
}
