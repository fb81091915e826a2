/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/snapshot.h - all threads of a session in one global state (Online CP 2.3, Appendix A)
 *
 * Of a program that runs, in this order:
 *
 *   - If no row changes while all are looked at twice, that is a state: at the moment between.
 *     Programs that wait, are stopped, or were killed end here. A thread that was stopped in the
 *     middle of an event leaves its row torn; if nothing else moves either, the row is taken as it
 *     is.
 *   - Else the state at the latest boundary that a thread has passed since the snapshot began:
 *     shadow/graph/checkpoint.h. A thread that passes two more while we read starts it anew, at a later
 *     one. It takes a period, some 0.1 s, as a rule.
 *   - After many tries rows are taken as they are, which is noted: no state of the program.
 *
 * So a snapshot is never before the one that was read before, and no path gets shorter. All that
 * is done is to read: no request, no signal, nothing is written. Counters of objects, queues and of
 * the edges of the activity graph are no part of the state, they are newer.
 */
#ifndef CPA_ANALYSIS_INPUT_SNAPSHOT_H
#define CPA_ANALYSIS_INPUT_SNAPSHOT_H

#include "analysis/input/path.h"

/* A thread's row with the paths and sums of the state. */
struct cpa_reading {
	struct cpa_thread row;
	struct cpa_vector path, retired;
	bool sound;	 /* both paths */
	uint64_t totals; /* of total, in use */
	uint64_t *total; /* [slots]: process time by slot */
	struct cpa_edge_cache edge[CPA_EDGE_CACHE];
	bool edges; /* it has such */
};

struct cpa_snapshot {
	struct cpa_dump *dump;
	uint32_t rows;
	uint32_t *writing; /* by row - 1: as the first look found it */
	uint64_t passed;   /* latest boundary that a thread had passed when we began */
	uint64_t boundary; /* of the state; 0: the rows themselves */
	bool raw;	   /* as they are */
	bool failed;	   /* the state cannot be had any more: see cpa_snapshot_again() */
	uint32_t torn;	   /* rows in the middle of an event, taken as they are */
	unsigned tries;
};

/* Begin. cpa_snapshot_end() frees what it keeps. */
void cpa_snapshot_begin(struct cpa_snapshot *snapshot, struct cpa_dump *dump);
void cpa_snapshot_end(struct cpa_snapshot *snapshot);

/*
 * Read thread row @row, from 1 to snapshot->rows, to @reading. Return false if there is no such
 * thread in the state, or if the state was lost: snapshot->failed.
 */
bool cpa_snapshot_read(struct cpa_snapshot *snapshot, uint32_t row, struct cpa_reading *reading);

/*
 * All rows were read, or the state was lost. Return true if they must be read anew, what was read
 * being worthless.
 */
bool cpa_snapshot_again(struct cpa_snapshot *snapshot);

void cpa_reading_init(struct cpa_reading *reading, uint32_t slots);
void cpa_reading_fini(struct cpa_reading *reading);

#endif
