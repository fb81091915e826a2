/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/clock.h - wall and CPU time of the calling thread, mostly without a system call
 *
 * While a thread is not switched out, the time stamp counter gives both. A word in memory, the
 * detector, shows whether it was: the kernel changes the word when it resumes the thread, so it
 * then differs from cpa_clock_armed. The word is rseq_cs in glibc's rseq area, armed with a
 * descriptor whose instruction range never executes. Newer kernels do not change it in system
 * calls, so a test at start decides whether it is used. Without a detector every stamp asks the
 * kernel.
 *
 * Order: the counter is read first, then the detector. A switch between the two is then seen.
 */
#ifndef CPA_PRELOAD_CLOCK_CLOCK_H
#define CPA_PRELOAD_CLOCK_CLOCK_H

#include <time.h>

#include "preload/clock/machine.h"
#include "shadow/store/session.h"

/* Calls in which a thread is often without a processor for microseconds. */
enum cpa_brief {
	CPA_BRIEF_WAIT,	 /* in synchronization */
	CPA_BRIEF_READ,	 /* for bytes */
	CPA_BRIEF_WRITE, /* preempted in a write that does not block, by the thread that it woke */
	CPA_BRIEF_KINDS
};

struct cpa_clock {
	volatile uint64_t *detector;
	uint64_t last; /* counter at the last stamp */
	/* counter when `cpu` was compared with the kernel's clock the last time */
	uint64_t rebased;
	/* CPU time of the thread that stamps have reported so far, with `unsettled`, ticks. Guesses may be taken back. */
	uint64_t cpu;
	/* ticks by which `cpu` exceeds the kernel's clock: see cpa_clock_repaid() */
	uint64_t ahead;
	uint64_t delay_ns; /* run-queue delay in ns (schedstat) when it was read last */
	uint64_t unread;   /* ticks without a processor since the delay was read, but for */
	uint64_t taken;	   /* ticks of short preemptions, with which `delay_ns` went on */
	struct cpa_machine_counts counts; /* at the last getrusage() */
	bool waited;	/* the thread has waited since then, without a getrusage() */
	int schedstat;	/* descriptor; -1: none yet, -2: not available */
	uint64_t file;	/* inode of the file of `schedstat` */
	uint64_t lead;	/* ticks by which `last` was ahead of the counter when that was read last */
	uint32_t probe; /* 16 times the usual length of an instrumentation operation, ticks */
	uint32_t skips; /* operations until the length of one is measured again */
	uint32_t first; /* number of first measurements that are still to be made */
	/* counts occasions on which the thread may have been switched out or was sampled */
	uint32_t tick;
	uint64_t resumed; /* the latest stamp before which the thread may have been switched out */
	/* See cpa_clock_stamp_call(). Usual CPU time of a call, ticks; 0: not known yet. */
	uint32_t usual[CPA_BRIEF_KINDS];
	uint32_t guesses; /* calls that may still be guessed before one is measured */
	bool guessed;	  /* some were, since `cpu` was compared with the kernel's clock */
	/* Waits that were guessed since then, the CPU time that they were said to have, and that of other calls, ticks */
	struct {
		uint32_t calls;
		uint64_t ticks;
		uint64_t others;
	} guessed_waits;
	/*
	 * What waits had more than guessed, and was told of no wait yet, ticks. What is left as the thread ends is
	 * told nowhere.
	 */
	int64_t unsettled;
};

/* Times between two stamps, in ticks. process + runqueue + external = wall time. */
struct cpa_elapsed {
	uint64_t process, runqueue, external;
	bool device; /* if `external`: the thread read from a device meanwhile */
};

/*
 * The thread cannot have been ready in @asleep ticks of @e: it slept that long. The kernel at times counts a sleep as
 * time on the run queue.
 */
static inline void cpa_elapsed_slept(struct cpa_elapsed *e, uint64_t asleep)
{
	uint64_t away = e->runqueue + e->external, most = away > asleep ? away - asleep : 0;

	if (e->runqueue <= most)
		return;
	e->external = away - most;
	e->runqueue = most;
}

/* The observed path starts now. Called before anything else. */
CPA_HIDDEN void cpa_clock_begin(void);

/*
 * Choose the detector, and measure the counter's rate and the cost of readings. Before any thread
 * is attached.
 */
CPA_HIDDEN void cpa_clock_init(void);

/* cpa_clock_init() in a process that joins a session: takes the results from there. */
CPA_HIDDEN void cpa_clock_join(void);

/* Start the clock of the calling thread. */
CPA_HIDDEN void cpa_clock_start(struct cpa_clock *c);

/* Let a clock that has just been started begin now. Not after cpa_kernel_close(). May change errno. */
CPA_HIDDEN void cpa_clock_settle(struct cpa_clock *c);

