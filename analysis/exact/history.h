/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/history.h - what happened in a run, event by event, from the journal of its session
 *
 * shadow/format/layout_journal.h says what a journal holds, analysis/input/journal.h reads its records. Here
 * they become events, of a whole run in memory: for what needs to go both ways in it. What reads a
 * run from begin to end does better with the records (analysis/exact/exact.h).
 *
 * Where the journal's ring came round, a thread begins with the oldest event that is left of it.
 * All is checked: what makes no sense ends the thread's events there, and is counted.
 */
#ifndef CPA_ANALYSIS_EXACT_HISTORY_H
#define CPA_ANALYSIS_EXACT_HISTORY_H

#include "analysis/input/load.h"

/*
 * What an event is. The enum cpa_event_kind where there is one; where one call makes two events,
 * or one kind covers several, these. Times between them are the events' own.
 *
 *	kind		object		releases: may be `from` of a later event	other fields
 *	START		-		-						from: the CREATE
 *	CREATE		-		to the START of the thread			peer: thread made, 0: it never began
 *	EXIT		-		to the JOINs of it, and each CHILD that waits for its process
 *	JOIN		-		-						peer: thread joined, 0: unknown; failed
 *	FORK, EXEC	-		to the START of the other process or program	peer: its first thread, 0: it is not there
 *	CHILD		-		-			from: the last event of a child		peer: its thread, 0: unknown; failed
 *	LOCK		lock		-			mutex, spin, rwlock for writing, once; from: last UNLOCK or SLEEP
 *	RDLOCK		rwlock		-						from: last write unlock
 *	UNLOCK		lock		to the next LOCK	read: of a reader
 *	TRY_FAILED	lock, sem	-
 *	SLEEP		condition	the mutex: to its next LOCK		other: the mutex, which is given up
 *	WAIT		condition	-			other: the mutex, held again; from: signal, unlock; failed: timed out etc.
 *	SIGNAL, BROADCAST condition	to the WAITs it wakes			count: how many
 *	ARRIVE		barrier		to the LEAVEs of its round		count: members; round
 *	LEAVE		barrier		-					round
 *	SEM_WAIT	semaphore	-			from: the POST; none: an initial token, or failed
 *	POST		semaphore	to one SEM_WAIT
 *	FUTEX_WAIT, FUTEX_WAKE		as SLEEP and WAIT (the return is a WAIT), as SIGNAL
 *	ENQUEUE		-		to its DEQUEUE			queue, item
 *	DEQUEUE		-		-				queue, item
 *	DONE		-		-				queue, item: 0 if it was the thread's only one
 *	BEFORE, AFTER	annotation	to the AFTERs behind it, AFTER: all those of BEFORE
 *	EXTERNAL	-		-			return of a call that may block; the time is `external`
 *	REGION, REGION_END, MARK	-			class: component of the region, row of the mark's name
 *	STOP, RESTART	-		-			of a part of the run
 *	MORE		as before	-			no synchronization: a wait that no release explains became external time
 *	MERGE		as before	to whoever meets what was merged
 *							of no activity: two releases became one, see struct cpa_cause
 */
enum cpa_history_kind { CPA_HISTORY_MORE = CPA_EV_KINDS, CPA_HISTORY_MERGE, CPA_HISTORY_KINDS };

/* An event of another thread on which this one depends. */
struct cpa_cause {
	uint32_t thread; /* thread id; 0: none */
	uint32_t number; /* number of the event in that thread */
	/*
	 * The dependency counts for the observed path only, because the object belongs to a queue
	 * (Online CP 4.1).
	 */
	bool observed_only;
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
	bool read, failed;	/* see the table of kinds */
	bool matched;		/* an acquire that found a release, or needed none */
	uint8_t external_kind;	/* enum cpa_external, for `external` */
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
	bool ended;	  /* its EXIT event is in the journal */
};

/* A whole run in memory, about 150 bytes an event. */
struct cpa_run_thread {
	struct cpa_history_thread thread;
	struct cpa_history_event *event; /* [events], without CPA_HISTORY_MERGEs */
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
