/* SPDX-License-Identifier: MIT */
/*
 * preload/clock/clock.h - wall and process time of the calling thread, mostly without a system call
 *
 * The time stamp counter is both, as long as the thread is not switched out. A word in memory that
 * the kernel changes when it resumes the thread tells whether it was: `*detector == armed`. First
 * choice is the rseq_cs word of glibc's rseq area, armed with a descriptor whose instruction range
 * never executes; newer kernels leave it alone inside system calls, so a test at start decides.
 * Without it every stamp asks the kernel.
 *
 * Order: counter first, then the detector; then nothing can slip in between.
 */
#ifndef CPA_PRELOAD_CLOCK_CLOCK_H
#define CPA_PRELOAD_CLOCK_CLOCK_H

#include <time.h>

#include "preload/clock/machine.h"
#include "shadow/store/session.h"

struct cpa_clock {
	volatile uint64_t *detector;
	uint64_t last;	  /* counter at the last stamp */
	uint64_t rebased; /* counter when `cpu` was last compared with the kernel's clock */
	uint64_t cpu;	  /* CPU time of the thread accounted for so far, ticks */
	uint64_t ahead; /* ticks of `cpu` that the kernel's clock did not have: see cpa_clock_repaid() */
	uint64_t delay_ns; /* run-queue delay (schedstat) when last read */
	uint64_t unread;   /* ticks without a processor since then */
	/*
	 * Voluntary and involuntary switches of the thread at the last getrusage(); -1: unknown.
	 */
	long given, taken;
	bool waited;	/* the thread waited since then, without getrusage() */
	int schedstat;	/* descriptor; -1: none yet, -2: not available */
	uint64_t file;	/* its inode */
	uint64_t lead;	/* by which `last` was ahead of the counter at the last look, ticks */
	uint32_t probe; /* 16 times the usual length of an instrumentation operation, ticks */
	uint32_t skips; /* operations until `probe` is measured again */
	uint32_t first; /* how many of the first few measurements are left */
	uint32_t tick;	/* moves on when the thread may have been switched out, or was sampled */
};

/* What happened between two stamps; ticks. process + runqueue + external = wall. */
struct cpa_elapsed {
	uint64_t process, runqueue, external;
};

/* The observed path starts now. Before anything else. */
CPA_HIDDEN void cpa_clock_begin(void);

/* Choose the detector, measure the counter's rate. Before any thread is attached. */
CPA_HIDDEN void cpa_clock_init(void);

/* cpa_clock_init() in a process that joins: takes the measurements from the session. */
CPA_HIDDEN void cpa_clock_join(void);

/* Start the clock of the calling thread. */
CPA_HIDDEN void cpa_clock_start(struct cpa_clock *c);

/*
 * How long the calling thread was ready without a processor since its birth, ticks; 0: not known.
 * Gaps from now on are not charged with that. Right behind cpa_clock_start(): some microseconds.
 */
CPA_HIDDEN uint64_t cpa_clock_delay(struct cpa_clock *c);

CPA_HIDDEN void cpa_clock_stop(struct cpa_clock *c);

/* Ticks of @ns nanoseconds. */
CPA_HIDDEN uint64_t cpa_clock_ticks(uint64_t ns);

/* Nanoseconds of @ticks, UINT32_MAX at most. */
CPA_HIDDEN uint32_t cpa_clock_ns(uint64_t ticks);

/* The counter, in ticks, when @clock showed @then ns, a time in the past. */
CPA_HIDDEN uint64_t cpa_clock_when(clockid_t clock, uint64_t then);

/* The counter, in ticks and at most @now, when @clock showed @t, a time in the past. */
CPA_HIDDEN uint64_t cpa_clock_at(clockid_t clock, const struct timespec *t, uint64_t now);

/* Note both clocks in the header, if that was not done lately or @always. */
CPA_HIDDEN void cpa_clock_note(uint64_t now, bool always);

/* As cpa_clock_stamp(), by asking the kernel. @blocked: the thread waited, however short. */
CPA_HIDDEN uint64_t cpa_clock_stamp_slow(struct cpa_clock *c, struct cpa_elapsed *e, bool blocked,
					 uint64_t now);

/*
 * The time since the last stamp was our own: as cpa_clock_stamp(), and learn how long it was. Says
 * how many of the next ones need not be measured.
 */
CPA_HIDDEN void cpa_clock_measure(struct cpa_clock *c, struct cpa_elapsed *e);

/*
 * Leave the time from cpa_clock_hide() to cpa_clock_hidden() out of all stamps. @e receives the times
 * of that span.
 */
