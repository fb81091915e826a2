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
 *	reads of pipes and sockets			as these: for the writes of their bytes; a
 *							write that had to wait, for the read that made
 *							room
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

/* What is known of the table rows in a run's events. NULL arrays: nothing is known. */
struct cpa_cast {
	uint32_t objects, queues, slots, components, streams, cores;
	const uint8_t *object_kind;   /* [object row]: enum cpa_object_kind */
	const uint32_t *object_queue; /* [object row]: row of its queue, or 0 */
	const uint32_t *queue_class;  /* [queue row]: row of the components table */
	const uint8_t *slot_kind;     /* [slot]: enum cpa_component_kind */
	const uint64_t *probe;	      /* [thread of the run]: ticks of the profiler in it */
};

/* A change to the work of one activity: it takes `part` of its time, and `more` ticks. */
struct cpa_activity_change {
	double part;
	uint64_t more;
};

/*
 * What a message of a stream takes, from its write until a thread that waits for it goes on: fixed
 * + recorded * latency + per_byte * bytes, ticks; the bytes of each message after those of the ones before. The
 * latency is that of all waits of the run.
 */
struct cpa_transfer {
	double fixed, recorded, per_byte;
	bool roomy; /* no writer waits for room */
};

/* Changes to the program; NULL arrays: none. */
struct cpa_changes {
	const double *factor;	 /* [slot] */
	const uint32_t *locks;	 /* [class row, row 0: 1]: 1; 0: dropped; N: split */
	const uint32_t *workers; /* [queue class row, row 0: 0]: number; 0: unchanged */
	/* [event of the run, thread by thread], after all others */
	const struct cpa_activity_change *activity;
	const struct cpa_transfer *transfer; /* [stream row] */
	bool between;			     /* `transfer` holds between groups of cores alone */
	bool probes; /* count the profiler's own time as work, as in the recorded run */
	/*
	 * Replay recorded waiting for a processor, and time of unknown use, as a pause of the same
	 * length.
	 */
	bool runqueue;
};

/* Limits of a prediction: how often the script must follow the recording. */
struct cpa_weakness {
	uint64_t conditions; /* waits for a signal that another order may not need */
	uint64_t guessed;    /* acquires of conditions that are replayed as queues */
	uint64_t streams;    /* reads, polls and writes after the recorded writes and reads */
	uint64_t ordered;    /* other acquires in recorded order: once, futexes, annotations */
	uint64_t unexplained, unexplained_ticks; /* waits replayed as pauses */
	uint64_t pauses, pause_ticks;
	uint64_t untimed;  /* uses of locks that are missing */
	uint64_t polls;	   /* waits that timed out and were repeated: the timeouts are left out */
	uint64_t timeouts; /* other waits that timed out; they take the same time again */
	uint64_t tries;	   /* failed trylocks; the steps after them are as recorded */
	uint64_t undealt;  /* items that go to the recorded thread */
	uint64_t refused;  /* queues whose number of workers cannot be changed */
	uint64_t children; /* waits for the same child process as in the recording */
	uint64_t cut;	   /* borders of profiled parts */
	uint64_t waits;	   /* number of waits of which the latency is the median */
};

struct cpa_transcript {
	struct cpa_script script;
	struct cpa_weakness weakness;
	uint32_t *source;  /* index in the run; for added workers of the copied one */
	uint64_t recorded; /* recorded length of the run, ticks */
	uint64_t start;	   /* ticks before the first event */
	uint64_t probe;	   /* ticks of the profiler, all threads */
	uint64_t work;	   /* process ticks, all threads, without the profiler */
	uint64_t runqueue; /* ticks of waiting for a processor that are no part of a known wait, all threads */
};

/*
 * Make the script of @run. The caller calls cpa_transcript_free(); @run and @cast are no longer
 * needed.
 */
struct cpa_transcript *cpa_transcribe(const struct cpa_run *run, const struct cpa_cast *cast,
				      const struct cpa_changes *changes);
void cpa_transcript_free(struct cpa_transcript *transcript);

#endif
