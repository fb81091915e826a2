/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/pieces.h - what the threads of an OpenMP team could do at the same time
 *
 * A piece is a part of a task between two points at which others may begin to depend on it, or it
 * depends on others: where it makes a task, or waits for some. The implicit tasks of a team, each
 * what one thread does between two barriers, have pieces as well. A piece depends on the piece before
 * it in its task. The first piece of a task depends on the piece that created the task, and on the
 * tasks that its depend clauses name. A piece behind a wait depends on the tasks that were waited
 * for. Which thread ran a piece, and in which order, does not matter.
 *
 * A task that its maker ran at once is no dependency of what the maker did next if others of its
 * kind were put off: the runtime had enough of them then. If none was, the program asked for that:
 * if(0), final.
 *
 * Locks and ordered sections are no dependencies here.
 */
#ifndef CPA_ANALYSIS_EXACT_PIECES_H
#define CPA_ANALYSIS_EXACT_PIECES_H

#include "analysis/exact/stints.h"

#define CPA_NO_PIECE UINT32_MAX

struct cpa_piece {
	uint64_t work;	   /* ticks */
	uint64_t begun;	   /* clock: decides between those that could begin at the same time */
	uint32_t before;   /* the piece before it of its task; CPA_NO_PIECE: none */
	uint32_t begun_by; /* the first piece of its task */
	uint32_t parent; /* the first piece of the task that made its task; CPA_NO_PIECE: not known */
	uint32_t stint;	      /* of the thread that ran it: says team and round */
	uint32_t next, nexts; /* `later` from there on: pieces that depend on it */
	uint32_t waits_for;   /* number of pieces that it depends on */
	bool task;	      /* of an explicit task */
	bool begins;	      /* a task */
	bool makes;	      /* it ends with the creation of a task */
	bool deep;    /* it is behind a wait for tasks of which some were made by others in it */
	bool at_once; /* behind a task that its maker ran at once */
	bool joint;   /* no work: where several pieces have ended */
};

/* The pieces between two barriers of a team. */
struct cpa_round {
	const struct cpa_stint *stint; /* one of them */
	size_t first, pieces;	       /* in `order` */
	uint32_t threads;
	uint64_t work, busiest; /* ticks, of all and of the thread with most */
	uint64_t tasks;		/* explicit tasks that began */
};

struct cpa_pieces {
	size_t pieces, rounds;
	struct cpa_piece *piece;
	uint32_t *later;
	uint32_t *order; /* by team, round, then by `begun` */
	uint32_t *index; /* by piece: its place among those of its round */
	struct cpa_round *round;
	bool nested; /* there are teams within others: rounds of both have what the inner ones do */
	bool unknown; /* a team of one thread ran tasks at once: libomp does that with all of them */
	bool odd; /* tasks ended that had not begun, or the reverse: events (detach), untied ones */
};

/* Read the journal @file, of which @stints were read. The caller calls cpa_pieces_free(). */
struct cpa_pieces *cpa_pieces_read(const struct cpa_journal_file *file,
				   const struct cpa_stints *stints);
void cpa_pieces_free(struct cpa_pieces *pieces);

/*
 * Ticks that a round takes with @threads threads on as many processors; 0: as many as gain
 * anything. Tasks go to the next free thread, the oldest first; in a wait a thread runs children of
 * the task that waits, in that of a group also theirs. Without tasks, a round in which one thread
 * has nearly all work stays as it is; others are divided as unevenly among the threads as they
 * were, to nothing among any number.
 */
double cpa_round_ticks(const struct cpa_pieces *pieces, const struct cpa_round *round,
		       uint32_t threads);

#endif
