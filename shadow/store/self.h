/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/self.h - the private state of a profiled thread
 *
 * State that a thread needs to work on shared structures, and that no other thread reads or writes.
 * The preload library keeps it in thread-local storage; tests keep several.
 */
#ifndef CPA_SHADOW_STORE_SELF_H
#define CPA_SHADOW_STORE_SELF_H

#include "shadow/store/session.h"

#define CPA_MOST_SLOTS	   4096u
#define CPA_SPARE_VERSIONS 4
#define CPA_JOINED	   16
#define CPA_OWED	   16
#define CPA_ITEMS_IN_WORK  8 /* items that a thread can process at once */

struct cpa_journal;

struct cpa_self {
	struct cpa_thread *row;
	uint32_t number;  /* number of the thread's row */
	uint32_t id;	  /* id of the thread, from 1; unlike a row it is never used again */
	uint32_t process; /* row of the process; 0: none (tests) */
	/* clock of the latest boundary passed, ticks, see shadow/graph/checkpoint.h */
	uint64_t since;
	uint64_t period; /* header.period */
	/* ticks after `since` in which an event may take the short path: preload/core/event.h */
	uint64_t window;
	struct cpa_journal *journal; /* shadow/journal/journal.h; NULL: no journal */
	/*
	 * Clock of the end of the thread's latest operation within a wait of its own: in a signal handler, or in a
	 * function of the C library that does more than wait. Its time up to there is on its path.
	 */
	uint64_t own;
	uint64_t slow; /* operations so far that took more than a few hundred instructions */
	/* Unreferenced versions kept for the next join: [0] of S and H, [1] of O. */
	uint32_t spare_count[2];
	struct cpa_version *spare[2][CPA_SPARE_VERSIONS];
	uint32_t slacks; /* number of S vectors this thread has made: cpa_version_new_slack() */
	/* value of header.moves for which the slots kept here and in the row are right */
	uint32_t moves;
	/* component rows of held locks; their slots are in the thread row */
	uint32_t held_class[CPA_HELD_MAX];
	/* For the row's path: index of a slot's delta if it has one, and the number of deltas. */
	uint8_t delta_at[CPA_MOST_SLOTS];
	uint32_t deltas;
	/* Latest joined release of other threads, at index id modulo the size. */
	struct {
		uint32_t owner;
		uint64_t released;
	} joined[CPA_JOINED];
	/* The latest write of the thread that failed and left a record: shadow/edge/stream.h. */
	struct cpa_stream *failed;
	uint64_t failed_place;
	/* Free tokens, linked through free_next. */
	struct cpa_token *free_tokens;
	uint32_t free_token_count;
	/*
	 * > 0: inside a work queue's own code, whose acquires make no edges in the inherent path.
	 */
	uint32_t inner;
	/*
	 * Items dequeued but not done, latest last; begun: process and external ticks at the begin.
	 */
	uint32_t items_in_work;
	struct {
		uint32_t queue; /* row of the queue */
		/* the queue's component at that time: naming the queue may change it */
		uint32_t class;
		uint64_t item;
		uint64_t begun;
	} item[CPA_ITEMS_IN_WORK];
	/*
	 * Edge sums that the thread's row refers to; NULL: no memory. Their keys and rows are in
	 * edge[].
	 */
	struct cpa_edge_cache *edges;
	/* ticks; sample period of the credit in edges: shadow/graph/mix.h */
	uint64_t sample_period;
	/* Which function has activities of which nothing is known: shadow/graph/owed.h. */
	struct {
		uint32_t function; /* its id; 0: no function was sampled */
		uint64_t had;	   /* ticks of these since the latest sample */
		/* functions by id, and what is owed to them, ticks; they fill in order */
		struct cpa_owed_place {
			uint32_t function; /* 0: free */
			int64_t ticks;
		} place[CPA_OWED];
	} owed;
	struct {
		uint64_t key; /* ~cpa_summary_key(), so that 0 means none */
		struct cpa_edge *row;
	} edge[CPA_EDGE_CACHE];
	uint32_t edge_turn; /* selects the cache entry to be replaced next */
	/* Choice of the activities to note, see shadow/graph/summary.h. */
	struct cpa_noting {
		/* ticks since the last sampling point; ticks from it to the next */
		uint64_t since, apart;
		uint32_t numbers; /* random numbers drawn so far */
		/* ticks: maximum distance of two points; longer activities are all noted */
		uint32_t note;
		uint32_t notes; /* number of activities noted so far */
	} noting;
};

/* Up to where the time of a wait that began at clock @arrived is on the thread's path: no operation lies behind that. */
static inline uint64_t cpa_self_since(const struct cpa_self *self, uint64_t arrived)
{
	return self->own > arrived ? self->own : arrived;
}

#endif
