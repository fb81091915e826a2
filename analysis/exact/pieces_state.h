/* SPDX-License-Identifier: MIT */
/* analysis/exact/pieces_state.h - shared by pieces*.c while pieces are read and linked */
#ifndef CPA_ANALYSIS_EXACT_PIECES_STATE_H
#define CPA_ANALYSIS_EXACT_PIECES_STATE_H

#include <libiberty/libiberty.h>

#include "analysis/exact/pieces.h"
#include "analysis/util/values.h"

/* A task that a thread runs, or what it does outside all tasks. */
struct frame {
	uint32_t piece; /* CPA_NO_PIECE: none yet */
	uint32_t class; /* component row of the task's kind */
	bool task;
	bool split; /* its next activity begins a piece */
	bool waits; /* its last event began a wait */
};

/* A dependency, of which the release is known by name. */
struct link {
	uint32_t piece;
	cpa_event_name on;
};

/* The maker went on behind a task that it ran at once. */
struct inlined {
	uint32_t piece, on, class;
};

struct merge {
	cpa_event_name cause[2];
	uint32_t joint; /* CPA_NO_PIECE: not made, or of no pieces */
	bool made;
};

struct cpa_piece_reading {
	const struct cpa_journal_file *file;
	const struct cpa_stints *stints;
	struct cpa_stint_finder finder;
	struct cpa_pieces *out;
	size_t room, link_room, links, inlines, inline_room, merges, merge_room;
	struct link *link;
	struct inlined *inlined;
	struct merge *merge;
	struct cpa_map piece_of; /* by name of a release: piece + 1 */
	struct cpa_map merge_of; /* by name of a merge: its number + 1 */
	struct cpa_node *node;	 /* by row */
	uint32_t nodes;
	bool *put_off; /* by component row: tasks of the kind were run by others, or later */
	/* Of the strand that is read: */
	uint32_t strand;
	struct frame *frame; /* [0]: no task */
	size_t frames, frame_room;
	uint32_t stint; /* of the piece outside all tasks */
	cpa_event_name cause[2];
	unsigned causes;
	uint32_t done;	/* piece of the last event */
	uint32_t ended; /* class of the task that the last event ended; 0: none */
	uint64_t clock;
};

static inline void *pieces_grown(void *p, size_t used, size_t *room, size_t size)
{
	if (used < *room)
		return p;
	*room = *room ? 2 * *room : 256;
	return xrealloc(p, *room * size);
}

/* For qsort_r(): numbers of pieces by `begun`; @pieces: struct cpa_pieces. */
int cpa_pieces_by_begin(const void *a, const void *b, void *pieces);

/* Make the dependencies between the pieces of each round, of what was read. */
void cpa_pieces_link(struct cpa_piece_reading *in);

#endif