/*
 * Ticks in which the calling thread was ready without a processor since its start; 0: not known.
 * Later gaps are not charged with that. Called right after cpa_clock_start(); takes some
 * microseconds.
 */
CPA_HIDDEN uint64_t cpa_clock_delay(struct cpa_clock *c);

CPA_HIDDEN void cpa_clock_stop(struct cpa_clock *c);

/* Ticks of @ns nanoseconds. */
CPA_HIDDEN uint64_t cpa_clock_ticks(uint64_t ns);

/* Nanoseconds of @ticks, UINT32_MAX at most. */
CPA_HIDDEN uint32_t cpa_clock_ns(uint64_t ticks);

/* The counter, in ticks, when @clock showed @then ns. @then lies in the past. */
CPA_HIDDEN uint64_t cpa_clock_when(clockid_t clock, uint64_t then);

/* The counter, in ticks, when @clock showed @t, a time in the past. At most @now. */
CPA_HIDDEN uint64_t cpa_clock_at(clockid_t clock, const struct timespec *t, uint64_t now);

/*
 * The thread's CPU time in ns. *@now: the counter at the same moment. *@lost: the thread may have been switched out
 * since the detector was armed, up to @now or later. Arms the detector, if there is one. Between cpa_kernel_begin()
 * and cpa_kernel_end().
 */
CPA_HIDDEN uint64_t cpa_clock_ask(struct cpa_clock *c, uint64_t *now, bool *lost);

/* Note both clocks in the header, if the last note is some time ago, or @always. */
CPA_HIDDEN void cpa_clock_note(uint64_t now, bool always);

/* cpa_clock_stamp() by asking the kernel. @blocked: the thread waited. */
CPA_HIDDEN uint64_t cpa_clock_stamp_slow(struct cpa_clock *c, struct cpa_elapsed *e, bool blocked,
					 uint64_t now);

/*
 * Stamp at the end of an operation of ours, learn from its length, and set how many of the next
 * ones need not be measured. *@e: times of the operation.
 */
CPA_HIDDEN void cpa_clock_measure(struct cpa_clock *c, struct cpa_elapsed *e);

/*
 * Leave the time between cpa_clock_hide() and cpa_clock_hidden() out of all stamps. *@e: the times
 * of that span.
 */
struct cpa_clock_gap {
	uint64_t begun, cpu_ns, delay_ns;
	struct cpa_machine_counts counts;
	bool reads; /* delay_ns is known */
};
CPA_HIDDEN struct cpa_clock_gap cpa_clock_hide(struct cpa_clock *c);
CPA_HIDDEN void cpa_clock_hidden(struct cpa_clock *c, const struct cpa_clock_gap *gap,
				 struct cpa_elapsed *e);

/* Value of a detector that is armed: address of a descriptor in clock.c. Written once, at start. */
extern CPA_HIDDEN uint64_t cpa_clock_armed;
/* Detector of threads that must ask the kernel each time: never equal to cpa_clock_armed. */
extern CPA_HIDDEN uint64_t cpa_clock_never_armed;
extern CPA_HIDDEN uint64_t cpa_clock_rebase_ticks;

/*
 * Longest activity, in ticks, that ends without a reading of the kernel's clock. Time that a
 * hypervisor takes from a thread shows in that clock, not in the detector.
 */
extern CPA_HIDDEN uint64_t cpa_clock_long_ticks;

/*
 * Whether the kernel's clock is used in place of the counter: preload/clock/source.h. Atomic; set
 * once.
 */
extern CPA_HIDDEN bool cpa_source_is_kernel;

/* The kernel's clock, in ticks. */
CPA_HIDDEN uint64_t cpa_source_now(void);

static inline uint64_t cpa_clock_now(void)
{
	/*
	 * Relaxed: a thread that sees the change late reads a counter that others still use, too.
	 */
	if (unlikely(__atomic_load_n(&cpa_source_is_kernel, __ATOMIC_RELAXED)))
		return cpa_source_now();
	return cpa_machine_counter();
}

static inline bool cpa_clock_detects(const struct cpa_clock *c)
{
	return c->detector != &cpa_clock_never_armed;
}

static inline bool cpa_clock_switched(const struct cpa_clock *c)
{
	return *c->detector != cpa_clock_armed;
}

/*
 * Whether `cpu` must be compared with the kernel's clock: the last time was long ago, or the thread
 * may have been switched out. @now: the counter.
 */
static inline bool cpa_clock_due(const struct cpa_clock *c, uint64_t now)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the counter is read before the detector */
	return cpa_clock_switched(c) || now - c->rebased > cpa_clock_rebase_ticks;
}

/* Whether the thread was on a processor since the last stamp, up to @now, which was just read. */
static inline bool cpa_clock_usual(const struct cpa_clock *c, uint64_t now)
{
	return !cpa_clock_due(c, now) && (int64_t)(now - c->last) <= (int64_t)cpa_clock_long_ticks;
}

