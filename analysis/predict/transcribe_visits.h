/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/transcribe_visits.h - find visits of threads to mutexes that have conditions
 *
 * A visit lasts from the lock to the unlock, including waits between them. Events in visits to one
 * mutex are in the order of the visits' ends.
 */
#ifndef CPA_ANALYSIS_PREDICT_TRANSCRIBE_VISITS_H
#define CPA_ANALYSIS_PREDICT_TRANSCRIBE_VISITS_H

#include "analysis/predict/transcribe_state.h"

struct transcribe_visit {
	uint32_t mutex, thread;	   /* mutex: object row; thread: index in the run */
	uint32_t cond;		   /* row of the last condition it waited on; 0: none */
	bool several;		   /* it waited on other conditions before */
	bool failed;		   /* its last wait ended without a signal */
	bool nested;		   /* inside a visit to another mutex */
	size_t lock, wait, unlock; /* events of the thread; wait: its last WAIT */
	uint64_t end;		   /* clock at its end */
	/* Features of the visit: place of its unlock, and a bit for each condition it signalled. */
	uint32_t place;
	uint64_t signalled;
};

/* A call of a condition, in a visit to its mutex or right after it. */
struct transcribe_call {
	uint32_t cond, mutex; /* object rows; mutex: only of a sleep */
	uint32_t visit;	      /* index + 1; 0: outside a visit */
	uint32_t thread;
	size_t event;
	uint64_t now;
	bool late; /* for a sleep: the visit signalled before */
};

struct transcribe_calls {
	struct transcribe_call *call; /* grouped by condition, otherwise unordered */
	size_t count, room;
};

struct transcribe_visits {
	struct transcribe_visit *visit; /* grouped by thread */
	size_t count, room;
	struct transcribe_calls sleeps, signals;
};

/* Find the visits. The caller calls transcribe_visits_fini(). */
void transcribe_visits_init(struct transcribe_visits *visits, const struct transcribe *t);
void transcribe_visits_fini(struct transcribe_visits *visits);

#endif
