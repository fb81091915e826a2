/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/engine.h - a virtual clock, and processors that are shared fairly, turn by turn
 *
 * Threads are on groups of cores. Each gets the same in the long run (Eom and Hollingsworth, LBF,
 * section 2; Miller, Parallelism in Distributed Programs, 4.2); background processes take part in
 * the sharing and never end (4.4). Which of them has a core now is decided as Linux does since 6.6
 * (kernel/sched/fair.c: earliest eligible virtual deadline first, after Stoica and Abdel-Wahab), of
 * which this is what a program notices:
 *
 *   - A thread keeps its core until it waits, or until a timer interrupt finds that it had its
 *     slice and that another one's turn has come. A slice is less than the time between two
 *     interrupts.
 *   - A thread that begins to need a core gets an idle one; else the core of a thread that had its
 *     slice, at once, if its own turn comes before that one's next; else it waits.
 *   - The next is whose virtual deadline is the earliest: its virtual time, which is the process
 *     time it had, and a slice. What a thread had less than the mean of those that need a core, it
 *     has still when it needs one again, up to the time between two interrupts. What it had more it
 *     has to wait for, also while it needs none.
 *
 * The cores of a group have one queue, as if threads moved whenever that helps. Linux has one for
 * each core: where it leaves a thread that is woken on the core where it ran last, although another
 * is idle (as was measured on a virtual machine), that thread waits behind others up to the timer's
 * next interrupt, which is when an idle core takes waiting threads over, and what is predicted is
 * too early. On which core a thread was is in no recording.
 *
 * Everything is in whole ticks of the clock. What happens in one tick happens in this order: work
 * ends, group by group, in the order in which it began on its core; delays end, in the order in
 * which they began; the timer interrupts. Cores are given away between any two of these.
 */
#ifndef CPA_ANALYSIS_PREDICT_ENGINE_H
#define CPA_ANALYSIS_PREDICT_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

/* Where threads run. A placement is made by placement.h. */
struct cpa_placement {
	uint32_t groups;
	uint32_t *cores; /* [group], of each 1 or more */
	uint32_t load;	 /* background processes, dealt to the cores one by one */
	uint32_t threads;
	uint32_t *group;    /* [thread] */
	uint64_t slice;	    /* ticks, 1 or more; */
	uint64_t interrupt; /* between two of the timer's, no less than that */
};

struct cpa_engine;

/* @placement stays the caller's and must not change or go before the engine does. */
struct cpa_engine *cpa_engine_new(const struct cpa_placement *placement);
void cpa_engine_free(struct cpa_engine *engine);

/* Ticks since the engine was new. */
uint64_t cpa_engine_now(const struct cpa_engine *engine);

/* The thread that cpa_engine_next() named last has @ticks of work, which may be 0, on its core. */
void cpa_engine_work(struct cpa_engine *engine, uint32_t thread, uint64_t ticks);

/* The same thread, or one with nothing going on, needs no core for @ticks, then it does. */
void cpa_engine_delay(struct cpa_engine *engine, uint32_t thread, uint64_t ticks);

/*
 * @thread, which has nothing going on, needs a core now; if one is idle it goes on there after
 * @latency.
 */
void cpa_engine_wake(struct cpa_engine *engine, uint32_t thread, uint64_t latency);

/*
 * Advance the clock to where a thread has a core and no more work there: @thread. Unless it gets
 * work or a delay before the next call, it leaves the core and has nothing going on. False: nobody
 * has.
 */
bool cpa_engine_next(struct cpa_engine *engine, uint32_t *thread);

#endif
