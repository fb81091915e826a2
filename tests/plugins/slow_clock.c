/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/slow_clock.c - a reading of the calling thread's CPU clock that takes until another thread ends it
 *
 * To be loaded behind libcpa.so, which reads that clock when the thread was switched out: as if the thread lost its
 * processor there, inside an operation of cpa. After slow_clock_arm() the calling thread's next reading waits;
 * slow_clock_reached() says whether it does, and slow_clock_open() ends it. slow_clock_arm_thread(): the next reading
 * of another thread, with this kernel id. After slow_clock_arm_behind() it is the
 * reading behind a stamp: three times the thread is switched out as it reads, so that cpa keeps what it has, and the
 * fourth reading waits, by spinning.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

void slow_clock_arm(void);
void slow_clock_arm_behind(void);
void slow_clock_arm_thread(int tid);
bool slow_clock_reached(void);
void slow_clock_open(void);

#define TRIES 3 /* cpa_clock_ask() */

static __thread unsigned armed; /* the reading that waits: 1 is the next one; 0: none */
static __thread bool spins;
static atomic_bool reached, opened;
static atomic_int other; /* thread for slow_clock_arm_thread(); 0: none */

void slow_clock_arm(void)
{
	armed = 1;
}

void slow_clock_arm_behind(void)
{
	armed = TRIES + 1;
	spins = true;
}

void slow_clock_arm_thread(int tid)
{
	other = tid;
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
static void sleep_us(long us)
{
	struct timespec time = { .tv_nsec = us * 1000 };

	syscall(SYS_nanosleep, &time, NULL);
}

static void await_open(void)
{
	reached = true;
	while (!opened)
		if (!spins)
			sleep_us(20000); /* each takes some CPU time, which is the thread's */
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	if (other && clock == CLOCK_THREAD_CPUTIME_ID && other == (int)syscall(SYS_gettid)) {
		other = 0;
		armed = 1;
	}
	if (armed && clock == CLOCK_THREAD_CPUTIME_ID) {
		if (--armed)
			sleep_us(100);
		else
			await_open();
	}
	return (int)syscall(SYS_clock_gettime, clock, now);
}
