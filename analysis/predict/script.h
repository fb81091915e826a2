/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/script.h - steps of a program's threads, for replay.h to execute
 *
 * A thread is a list of steps: some work, then one operation. A script does not say which thread
 * gets a lock, an item or a token: the replay decides. Where the replay cannot know (the predicate
 * of a condition, or which of several calls a wake-up met), the script has the recorded order: an
 * AWAIT of an OFFER.
 */
#ifndef CPA_ANALYSIS_PREDICT_SCRIPT_H
#define CPA_ANALYSIS_PREDICT_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CPA_NOWHERE UINT32_MAX /* no step, thread or object */

enum cpa_step_kind {
	CPA_STEP_EXIT,	/* the last step of each thread, and only that */
	CPA_STEP_NONE,	/* work only */
	CPA_STEP_PAUSE, /* `value` ticks without need of a processor */
	/*
	 * `object` is a lock. Taking a lock that the thread holds, or unlocking one that it does
	 * not hold, does nothing: recordings have gaps, and services of items may end anywhere.
	 */
	CPA_STEP_LOCK,
	CPA_STEP_UNLOCK, /* ends either kind of hold */
	CPA_STEP_READ,
	CPA_STEP_OFFER, /* `object` is the number of an offer, made once; */
	/*
	 * Waits until this offer is made. If `value` is not 0, the offer is a message that takes
	 * `value` - 1 ticks; who waits for it runs then, and the script's latency does not count.
	 */
	CPA_STEP_AWAIT,
	CPA_STEP_POST, /* `object` is a semaphore */
	CPA_STEP_TAKE,
	CPA_STEP_ARRIVE, /* at a barrier, and leave it */
	CPA_STEP_CREATE, /* `object` is a thread to start */
	CPA_STEP_JOIN,
	CPA_STEP_PUT, /* `object` is a queue, `value` the number of an item, put once */
	CPA_STEP_GET,
	/*
	 * Behind an AWAIT with a `value` of the same offer: the bytes of that message take `value` ticks, one
	 * message of a stream after the other, before the ticks that the AWAIT says.
	 */
	CPA_STEP_CARRY,
	CPA_STEPS
};

struct cpa_step {
	uint32_t kind; /* enum cpa_step_kind */
	uint32_t object;
	uint64_t work; /* ticks of process time before the operation */
	uint64_t value;
};

enum cpa_script_kind { CPA_SCRIPT_LOCK, CPA_SCRIPT_SEM, CPA_SCRIPT_BARRIER, CPA_SCRIPT_QUEUE };

/* How the items of a queue are handed out. */
enum cpa_script_deal {
	CPA_DEAL_RECORDED, /* each GET waits for the recorded item */
	/*
	 * The first thread that asks gets the oldest item, and does what the recorded thread did
	 * with it (struct cpa_script_item).
	 */
	CPA_DEAL_ITEMS,
	/*
	 * The first thread that asks gets an item, and does what it did itself in the recording:
	 * all items are alike.
	 */
	CPA_DEAL_COUNT,
};

struct cpa_script_object {
	enum cpa_script_kind kind;
	/*
	 * Barrier: its members. Semaphore: its initial tokens. Lock: 0 if it excludes nobody, 1, or
	 * the number of locks that replace it, of which each use takes a random one. Queue: its
	 * capacity, 0 if unbounded.
	 */
	uint32_t count;
	/*
	 * Queue: its own lock, which a waiting thread gives up and takes again; CPA_NOWHERE: none.
	 */
	uint32_t lock;
	enum cpa_script_deal deal; /* for a queue */
	uint32_t initial;	   /* GETs that need no PUT, if items are counted */
};

/*
 * Steps after the GET of an item: from `first` up to the thread's next GET from that queue, or to
 * `end`, where the recorded thread got no more items. There a thread asks for its next item.
 */
struct cpa_script_item {
	uint32_t first; /* after the GET; CPA_NOWHERE: no thread got it */
	uint32_t end;	/* CPA_NOWHERE: up to the next GET */
};

struct cpa_script_thread {
	uint32_t first; /* step */
	uint32_t tail;	/* of a dealt queue's consumer: first step after its last item */
	/* The thread created it, by a CREATE; CPA_NOWHERE: it begins at `begin` */
	uint64_t begin; /* ticks */
	bool created;
};

struct cpa_script {
	uint32_t steps, objects, offers, items, threads;
	struct cpa_step *step; /* [steps], those of each thread in sequence */
	struct cpa_script_object *object;
	struct cpa_script_item *item;
	struct cpa_script_thread *thread;
	uint32_t ends; /* thread whose EXIT ends the program; CPA_NOWHERE: the last EXIT does */
	/*
	 * Ticks from the operation that releases a blocked thread until it runs again; one value
	 * for all waits.
	 */
	uint64_t latency;
	bool between; /* messages take their time between groups of cores alone */
	uint32_t streams;
	uint32_t *stream; /* [offers]: of a message that a CARRY is of, below `streams`; NULL: there is no CARRY */
};

#endif
