/* SPDX-License-Identifier: MIT */
/*
 * analysis/engine.h - a virtual clock, and processors that are shared fairly
 *
 * Threads are on groups of cores. In a group of n cores, k threads that have work get an equal
 * share each, of one core at most: round robin with an infinitely small quantum (Eom and
 * Hollingsworth, LBF, section 2; Miller, Parallelism in Distributed Programs, 4.2). Background
 * processes take part in the sharing and never end (4.4).
 *
 * Everything is in whole ticks. Work ends in the first tick in which the thread's share, added up,
 * reaches it; a share has CPA_ENGINE_ONE steps. What ends in one tick ends in this order: delays, by deadline; then the groups'
 * work, group by group, by the share it needed; of equals that which began first.
 */
#ifndef CPA_ANALYSIS_ENGINE_H
#define CPA_ANALYSIS_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#define CPA_ENGINE_ONE (UINT64_C(1) << 20)

/* Where threads run. A placement is made by placement.h. */
struct cpa_placement {
	uint32_t groups;
	uint32_t *cores; /* [group], of each 1 or more */
	uint32_t load;	 /* background processes, spread evenly over all cores */
	uint32_t threads;
	uint32_t *group; /* [thread] */
};

struct cpa_engine;

/* @placement stays the caller's and must not change or go before the engine does. */
struct cpa_engine *cpa_engine_new(const struct cpa_placement *placement);
void cpa_engine_free(struct cpa_engine *engine);

/* Ticks since the engine was new. */
uint64_t cpa_engine_now(const struct cpa_engine *engine);

/*
 * @thread, which has nothing going on, works for @ticks of process time on the cores of its group,
 * or does nothing for @ticks. Either may be 0.
 */
void cpa_engine_work(struct cpa_engine *engine, uint32_t thread, uint64_t ticks);
void cpa_engine_delay(struct cpa_engine *engine, uint32_t thread, uint64_t ticks);

/* Advance the clock to what ends next; its thread is @thread. False: nothing is going on. */
bool cpa_engine_next(struct cpa_engine *engine, uint32_t *thread);

/* Share of CPA_ENGINE_ONE that each of @ready threads gets in a group of @cores among @all cores. */
uint64_t cpa_engine_share(uint32_t cores, uint32_t all, uint32_t load, uint32_t ready);

#endif