struct cpa_clock_gap {
	uint64_t begun, cpu_ns, delay_ns;
	long given, taken; /* as in struct cpa_clock */
	bool reads;	   /* delay_ns is known */
};
CPA_HIDDEN struct cpa_clock_gap cpa_clock_hide(struct cpa_clock *c);
CPA_HIDDEN void cpa_clock_hidden(struct cpa_clock *c, const struct cpa_clock_gap *gap,
				 struct cpa_elapsed *e);

/* Descriptor that every armed detector points to; see clock.c. */
extern CPA_HIDDEN uint64_t cpa_clock_armed;
extern CPA_HIDDEN uint64_t cpa_clock_rebase_ticks;

/*
 * Time that a hypervisor takes from a thread shows in the kernel's clock, not in the detector. So an
 * activity that seems longer than this, in ticks, ends with a reading of that clock.
 */
extern CPA_HIDDEN uint64_t cpa_clock_long_ticks;

/* The kernel's clock is used in place of the counter: preload/clock/source.h. Atomic; set once. */
extern CPA_HIDDEN bool cpa_source_is_kernel;

/* The kernel's clock, in ticks. */
CPA_HIDDEN uint64_t cpa_source_now(void);

static inline uint64_t cpa_clock_now(void)
{
	/* Relaxed: whoever finds it late finds a counter that others still use, too. */
	if (unlikely(__atomic_load_n(&cpa_source_is_kernel, __ATOMIC_RELAXED)))
		return cpa_source_now();
	return cpa_machine_counter();
}

static inline bool cpa_clock_switched(const struct cpa_clock *c)
{
	return *c->detector != cpa_clock_armed;
}

/*
 * Whether `cpu` is due to be compared with the kernel's clock, or the thread may have lost its
 * processor.
 */
static inline bool cpa_clock_due(const struct cpa_clock *c, uint64_t now)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the counter is read before the detector */
	return cpa_clock_switched(c) || now - c->rebased > cpa_clock_rebase_ticks;
}

/* Whether all the time since the last stamp, up to @now, was on a processor; @now is just read. */
static inline bool cpa_clock_usual(const struct cpa_clock *c, uint64_t now)
{
	return !cpa_clock_due(c, now) && (int64_t)(now - c->last) <= (int64_t)cpa_clock_long_ticks;
}

/*
 * Of @ticks between two usual stamps: those without a processor all the same. What the kernel's
 * clock turned out not to have is taken from what comes after it was asked. Interrupts and a
 * hypervisor take time that no detector shows; and a thread that another preempts from another core
 * is not charged the time until the interrupt arrives (6.18: 5 us), as the other one is.
 */
static inline uint64_t cpa_clock_repaid(struct cpa_clock *c, uint64_t ticks)
{
	uint64_t repaid = ticks < c->ahead ? ticks : c->ahead;

	c->ahead -= repaid;
	return repaid;
}

/*
 * The stamp of a look at the counter, which showed @now. Stamps never go back: cpa_clock_skip() may
 * have gone too far, by one operation of ours at most. The stamp is then that much ahead, as is all
 * that was accounted for: a path that another thread goes on from must not be longer than its
 * release is late.
 */
static inline uint64_t cpa_clock_stamp_of(struct cpa_clock *c, uint64_t now)
{
	uint64_t stamp = now > c->last ? now : c->last;

	c->lead = stamp - now;
	return stamp;
}

/* Stamp at @now, which was just read: fill @e with the time since the last one, return it. */
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

/* As cpa_clock_stamp(), after an original that may have blocked. */
static inline uint64_t cpa_clock_stamp_waited(struct cpa_clock *c, struct cpa_elapsed *e)
{
	uint64_t now = cpa_clock_now();

	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* as above */
	if (*c->detector != cpa_clock_armed)
		return cpa_clock_stamp_slow(c, e, true, now);
	return cpa_clock_stamp(c, e);
}

/* Usual length of an instrumentation operation of the thread, ticks. */
static inline uint64_t cpa_clock_operation(const struct cpa_clock *c)
{
	return c->probe / 16;
}

/*
 * The time since the last look at the counter was our own and short: let the next activity begin
 * when such an operation usually ends, without another look. Return the ticks passed over. What
 * this is wrong by goes to the program's activity; its mean is about 0, as every 64th time is
 * measured. It goes on from the counter, not from the stamp: however many short operations follow
 * each other, the stamp is ahead by no more than one usual operation.
 */
static inline uint64_t cpa_clock_skip(struct cpa_clock *c)
{
	uint64_t usual = cpa_clock_operation(c), ticks = usual > c->lead ? usual - c->lead : 0;

	c->last += ticks;
	c->cpu += ticks;
	return ticks;
}

#endif
