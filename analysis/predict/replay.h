/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/replay.h - do what a script says, in whatever order that comes to
 *
 * A discrete-event simulation on the processors of engine.h. A lock is free once it is unlocked:
 * whoever asks first gets it, also before the waiter that the unlock wakes, as with pthread
 * mutexes; a waiter that finds it taken waits again, behind the others. Readers pass writers that
 * wait (glibc's default); a write unlock wakes all readers, without any one writer. Semaphores and
 * queues are the same: first come, first served, woken waiters compete.
 *
 * The recorded order remains in AWAIT steps only. Where the changed order makes threads wait for
 * each other in a circle, or a recording has lost what they wait for, the one that has waited
 * longest goes on, and is counted.
 */
#ifndef CPA_ANALYSIS_PREDICT_REPLAY_H
#define CPA_ANALYSIS_PREDICT_REPLAY_H

#include "analysis/predict/engine.h"
#include "analysis/predict/script.h"

struct cpa_replay_result {
	uint64_t ticks;	     /* from the start to the end of the program */
	uint64_t worked;     /* process time of all threads up to then */
	uint64_t forced;     /* waits that ended without what they waited for */
	uint64_t blocked;    /* waits */
	uint32_t unfinished; /* threads that had more to do at the end */
};

/* Replay @script on @placement, which has a group for each of its threads. */
struct cpa_replay_result cpa_replay(const struct cpa_script *script,
				    const struct cpa_placement *placement);

#endif
