/* SPDX-License-Identifier: MIT */
/* analysis/predict/replay_state.h - state of a replay, shared by replay*.c */
#ifndef CPA_ANALYSIS_PREDICT_REPLAY_STATE_H
#define CPA_ANALYSIS_PREDICT_REPLAY_STATE_H

#include "analysis/predict/replay.h"

#define REPLAY_HELD 16 /* largest number of split locks recorded for a thread */

enum replay_phase {
	PHASE_UNBORN,
	PHASE_WORKING, /* on the work before its step */
	PHASE_PAUSING, /* the step is done at its end */
	PHASE_BLOCKED, /* on a list of waiters, or waiting without one */
	PHASE_WAKING,  /* it will try its step again */
	PHASE_DONE
};

/* Waiting threads, oldest first. */
struct replay_waiters {
	uint32_t first, last;
};

struct replay_thread {
	enum replay_phase phase;
	uint32_t step;
	uint32_t until; /* end of the present service, if it is the thread's last; */
	uint32_t again; /* the GET to continue with then */
	/* While blocked: */
	struct replay_waiters *on;
	uint32_t next;
	uint32_t before, after; /* neighbours among all blocked threads, by age */
	bool reader;
	/* State of the present step, once begun: */
	bool arrived;	/* arrived at a barrier */
	uint64_t round; /* number of the barrier's round */
	bool claimed;	/* an item of its queue is reserved for it */
	bool regain;	/* it gave up its queue's lock */
	bool forced;	/* it may go on without waiting */
	uint32_t held_count;
	struct {
		uint32_t object, lock;
	} held[REPLAY_HELD];
	struct replay_waiters joiners;
};

struct replay_lock {
	uint32_t owner, readers;
	struct replay_waiters waiters;
};

struct replay_item {
	bool put, got;
	uint32_t next; /* next item in its queue */
};

struct replay_object {
	uint32_t lock;	 /* first of its locks */
	uint64_t tokens; /* of a semaphore; arrivals at a barrier; items put into a queue */
	uint64_t round;
	uint32_t first, last;	/* items in a queue */
	uint64_t claims, total; /* items that threads wait for or have got, and all items */
	struct replay_waiters waiters, full;
};

struct replay {
	const struct cpa_script *script;
	struct cpa_engine *engine;
	struct replay_thread *thread;
	struct replay_object *object;
	struct replay_lock *lock;
	struct replay_item *item;
	struct {
		bool made;
		uint64_t at; /* clock of the replay when it was made, ticks */
		uint32_t by; /* the thread that made it */
		struct replay_waiters waiters;
	} * offer;
	uint64_t *carried; /* [script->streams]: clock of the replay when the last byte so far had been carried */
	const struct cpa_placement *placement;
	uint32_t oldest, newest; /* of the blocked threads */
	struct cpa_replay_result result;
};

/* Let @thread wait on @waiters; it will do its step again. Return false. */
bool replay_block(struct replay *replay, uint32_t thread, struct replay_waiters *waiters);

/* End the wait of @thread. */
void replay_wake(struct replay *replay, uint32_t thread);
void replay_wake_first(struct replay *replay, struct replay_waiters *waiters);
void replay_wake_all(struct replay *replay, struct replay_waiters *waiters);

/*
 * Do the operation of @step for @thread. Return false if it is blocked; it does the step again
 * after waking.
 */
bool replay_acquire(struct replay *replay, uint32_t thread, uint32_t object, bool read);
void replay_release(struct replay *replay, uint32_t thread, uint32_t object);
bool replay_take(struct replay *replay, uint32_t thread, uint32_t object);
void replay_post(struct replay *replay, uint32_t object);
bool replay_arrive(struct replay *replay, uint32_t thread, uint32_t object);
bool replay_put(struct replay *replay, uint32_t thread, uint32_t queue, uint64_t item);

/* As replay_acquire(), for a GET. Sets the thread's next step if it returns true. */
bool replay_get(struct replay *replay, uint32_t thread, uint32_t queue, uint64_t item);

#endif
