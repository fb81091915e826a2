/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/history.h - what happened in a run, event by event, from the journal of its
 * session
 *
 * shadow/format/layout_journal.h says what a journal holds, analysis/input/journal.h reads its
 * records. Here they become events, of a whole run in memory: for what needs to go both ways in it.
 * What reads a run from begin to end does better with the records (analysis/exact/exact.h).
 *
 * Where the journal's ring came round, a thread begins with the oldest event that is left of it.
 * All is checked: what makes no sense ends the thread's events there, and is counted.
 */
#ifndef CPA_ANALYSIS_EXACT_HISTORY_H
#define CPA_ANALYSIS_EXACT_HISTORY_H

#include "analysis/input/load.h"

/*
 * Kinds of events, those of enum cpa_event_kind. After each: the kind of its object; "<-" the
 * earlier events that are its causes; "->" the later ones that it may be a cause of; fields that
 * only such events have. OpenMP's are in shadow/format/layout_event.h.
 *
 *	START				<- the CREATE, FORK or EXEC
 *	CREATE				-> the START of the thread. peer: it; 0: it never began
 *	FORK, EXEC			-> the START of the process, of the program. peer: its first
 *					thread, 0: it is not in the journal
 *	EXIT				-> the JOINs of the thread, each CHILD that waits for it
 *	JOIN				<- the EXIT. peer: the thread, 0: unknown; failed
 *	CHILD				<- the last event of a child. peer: its thread, 0: unknown;
 *					failed
 *	LOCK		lock, once	<- the last UNLOCK or SLEEP; for writing, of readers too
 *	RDLOCK		rwlock		<- the last UNLOCK of a writer
 *	UNLOCK		lock, once	-> the next LOCK
 *	TRY_FAILED	lock, semaphore
 *	SLEEP		condition	-> the next LOCK of its mutex. other: the mutex, given up
 *	WAIT		condition	<- a SIGNAL, the UNLOCK of its mutex. other: the mutex, held
 *					again; failed: timed out etc.
 *	SIGNAL, BROADCAST condition	-> the WAITs that it wakes. count: of these
 *	ARRIVE		barrier		-> the LEAVEs of its round. count: members
 *	LEAVE		barrier		<- the ARRIVEs of its round
 *	SEM_WAIT	semaphore	<- the POST; no cause: an initial token, or failed
 *	POST		semaphore	-> one SEM_WAIT
 *	FUTEX_WAIT, FUTEX_WAKE		as SLEEP and SIGNAL; the return is a WAIT
 *	ENQUEUE				-> the DEQUEUE of its item. queue, item
 *	DEQUEUE				<- the ENQUEUE of its item. queue, item
 *	DONE				queue; item: 0 if it was the thread's only one
 *	BEFORE		annotation	-> each later AFTER
 *	AFTER		annotation	<- every earlier BEFORE
 *	EXTERNAL			a call that may block returned; `external` is its time
 *	REGION, REGION_END, MARK	class: of the region, row of the mark's name
 *	STOP, RESTART			border of a part of the run
 *	READ, WRITE, POLL		<- the WRITEs of the bytes; for room, READs. stream, bytes
 *
 * One call may make two events. MORE is an addition: a wait without a known release, which became
 * external time of an activity that has no clock of its own.
 */
enum cpa_history_kind { CPA_HISTORY_MORE = CPA_EV_KINDS };

/* An event of another thread on which this one depends. */
struct cpa_cause {
	uint32_t thread; /* thread id; 0: none */
	uint32_t number; /* number of the event in that thread */
	bool waited_for; /* the release came after the acquirer arrived: on the observed path */
};

/* The component of `slot` was active for `ticks` of the activity. */
struct cpa_charge {
	uint32_t slot; /* slot in the run; cpa_component.slot tells which components share it */
	uint64_t ticks;
};

/* @ticks as an integer, at most 2^63: damaged journals can have larger times. */
static inline uint64_t cpa_history_ticks(double ticks)
{
	return ticks > 0 ? (uint64_t)(ticks < 0x1p63 ? ticks : 0x1p63) : 0;
}

/* An event, and the activity before it in its thread. Times are ticks. */
struct cpa_history_event {
	uint32_t thread;	/* thread id: struct cpa_thread.key of its row, never reused */
	uint32_t number;	/* position in the thread, from 1; merges are counted too */
	uint8_t kind;		/* enum cpa_event_kind or enum cpa_history_kind */
	bool failed;		/* see the table of kinds */
	bool matched;		/* an acquire that found a release, or needed none */
	uint32_t node;		/* row of the activity graph's node: site and class; 0: none */
	uint32_t class;		/* component row of the node's class; 0: none */
	uint32_t object, other; /* rows of the objects table; 0: none */
	uint32_t peer;		/* thread id */
	uint32_t count, queue;
	uint64_t item;
	uint32_t stream; /* row of the streams table, which it waited for, or read; 0: none */
	uint64_t bytes;	 /* that it took from the stream */
	/* The activity. process + external - idle is its weight on the inherent path. */
	uint64_t process, external, runqueue;
	uint64_t idle;	  /* part of `external` */
	uint64_t arrived; /* clock at the end of the activity, before any waiting */
	uint64_t now;	  /* clock when the call returned: arrived + waiting time */
	uint64_t ready;	  /* ticks before that in which the thread was ready, without a processor */
	uint64_t untimed; /* lock uses in the activity that were counted but not timed */
	/*
	 * Causes in the order in which they were joined. Charges of the activity, each slot once:
	 * the thread's class, locks held, regions, items, functions (from samples), and the
	 * activity's own slot.
	 */
	uint32_t causes, charges;
	const struct cpa_cause *cause;
	const struct cpa_charge *charge;
};

/* A thread of the journal. */
struct cpa_history_thread {
	uint32_t id;
	uint32_t row;	  /* row in the threads table */
	uint32_t slot;	  /* slot of its class at its start */
	uint64_t dropped; /* number of overwritten events, before the first one left */
};

/* A whole run in memory, about 150 bytes an event. */
struct cpa_run_thread {
	struct cpa_history_thread thread;
	struct cpa_history_event *event; /* [events] */
	size_t events;
};

struct cpa_run {
	/* Shared arrays of all events; private. */
	struct cpa_cause *cause;
	struct cpa_charge *charge;
	size_t threads;
	struct cpa_run_thread *thread;
	size_t events;	      /* number of events, all threads */
	uint64_t dropped;     /* overwritten events, all threads; 0: the run is complete */
	uint64_t start;	      /* clock at the start of the run */
	uint64_t end;	      /* clock at the end of the run; 0: it did not end */
	uint32_t exit_thread; /* id of the thread that ended the run; 0: none */
};

/*
 * Read the whole journal of @dump. Causes that are merges are replaced by the releases that were
 * merged (for a LEAVE: all ARRIVEs of its round). Return NULL with *@error, which the caller frees,
 * if there is no journal. The caller frees the result.
 */
struct cpa_run *cpa_run_read(struct cpa_dump *dump, char **error);
void cpa_run_free(struct cpa_run *run);

/* Index in run->thread of the thread with id @thread; SIZE_MAX: not in the journal. */
size_t cpa_run_find_thread(const struct cpa_run *run, uint32_t thread);

/* Event @number of the thread with id @thread; NULL: not in the journal. */
const struct cpa_history_event *cpa_run_event(const struct cpa_run *run, uint32_t thread,
					      uint32_t number);

#endif
