/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/transcribe_visits.h - the visits of threads to mutexes that have conditions
 *
 * A visit goes from the lock to the unlock, waits in between included. What happens in visits to
 * one mutex is in the order of their ends.
 */
#ifndef CPA_ANALYSIS_PREDICT_TRANSCRIBE_VISITS_H
#define CPA_ANALYSIS_PREDICT_TRANSCRIBE_VISITS_H

#include "analysis/predict/transcribe_state.h"

struct transcribe_visit {
	uint32_t mutex, thread;	   /* row; index in the run */
	uint32_t cond;		   /* row of the condition it waited on last, 0: none */
	bool several;		   /* it waited on others before */
	bool failed;		   /* its last wait ended without a signal */
	bool nested;		   /* in a visit to another mutex */
	size_t lock, wait, unlock; /* events of the thread; the last WAIT */
	uint64_t end;		   /* clock */
	/*
	 * What it looks like: the place of its unlock, and a bit for each condition it signalled.
	 */
	uint32_t place;
	uint64_t signalled;
};

/* A call of a condition, in a visit to its mutex or right behind. */
struct transcribe_call {
	uint32_t cond, mutex; /* rows; mutex: of a sleep */
	uint32_t visit;	      /* index + 1; 0: in none */
	uint32_t thread;
	size_t event;
	uint64_t now;
	bool late; /* of a sleep: the visit has signalled before */
};

struct transcribe_calls {
	struct transcribe_call *call; /* by condition, in no other order */
	size_t count, room;
};

struct transcribe_visits {
	struct transcribe_visit *visit; /* thread by thread */
	size_t count, room;
	struct transcribe_calls sleeps, signals;
};

/* Find them; the caller calls transcribe_visits_fini(). */
void transcribe_visits_init(struct transcribe_visits *visits, const struct transcribe *t);
void transcribe_visits_fini(struct transcribe_visits *visits);

#endif
