/* SPDX-License-Identifier: MIT */
/*
 * preload/core/sampler.h - where the calling thread spends its CPU time
 *
 * A thread begins with a timer on its CPU clock; the handler of its signal records the program
 * counter. A timer is cheap to start, for short threads. It expires with the kernel's ticks, so its
 * samples cost little, and there are at most 250 a second. Since Linux 5.11 the signal arrives when
 * the thread returns to user code, and so interrupts no system call.
 *
 * At the first signal the thread opens a perf cpu-clock event on itself, if the kernel permits it.
 * It drains the event's ring at its next event of ours, and in a signal before the ring overflows.
 * On virtual machines each sample's interrupt, and each switch of a thread with a perf event, costs
 * microseconds to tens of them. So a thread that is switched often for its CPU time returns to the
 * timer for the rest of its life. At the default rate so does a thread that has many samples, or
 * that finds at an event or after a wait that the process has many; threads that begin later keep
 * the timer. A thousand samples a second are for short runs. While a thread blocks the signal it has
 * a perf event at the timer's rate.
 *
 * Stacks are taken in the signal only, at the timer's rate; so the signal goes on beside a perf event
 * where stacks are wanted. They stand for time of their own: samples tell which functions ran, stacks
 * who called them. Where functions are divided by their callers (preload/core/callers.h) each sample is told by
 * its stack, and there are perf events only for threads that block the signal: callers of theirs are not known.
 *
 * For the signal see preload/core/signal.h.
 */
#ifndef CPA_PRELOAD_CORE_SAMPLER_H
#define CPA_PRELOAD_CORE_SAMPLER_H

#include <time.h>

#include "preload/core/callers.h"
#include "preload/core/ring.h"
#include "shadow/graph/activity.h"

#define CPA_FUNCTION_CACHE 64u
/*
 * Functions of one activity that samples tell apart. A thread may compute for minutes without an event, in
 * hundreds of functions: one of them may get, too much, 1 of so many parts of the activity.
 */
#define CPA_SAMPLED 256u

struct cpa_sampler {
	bool has_timer;
	bool paused;	   /* instrumented calls tell where the time goes */
	bool stays;	   /* the choice between timer and perf event is final */
	bool heard;	   /* a signal of the timer came: the program does not block it */
	uint32_t switches; /* since `counted` */
	uint64_t counted;  /* CPU time, ticks */
	int timer;	   /* the kernel's number */
	uint64_t period;   /* CPU time between two samples, ticks */
	uint32_t weight;   /* the same in periods of the requested rate */
	uint64_t latest;   /* clock at the latest sample */
	uint64_t known;	   /* `latest` when last read */
	uint64_t known_at; /* CPU time, ticks, when `known` was new */
	struct cpa_ring ring;
	uint32_t signals; /* of the timer that are to come before the ring is given up */
	struct cpa_callers_of callers;
	struct cpa_stacks stacks; /* taken since the last event */
	/*
	 * Samples since the last event, by function. Filled by the owner, or by its signal handler
	 * while it is not inside our code: what cpa_sampler_take() gave stays as it is until then.
	 */
	uint32_t pending;
	uint64_t stand_for; /* CPU time, ticks */
	uint32_t unknown;   /* of the samples' weight: not in `sample` yet */
	uint32_t lost;	    /* ditto: parts that gave their places to others */
	struct cpa_sampled sample[CPA_SAMPLED];
	/* Program counters to ids of functions, as of `loads` unloads of libraries: preload/code/unload.h. */
	uint32_t loads;
	struct {
		uint64_t pc;
		uint32_t id;
	} functions[CPA_FUNCTION_CACHE];
};

/*
 * Choose the kind of sampler for @hz samples per CPU second; 0: none. CPA_DEFAULT_HZ holds for a
 * thread's first samples only. Functions are divided by @by_callers of their callers; 0: they are whole.
 * Once, at start.
 */
CPA_HIDDEN void cpa_sampler_init(unsigned hz, unsigned by_callers);

/* In a child of fork(), before it has a sampler: its other threads are gone. */
CPA_HIDDEN void cpa_sampler_forked(void);

/*
 * In a child that has no part in the session and may go on in code of ours, with its parent's
 * sampler: the kernel gives a child no mapping of the ring. From now on it is memory, and empty.
 */
CPA_HIDDEN void cpa_sampler_leave(struct cpa_sampler *s);

/* For the calling thread. @mask: its signal mask, as the program has it; NULL: the present one. */
CPA_HIDDEN void cpa_sampler_start(struct cpa_sampler *s, const sigset_t *mask);
CPA_HIDDEN void cpa_sampler_stop(struct cpa_sampler *s);

/*
 * The thread, of @cpu ticks CPU time, was off its processor. Return whether its sampler is another
 * one now, which takes its time. Inside our code only.
 */
CPA_HIDDEN bool cpa_sampler_switched(struct cpa_sampler *s, uint64_t cpu);

/*
 * The program is about to send CPA_SIGNAL to the calling thread, which blocks it. One of ours that is pending
 * would swallow it, as the kernel keeps one of each number: take that back, and stop the timer until
 * cpa_sampler_unhush(). Return false if there is nothing to do. errno is kept.
 */
CPA_HIDDEN bool cpa_sampler_hush(struct itimerspec *timer);
CPA_HIDDEN void cpa_sampler_unhush(const struct itimerspec *timer);

/* Ticks of CPU time in which a thread has a sample at least, if cpa_sampler_ticks(). */
CPA_HIDDEN uint64_t cpa_sampler_latest(void);

/* Read the ring. Inside our code only. */
CPA_HIDDEN void cpa_sampler_drain(struct cpa_sampler *s);

/* @pause: drop samples from now on; else keep them again. */
CPA_HIDDEN void cpa_sampler_pause(struct cpa_sampler *s, bool pause);

/*
 * The thread, of @cpu ticks CPU time, leaves a part of the run: drop samples from now on. At the
 * default rate a perf event ends, whose interrupts would cost as much as in the part; the timer goes
 * on, and tells the thread of the next part.
 */
CPA_HIDDEN void cpa_sampler_rest(struct cpa_sampler *s, uint64_t cpu);

/* The thread, of @cpu ticks CPU time, enters a part: keep samples, and await them from now on. */
CPA_HIDDEN void cpa_sampler_resume(struct cpa_sampler *s, uint64_t cpu);

/* Whether there are samples for cpa_sampler_take(). */
static inline bool cpa_sampler_waiting(const struct cpa_sampler *s)
{
	return s->pending || cpa_ring_is_unread(&s->ring);
}

/* Whether samples come as CPU time passes. */
static inline bool cpa_sampler_ticks(const struct cpa_sampler *s)
{
	return s->ring.map || (s->has_timer && s->heard && !s->paused);
}

/* Drop the samples since the last event: they fell in a wait or in instrumentation code. */
CPA_HIDDEN void cpa_sampler_drop(struct cpa_sampler *s);

/* Move the samples since the last event to @span. */
CPA_HIDDEN void cpa_sampler_take(struct cpa_sampler *s, struct cpa_span *span);

#endif
