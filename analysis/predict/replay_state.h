/* SPDX-License-Identifier: MIT */
/* analysis/predict/replay_state.h - the state of a replay, for the files that are it: replay*.c */
#ifndef CPA_ANALYSIS_PREDICT_REPLAY_STATE_H
#define CPA_ANALYSIS_PREDICT_REPLAY_STATE_H

#include "analysis/predict/replay.h"

#define REPLAY_HELD 16 /* split locks that a thread is known to hold */

enum replay_phase {
	PHASE_UNBORN,
	PHASE_WORKING, /* before its step */
	PHASE_PAUSING, /* the step is done then */
	PHASE_BLOCKED, /* on a waiters' list, or one of none */
	PHASE_WAKING,  /* then it tries its step again */
	PHASE_DONE
};

/* Threads in the order in which they began to wait. */
struct replay_waiters {
	uint32_t first, last;
};

struct replay_thread {
	enum replay_phase phase;
	uint32_t step;
	uint32_t until; /* end of the service that it is in, if that is the last of a thread; */
	uint32_t again; /* go on with this GET then */
	/* While blocked: */
	struct replay_waiters *on;
	uint32_t next;
	uint32_t before, after; /* among all that are blocked, by age */
	bool reader;
	/* Of its step, if it was begun: */
	bool arrived;	/* at a barrier */
	uint64_t round; /* there */
	bool claimed;	/* an item of its queue will be its own */
	bool regain;	/* it gave up its queue's lock */
	bool forced;	/* it need not wait */
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
	uint32_t next; /* in its queue */
};

struct replay_object {
	uint32_t lock;	 /* the first of its locks */
	uint64_t tokens; /* of a semaphore; arrivals of a barrier; items put in a queue */
	uint64_t round;
	uint32_t first, last;	/* items of a queue */
	uint64_t claims, total; /* items that threads wait for or have got, of so many */
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
		struct replay_waiters waiters;
	} * offer;
	uint32_t oldest, newest; /* of the blocked threads */
	struct cpa_replay_result result;
};

/* @thread waits on @waiters, and will do its step again. Return false. */
bool replay_block(struct replay *replay, uint32_t thread, struct replay_waiters *waiters);

/* End the wait of @thread. */
void replay_wake(struct replay *replay, uint32_t thread);
void replay_wake_first(struct replay *replay, struct replay_waiters *waiters);
void replay_wake_all(struct replay *replay, struct replay_waiters *waiters);

/*
 * The operation of @step by @thread. Return false if it is blocked; the thread does the step again
 * when it wakes.
 */
bool replay_acquire(struct replay *replay, uint32_t thread, uint32_t object, bool read);
void replay_release(struct replay *replay, uint32_t thread, uint32_t object);
bool replay_take(struct replay *replay, uint32_t thread, uint32_t object);
void replay_post(struct replay *replay, uint32_t object);
bool replay_arrive(struct replay *replay, uint32_t thread, uint32_t object);
bool replay_put(struct replay *replay, uint32_t thread, uint32_t queue, uint64_t item);

/* As above. Sets the thread's next step, when it returns true. */
bool replay_get(struct replay *replay, uint32_t thread, uint32_t queue, uint64_t item);

#endif
