/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/fake_machine.h - a machine with one thread, in place of preload/clock/machine.h
 *
 * Its time advances only when a test advances it or in a call of the machine. The truth is known:
 * how long the thread ran, was ready without a processor, was blocked, or lost time to the
 * hypervisor. Include it before preload/clock/clock.c.
 */
#ifndef CPA_PRELOAD_CLOCK_MACHINE_H
#define CPA_PRELOAD_CLOCK_MACHINE_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "tests/property/random.h"

#define FAKE_SLACK 50000u /* ns */
#define FAKE_READ  50u	  /* ticks to read the counter */
#define FAKE_CALL  900u	  /* ticks of any system call, if the test does not set `call` */

static struct fake {
	double ghz;	 /* ticks of the counter in a nanosecond */
	uint64_t ticks;	 /* ticks since the machine began; the counter is this plus `jump` */
	int64_t jump;	 /* error of the counter, ticks */
	double wrong;	 /* error added per tick that passes */
	double wrong_by; /* total of `wrong` so far */
	uint64_t call;	 /* ticks of any system call */
	uint64_t asked;	 /* system calls so far */
	double wake_ns; /* what a wake takes; the kernel does not count `cold` ticks of it as ready */
	uint64_t cold;
	uint64_t brief; /* ns: shorter sleeps are over before the thread is switched out */
	uint64_t ran, ready, blocked, stolen; /* true times of the thread, ticks */
	uint64_t uncounted;		      /* ticks of `ready` that schedstat does not have */
	long given, taken, device;
	uint64_t word; /* the detector */
	bool detects;
	bool distrusted;  /* the kernel considers the counter unstable */
	uint64_t held_up; /* ticks that the thread is preempted in its next look at its CPU clock */
	uint64_t held_later;   /* the same in its next look at its counts */
	uint64_t held_reading; /* the same in its next look at its delay */
	bool schedstat;	       /* /proc/.../schedstat exists */
	unsigned disturbs;     /* calls of the machine, of 10,000, in which something happens */
	struct rnd random;
} fake;

static inline uint64_t fake_ns(uint64_t ticks)
{
	return (uint64_t)((double)ticks / fake.ghz);
}

static inline void fake_pass(uint64_t ticks)
{
	fake.ticks += ticks;
	fake.wrong_by += fake.wrong * (double)ticks;
}

/* The thread runs. */
static inline void fake_run(uint64_t ticks)
{
	fake_pass(ticks);
	fake.ran += ticks;
}

/* The hypervisor takes the processor: neither the kernel nor any interface shows it. */
static inline void fake_steal(uint64_t ticks)
{
	fake_pass(ticks);
	fake.stolen += ticks;
}

/* Another thread takes the processor. */
static inline void fake_preempt(uint64_t ticks)
{
	fake_pass(ticks);
	fake.ready += ticks;
	fake.uncounted += ticks < fake.cold ? ticks : fake.cold;
	fake.taken++;
	fake.word = 0;
}

/* The thread blocks, and then waits for a processor. */
static inline void fake_block(uint64_t ticks, uint64_t ready)
{
	fake_pass(ticks + ready);
	fake.blocked += ticks;
	fake.ready += ready;
	fake.given++;
	fake.word = 0;
}

static inline void fake_disturb(void)
{
	uint64_t us = (uint64_t)(1000 * fake.ghz);

	if (rnd_below(&fake.random, 10000) >= fake.disturbs)
		return;
	if (rnd_percent(&fake.random, 50))
		fake_steal(1 + rnd_below(&fake.random, 60 * us));
	else
		fake_preempt(1 + rnd_below(&fake.random, 4000 * us));
}

static inline bool cpa_machine_trusts_counter(void)
{
	return !fake.distrusted;
}

static inline uint64_t cpa_machine_counter(void)
{
	fake_run(FAKE_READ);
	fake_disturb();
	return fake.ticks + (uint64_t)(fake.jump + (int64_t)fake.wrong_by);
}

static inline uint64_t cpa_machine_ns(clockid_t clock)
{
	uint64_t ns;

	fake.asked++;
	fake_run(fake.call / 2);
	ns = fake_ns(clock == CLOCK_THREAD_CPUTIME_ID ? fake.ran : fake.ticks);
	fake_run(fake.call / 2);
	if (fake.held_up && clock == CLOCK_THREAD_CPUTIME_ID) {
		fake_preempt(fake.held_up);
		fake.held_up = 0;
	}
	fake_disturb();
	return ns;
}

struct cpa_machine_counts {
	long given, taken, device;
};

static inline struct cpa_machine_counts cpa_machine_counts(void)
{
	struct cpa_machine_counts counts;

	fake.asked++;
	fake_run(fake.call);
	counts = (struct cpa_machine_counts){ fake.given, fake.taken, fake.device };
	if (fake.held_later) {
		fake_preempt(fake.held_later);
		fake.held_later = 0;
	}
	fake_disturb();
	return counts;
}

static inline ssize_t fake_schedstat(char *text, size_t size)
{
	fake.asked++;
	fake_run(fake.call);
	if (fake.held_reading) {
		fake_preempt(fake.held_reading);
		fake.held_reading = 0;
	}
	fake_disturb();
	if (!fake.schedstat) {
		errno = EIO;
		return -1;
	}
	return snprintf(text, size, "%llu %llu 1\n", (unsigned long long)fake_ns(fake.ran),
			(unsigned long long)fake_ns(fake.ready - fake.uncounted));
}

static inline ssize_t cpa_machine_read(int fd, char *text, size_t size)
{
	(void)fd;
	return fake_schedstat(text, size);
}

static inline bool cpa_machine_text(const char *path, char *text, size_t size)
{
	(void)path;
	return fake_schedstat(text, size) > 0;
}

static inline volatile uint64_t *cpa_machine_detector(void)
{
	return fake.detects ? &fake.word : NULL;
}

static inline uint64_t cpa_machine_slack(void)
{
	return FAKE_SLACK;
}

static inline void cpa_machine_sleep(uint64_t ns)
{
	if (ns < fake.brief)
		fake_run((uint64_t)((double)ns * fake.ghz));
	else
		fake_block((uint64_t)(((double)ns + FAKE_SLACK + fake.wake_ns) * fake.ghz), 0);
}

#endif
