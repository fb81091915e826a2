/* SPDX-License-Identifier: MIT */
/*
 * shadow/store/self.h - the private side of a profiled thread
 *
 * What a thread needs to work on shared state and nobody else may see. The preload library keeps
 * it in thread-local storage; tests keep several. Only its thread uses it.
 */
#ifndef CPA_SHADOW_STORE_SELF_H
#define CPA_SHADOW_STORE_SELF_H

#include "shadow/store/session.h"

#define CPA_MOST_SLOTS	   4096u
#define CPA_SPARE_VERSIONS 4
#define CPA_JOINED	   16
#define CPA_ITEMS_IN_WORK  8 /* items that one thread processes at once */

struct cpa_journal;

struct cpa_self {
	struct cpa_thread *row;
	uint32_t number;  /* of the row */
	uint32_t id;	  /* of the thread, never used again: rows are. From 1 */
	uint32_t process; /* row; 0: none (tests) */
	uint64_t since;	  /* clock of the latest boundary passed, see shadow/graph/checkpoint.h */
	uint64_t period;  /* header.period */
	uint64_t window; /* from `since` on an event may be a usual one for so long: preload/core/event.h */
	struct cpa_journal *journal; /* shadow/journal/journal.h; NULL: there is none */
	uint64_t slow; /* operations so far that took longer than a few hundred instructions */
	/*
	 * Versions given back and not yet needed: a join drops one and wants one. [1]: those of O.
	 */
	uint32_t spare_count[2];
	struct cpa_version *spare[2][CPA_SPARE_VERSIONS];
	uint32_t slacks; /* vectors S that the thread has made: cpa_version_new_slack() */
	uint32_t moves;	 /* header.moves, as far as the slots kept here and in the row go */
	uint32_t held_class[CPA_HELD_MAX]; /* component rows; their slots are in the thread row */
	/* Of the row's path: by slot, where its delta is, if it has one; how many there are. */
	uint8_t delta_at[CPA_MOST_SLOTS];
	uint32_t deltas;
	/* Of threads whose paths were joined: the latest such release. By id modulo the size. */
	struct {
		uint32_t owner;
		uint64_t released;
	} joined[CPA_JOINED];
	/* Free tokens, linked through free_next. */
	struct cpa_token *free_tokens;
	uint32_t free_token_count;
	/* > 0: inside a queue's own code, whose acquires make no edges in the inherent path. */
	uint32_t inner;
	/* Items dequeued and not done, the latest last; begun: process + external ticks then. */
	uint32_t items_in_work;
	struct {
		uint32_t queue; /* row */
		uint32_t class; /* its component then: the queue may get a name meanwhile */
		uint64_t item;
		uint64_t begun;
	} item[CPA_ITEMS_IN_WORK];
	/*
	 * The thread's sums of edges, which its row names; NULL: no memory. What edges they are of:
	 */
	struct cpa_edge_cache *edges;
	uint64_t sample_period; /* of the samples that edges have credit of: shadow/graph/mix.h */
	struct {
		uint64_t key; /* ~cpa_summary_key(), so that 0 is none */
		struct cpa_edge *row;
	} edge[CPA_EDGE_CACHE];
	uint32_t edge_turn; /* which of several gives its place up */
	/* See shadow/graph/summary.h. */
	struct cpa_noting {
		uint64_t since, apart; /* ticks since the last point, from it to the next one */
		uint32_t numbers;      /* drawn so far */
		uint32_t note; /* ticks: points are no farther apart; longer activities are noted each */
		uint32_t notes; /* activities that were noted so far */
	} noting;
};

#endif
