/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/engine.h - a virtual clock, and fair sharing of processors by turns
 *
 * Threads run on groups of cores. In the long run each gets the same share (Eom and Hollingsworth,
 * LBF, section 2; Miller, Parallelism in Distributed Programs, 4.2); background processes take part
 * and never end (4.4). The thread that has a core at a time is chosen as in Linux since 6.6
 * (kernel/sched/fair.c: earliest eligible virtual deadline first, after Stoica and Abdel-Wahab), as
 * far as a program notices:
 *
 * - A thread keeps its core until it waits, or until a timer interrupt finds that it has used its
 *   slice and another thread's turn has come. A slice is shorter than the time between two
 *   interrupts.
 * - A thread that begins to need a core gets an idle one; else at once the core of a thread that
 *   has used its slice, if its own turn comes before that thread's next one; else it waits.
 * - The next turn belongs to the thread with the earliest virtual deadline: its virtual time, which
 *   is the process time it has had, plus a slice. A thread that has had less than the mean of the
 *   threads that need a core keeps this credit until it needs a core again, up to the time between
 *   two interrupts. One that has had more must wait for the difference, also while it needs no
 *   core.
 *
 * The cores of a group have one queue, as if threads always moved to an idle core. Linux has a
 * queue for each core. If it leaves a woken thread on its last core although another is idle
 * (measured on a virtual machine), that thread waits until the next timer interrupt, when an idle
 * core takes waiting threads over; the predicted time is then too short. Recordings do not tell on
 * which core a thread was.
 *
 * All times are whole ticks of the clock. Events of one tick happen in this order: work ends, group
 * by group, in the order in which it began on its core; delays end, in the order in which they
 * began; the timer interrupts. Cores are handed out between any two of these.
 */
#ifndef CPA_ANALYSIS_PREDICT_ENGINE_H
#define CPA_ANALYSIS_PREDICT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

/* The cores of each thread. Made by placement.h. */
struct cpa_placement {
	uint32_t groups;
	uint32_t *cores; /* [group]: number of cores, at least 1 */
	uint32_t load;	 /* background processes, dealt to the cores one by one */
	uint32_t threads;
	uint32_t *group;    /* [thread] */
	uint64_t slice;	    /* ticks, at least 1; */
	uint64_t interrupt; /* ticks between two timer interrupts, at least `slice` */
};

struct cpa_engine;

/*
 * Make an engine. @placement stays the caller's and must not change or end before the engine. The
 * caller frees the result.
 */
struct cpa_engine *cpa_engine_new(const struct cpa_placement *placement);
void cpa_engine_free(struct cpa_engine *engine);

/* Ticks since the engine was made. */
uint64_t cpa_engine_now(const struct cpa_engine *engine);

/*
 * Give @ticks of work, which may be 0, to the thread that cpa_engine_next() named last, on its
 * core.
 */
void cpa_engine_work(struct cpa_engine *engine, uint32_t thread, uint64_t ticks);

/* @thread, named last or inactive, needs no core for @ticks, and needs one after that. */
void cpa_engine_delay(struct cpa_engine *engine, uint32_t thread, uint64_t ticks);

/*
 * @thread, which is inactive, needs a core now; if one is idle, it runs there after @latency ticks.
 */
void cpa_engine_wake(struct cpa_engine *engine, uint32_t thread, uint64_t latency);

/*
 * Advance the clock until a thread on a core has no work left, and store it in @thread. Unless it
 * gets work or a delay before the next call, it leaves the core and becomes inactive. Return false
 * if no thread is active.
 */
bool cpa_engine_next(struct cpa_engine *engine, uint32_t *thread);

#endif
