/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/slow_clock.c - a reading of the calling thread's CPU clock that takes until another thread ends it
 *
 * To be loaded behind libcpa.so, which reads that clock when the thread was switched out: as if the thread lost its
 * processor there, inside an operation of cpa. After slow_clock_arm() the calling thread's next reading waits;
 * slow_clock_reached() says whether it does, and slow_clock_open() ends it.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void slow_clock_arm(void);
bool slow_clock_reached(void);
void slow_clock_open(void);

static __thread bool armed;
static atomic_bool reached, opened;

void slow_clock_arm(void)
{
	armed = true;
}

bool slow_clock_reached(void)
{
	return reached;
}

void slow_clock_open(void)
{
	opened = true;
}

/* By no function that cpa wraps. */
int clock_gettime(clockid_t clock, struct timespec *now)
{
	struct timespec short_time = { .tv_nsec = 100000 };

	if (armed && clock == CLOCK_THREAD_CPUTIME_ID) {
		armed = false;
		reached = true;
		while (!opened)
			syscall(SYS_nanosleep, &short_time, NULL);
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}
