/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/replay.h - execute a script, with a new order of locks and items
 *
 * A discrete-event simulation on the processors of engine.h. An unlocked lock is free: the first
 * thread that asks gets it, even before the waiter that the unlock wakes, as with pthread mutexes.
 * A woken waiter that finds the lock taken waits again, behind the others. Readers pass waiting
 * writers (glibc's default); a write unlock wakes all readers but no writer. Semaphores and queues
 * work alike: first come, first served, and woken waiters compete. Only AWAIT steps keep the
 * recorded order. If the new order leads to a deadlock, or a recording has gaps, the thread that
 * has waited longest goes on, and is counted.
 */
#ifndef CPA_ANALYSIS_PREDICT_REPLAY_H
#define CPA_ANALYSIS_PREDICT_REPLAY_H

#include "analysis/predict/engine.h"
#include "analysis/predict/script.h"

struct cpa_replay_result {
	uint64_t ticks;	     /* from the start to the end of the program */
	uint64_t worked;     /* process time of all threads until then */
	uint64_t forced;     /* waits that were ended by force */
	uint64_t blocked;    /* number of waits */
	uint32_t unfinished; /* threads with steps left at the end */
};

/* Replay @script on @placement, which has a group for each thread of the script. */
struct cpa_replay_result cpa_replay(const struct cpa_script *script,
				    const struct cpa_placement *placement);

#endif
