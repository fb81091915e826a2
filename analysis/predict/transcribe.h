/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/transcribe.h - the script of a recorded run, as it was or changed
 *
 * What becomes what:
 *
 *	locks, semaphores, barriers, creation, joining	the same; the replay decides who comes first
 *	processes					as threads: creation, and joining of the last thread
 *	conditions that behave as queues		queues (transcribe_pool.c)
 *	other conditions, futexes, once, annotations	the recorded order: an acquirer waits for the
 *							releases that it met
 *	items of work queues				dealt anew where the consumers are of one class, each
 *							with this one queue; else as recorded
 *	a queue's own lock and conditions		its lock excludes; waiting is for an item, or for
 *							space if a producer ever had to wait for it
 *	time blocked, waits without a known release	a pause as long as it was
 */
#ifndef CPA_ANALYSIS_PREDICT_TRANSCRIBE_H
#define CPA_ANALYSIS_PREDICT_TRANSCRIBE_H

#include "analysis/exact/history.h"
#include "analysis/predict/script.h"

/* What is known of the rows that a run's events name. NULL arrays: nothing. */
struct cpa_cast {
	uint32_t objects, queues, slots, components, cores;
	const uint8_t *object_kind;   /* [object row]: enum cpa_object_kind */
	const uint32_t *object_queue; /* [object row]: row of the queue whose own it is, or 0 */
	const uint32_t *queue_class;  /* [queue row]: row of the components table */
	const uint8_t *slot_kind;     /* [slot]: enum cpa_component_kind */
	const uint64_t *probe; /* [thread of the run]: ticks that the profiler took of it, in all */
};

/* What is changed; NULL arrays: nothing. */
struct cpa_changes {
	const double *factor;  /* [slot] */
	const uint32_t *locks; /* [component row, 0: 1] of a lock class: 1; 0: dropped; or split */
	const uint32_t *workers; /* [component row, 0: 0] of a queue: 0; or so many */
	bool probes; /* the profiler's own time is work, as it was in the recorded run */
	/* Waiting for a processor is a pause as long as it was, and so is time of no known use. */
	bool runqueue;
};

/* What makes a prediction weak: how often the script has to take the recording's word. */
struct cpa_weakness {
	uint64_t conditions; /* waits for a signal that may not be needed in another order */
	uint64_t guessed;    /* acquires of what behaved as a queue, and is replayed as one */
	uint64_t ordered;    /* other acquires in recorded order: once, futexes, annotations */
	uint64_t unexplained, unexplained_ticks; /* waits replayed as pauses */
	uint64_t pauses, pause_ticks;
	uint64_t untimed; /* uses of locks that are not there */
	uint64_t polls;	  /* waits that timed out and were begun again: the timeouts are left out */
	uint64_t timeouts; /* other waits that timed out, after the same time again */
	uint64_t tries;	   /* to get a lock, in vain: what follows is as recorded */
	uint64_t undealt;  /* items that go to the recorded thread */
	uint64_t refused;  /* queues whose workers cannot be changed */
	uint64_t children; /* waited for, each when it was in the recording */
	uint64_t cut;	   /* borders of profiled parts */
	uint64_t waits;	   /* of which the latency is the median */
};

struct cpa_transcript {
	struct cpa_script script;
	struct cpa_weakness weakness;
	uint32_t *source; /* [script.threads]: index in the run; of added workers that of another */
	uint64_t recorded; /* ticks the run took */
	uint64_t start;	   /* up to the first event */
	uint64_t probe;	   /* ticks of the profiler in all threads */
	uint64_t work;	   /* of all threads, probes not among them */
	uint64_t runqueue; /* waiting for a processor, in all threads' activities */
};

/* The caller calls cpa_transcript_free(). @run and @cast are not wanted any more. */
struct cpa_transcript *cpa_transcribe(const struct cpa_run *run, const struct cpa_cast *cast,
				      const struct cpa_changes *changes);
void cpa_transcript_free(struct cpa_transcript *transcript);

#endif
