/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/lanes.h - both paths across the threads of a journal, event by event
 *
 * A lane is a thread: its events, each an activity and perhaps a wait behind it. The critical path
 * is the one that exact.h finds. The observed path is walked back from the end of the run: a wait
 * that a release ended leads to the releaser at that time, everything else to what the same thread
 * did before. Its pieces tile the run without a gap.
 */
#ifndef CPA_ANALYSIS_EXACT_LANES_H
#define CPA_ANALYSIS_EXACT_LANES_H

#include "analysis/exact/history.h"

enum cpa_on {
	CPA_ON_CRITICAL = 1, /* the activity is on the critical path */
	CPA_ON_ACTIVITY = 2, /* part of the activity is on the observed path */
	CPA_ON_WAIT = 4,     /* part of the wait is on the observed path */
};

/* A stretch of the observed path, in one thread. */
struct cpa_piece {
	size_t lane, event; /* the event whose activity or wait it is a part of */
	uint64_t from, to;  /* clock */
	enum cpa_piece_kind {
		CPA_PIECE_ACTIVITY,
		CPA_PIECE_WAIT,	  /* no release is known to have ended it */
		CPA_PIECE_WOKEN,  /* from the release to the return, or from creation to start */
		CPA_PIECE_BEYOND, /* before the first event in the journal, or after the last one */
	} kind;
};

struct cpa_lanes {
	struct cpa_run *run;
	uint8_t **on;	   /* [threads][events]: bits of enum cpa_on */
	uint64_t from, to; /* clock at the ends of the run, or of what the journal has of it */
	size_t pieces;
	struct cpa_piece *piece; /* the observed path, by time */
	uint64_t critical;	 /* length of the critical path, ticks; UINT64_MAX: not found */
};

/*
 * Read the journal of @dump; the observed path ends in the thread with id @ends. Return NULL with
 * *@error, which the caller frees, if there is none. The caller calls cpa_lanes_free().
 */
struct cpa_lanes *cpa_lanes_build(struct cpa_dump *dump, uint32_t ends, char **error);
void cpa_lanes_free(struct cpa_lanes *lanes);

/* Clock at which the activity before event @event of lane @lane began. */
uint64_t cpa_lanes_begin(const struct cpa_lanes *lanes, size_t lane, size_t event);

/*
 * The release that ended the wait of @event: the latest one that came while it waited. Return its
 * event and set *@lane; NULL: none is known.
 */
const struct cpa_history_event *cpa_lanes_release(const struct cpa_lanes *lanes,
						  const struct cpa_history_event *event,
						  size_t *lane);

#endif