/*
 * The part of @ticks between two usual stamps that had no processor.
 *
 * When the kernel's clock shows less CPU time than was reported, the difference is taken from the
 * times after that. Interrupts and a hypervisor take time that no detector shows. A thread that
 * another preempts from another core is not charged until the interrupt arrives (6.18: 5 us), while
 * the other thread already is.
 */
static inline uint64_t cpa_clock_repaid(struct cpa_clock *c, uint64_t ticks)
{
	uint64_t repaid = ticks < c->ahead ? ticks : c->ahead;

	c->ahead -= repaid;
	return repaid;
}

/*
 * The stamp for a counter reading @now. Stamps never go back: cpa_clock_skip() may have gone too
 * far, by one operation of ours at most. The stamp, and all reported time with it, is then ahead of
 * the counter. Another thread that continues the path then starts from a release that is late by
 * the same amount.
 */
static inline uint64_t cpa_clock_stamp_of(struct cpa_clock *c, uint64_t now)
{
	uint64_t stamp = now > c->last ? now : c->last;

	c->lead = stamp - now;
	return stamp;
}

/* Stamp at @now, which was just read. *@e: times since the last stamp. Return the stamp, ticks. */
static inline uint64_t cpa_clock_stamp_at(struct cpa_clock *c, struct cpa_elapsed *e, uint64_t now)
{
	uint64_t ticks;

	if (unlikely(!cpa_clock_usual(c, now)))
		return cpa_clock_stamp_slow(c, e, false, now);
	ticks = cpa_clock_stamp_of(c, now) - c->last;
	e->runqueue = cpa_clock_repaid(c, ticks);
	e->process = ticks - e->runqueue;
	e->external = 0;
	c->cpu += e->process;
	c->last += ticks;
	return c->last;
}

static inline uint64_t cpa_clock_stamp(struct cpa_clock *c, struct cpa_elapsed *e)
{
	return cpa_clock_stamp_at(c, e, cpa_clock_now());
}

/*
 * Stamp behind a call of @kind that began at tick @begun, with the thread on a processor since the last
 * stamp, and in which it waited: the detector shows that. *@e: the call's CPU time is process time, too.
 *
 * To ask the kernel how much CPU time the call took costs a tenth of the call and more. So of brief calls
 * that is measured for two in some thirty. The others count with the mean of the measured ones; what they
 * took more or less together is counted at the next look at the kernel's clock.
 */
CPA_HIDDEN uint64_t cpa_clock_stamp_call(struct cpa_clock *c, struct cpa_elapsed *e, uint64_t begun,
					 enum cpa_brief kind);

/*
 * The thread was switched out in a call of @kind that began at the last stamp, and in which it does not
 * block: the time without a processor is run-queue time of the activity that goes on. False: it was long,
 * and a stamp must tell. No stamp.
 */
CPA_HIDDEN bool cpa_clock_preempted(struct cpa_clock *c, enum cpa_brief kind);

/*
 * CPU time in waits, ticks: that of the latest, with times @e, and what those before had more or less than was
 * told, as far as it is not more than the latest took.
 */
static inline uint64_t cpa_clock_wait_cpu(struct cpa_clock *c, const struct cpa_elapsed *e)
{
	int64_t sum = (int64_t)e->process + c->unsettled;
	int64_t most = (int64_t)(e->process + e->runqueue + e->external);
	int64_t told = sum < 0 ? 0 : sum < most ? sum : most;

	c->unsettled = sum - told;
	return (uint64_t)told;
}

/* cpa_clock_stamp() after an original that may have blocked in synchronization, since the last stamp. */
static inline uint64_t cpa_clock_stamp_waited(struct cpa_clock *c, struct cpa_elapsed *e)
{
	if (cpa_clock_switched(c))
		return cpa_clock_stamp_call(c, e, c->last, CPA_BRIEF_WAIT);
	return cpa_clock_stamp(c, e);
}

/* Usual length of an operation of ours in the thread, ticks. */
static inline uint64_t cpa_clock_operation(const struct cpa_clock *c)
{
	return c->probe / 16;
}

/*
 * An operation of ours that reads the counter only at its begin: let the next activity begin when
 * such an operation usually ends. Return the ticks skipped.
 *
 * The error goes to the program's activity. Its mean is about 0, as every 64th operation is
 * measured. The skip starts from the counter, not from the stamp: however many short operations
 * follow each other, the stamp is ahead by at most one usual operation.
 */
static inline uint64_t cpa_clock_skip(struct cpa_clock *c)
{
	uint64_t usual = cpa_clock_operation(c), ticks = usual > c->lead ? usual - c->lead : 0;

	c->last += ticks;
	c->cpu += ticks;
	return ticks;
}

#endif
