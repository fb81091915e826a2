/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/script.h - what the threads of a program do, for replay.h to do it again
 *
 * A thread is a row of steps: some work, then one operation. Which thread gets a lock, an item or a
 * token is not in it; the replay decides. What the replay cannot know (what a condition was waited
 * for, which call of several a wake met) is in it as the recorded order: an AWAIT of an OFFER.
 */
#ifndef CPA_ANALYSIS_PREDICT_SCRIPT_H
#define CPA_ANALYSIS_PREDICT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPA_NOWHERE UINT32_MAX /* no step, thread, object ... */

enum cpa_step_kind {
	CPA_STEP_EXIT,	/* the last of each thread, and only that */
	CPA_STEP_NONE,	/* nothing but its work */
	CPA_STEP_PAUSE, /* `value` ticks in which no processor is needed */
	/*
	 * `object` is a lock. A LOCK or READ of one that the thread holds already, or an UNLOCK of
	 * one it does not hold does nothing: recordings have gaps, services of items end where they
	 * like.
	 */
	CPA_STEP_LOCK,
	CPA_STEP_UNLOCK, /* of either kind of holder */
	CPA_STEP_READ,
	CPA_STEP_OFFER, /* `object` is the number of an offer, each made once; */
	CPA_STEP_AWAIT, /* it is waited for, or was made before */
	CPA_STEP_POST,	/* `object` is a semaphore */
	CPA_STEP_TAKE,
	CPA_STEP_ARRIVE, /* at a barrier, and leave it */
	CPA_STEP_CREATE, /* `object` is a thread */
	CPA_STEP_JOIN,
	CPA_STEP_PUT, /* `object` is a queue, `value` the number of an item, each put once */
	CPA_STEP_GET,
	CPA_STEPS
};

struct cpa_step {
	uint32_t kind; /* enum cpa_step_kind */
	uint32_t object;
	uint64_t work; /* ticks of process time before it */
	uint64_t value;
};

enum cpa_script_kind { CPA_SCRIPT_LOCK, CPA_SCRIPT_SEM, CPA_SCRIPT_BARRIER, CPA_SCRIPT_QUEUE };

/* Who gets what of a queue. */
enum cpa_script_deal {
	CPA_DEAL_RECORDED, /* each GET waits for the item recorded */
	/*
	 * Whoever comes first gets the oldest item, and does for it what the recorded thread did
	 * (struct cpa_script_item).
	 */
	CPA_DEAL_ITEMS,
	/* Whoever comes first gets one, and does what it did itself: one is like the other. */
	CPA_DEAL_COUNT,
};

struct cpa_script_object {
	enum cpa_script_kind kind;
	/*
	 * Of a barrier its members; of a semaphore its initial tokens; of a lock 0 if it excludes
	 * nobody, 1, or the number of locks in its place, of which each use takes one at random; of
	 * a queue the most items in it, 0 if there is no bound.
	 */
	uint32_t count;
	/*
	 * Of a queue: its own lock, which a thread that has to wait gives up and gets back;
	 * CPA_NOWHERE: there is none.
	 */
	uint32_t lock;
	enum cpa_script_deal deal; /* of a queue */
	uint32_t initial;	   /* of a counted one: GETs that need no PUT */
};

/*
 * What the thread that got an item did next: the steps from `first` up to its next GET of that
 * queue, or to `end`, where the thread had no more items. There another one asks for the next item.
 */
struct cpa_script_item {
	uint32_t first; /* behind the GET; CPA_NOWHERE: nobody got it */
	uint32_t end;	/* CPA_NOWHERE: at the next GET */
};

struct cpa_script_thread {
	uint32_t first; /* step */
	uint32_t tail; /* of a consumer of a dealt queue: what it does when there are no more items */
	/* The thread created it, by a CREATE; CPA_NOWHERE: it begins at `begin` */
	uint64_t begin; /* ticks */
	bool created;
};

struct cpa_script {
	uint32_t steps, objects, offers, items, threads;
	struct cpa_step *step; /* [steps], of each thread in a row */
	struct cpa_script_object *object;
	struct cpa_script_item *item;
	struct cpa_script_thread *thread;
	uint32_t ends; /* the thread whose EXIT ends the program; CPA_NOWHERE: the last one's */
	/*
	 * Of a thread that was blocked, from the operation that released it until it works again;
	 * one figure for all, ticks.
	 */
	uint64_t latency;
};

#endif
