/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/snapshot.h - read all threads of a session in one global state
 *
 * See Online CP 2.3, Appendix A. For a running program, cpa tries in this order:
 *
 * - If no row changes while all rows are read twice, the rows are a state: the one at the moment
 *   between the two reads. Programs that wait, are stopped, or were killed end here. A thread that
 *   stopped in the middle of an event leaves its row torn; if nothing else changes, the row is
 *   taken as it is.
 * - Else cpa takes the state at the latest boundary that a thread had passed when the snapshot
 *   began (shadow/graph/checkpoint.h). If a thread passes two more boundaries meanwhile, cpa starts
 *   again at a later one. This usually takes one period, about 0.1 s.
 * - After many tries the rows are taken as they are, without a common state, and this is noted.
 *
 * So a snapshot is never older than the one before it, and no path gets shorter. A snapshot only
 * reads: it sends no request or signal and writes nothing. Counters of objects, queues and
 * activity-graph edges are not part of the state; they are newer.
 */
#ifndef CPA_ANALYSIS_INPUT_SNAPSHOT_H
#define CPA_ANALYSIS_INPUT_SNAPSHOT_H

#include "analysis/input/path.h"

/* The state of a thread's row, with its paths and sums. */
struct cpa_reading {
	struct cpa_thread row;
	struct cpa_vector path, retired;
	bool sound;	 /* both paths could be read */
	uint64_t totals; /* number of totals in use */
	uint64_t *total; /* [slots]: process time by slot, ticks */
	struct cpa_edge_cache edge[CPA_EDGE_CACHE];
	bool edges; /* it has an edge cache */
};

struct cpa_snapshot {
	struct cpa_dump *dump;
	uint32_t rows;
	uint32_t *writing; /* [rows], by row - 1: value found by the first look */
	uint64_t passed;   /* latest boundary that a thread had passed at the beginning */
	uint64_t boundary; /* boundary of the state; 0: the rows' present values */
	bool raw;	   /* rows are taken without a common state */
	bool failed;	   /* the state was lost: see cpa_snapshot_again() */
	uint32_t torn;	   /* rows taken in the middle of an event */
	unsigned tries;
};

/* Begin a snapshot. cpa_snapshot_end() frees its memory. */
void cpa_snapshot_begin(struct cpa_snapshot *snapshot, struct cpa_dump *dump);
void cpa_snapshot_end(struct cpa_snapshot *snapshot);

/*
 * Read thread row @row, from 1 to snapshot->rows, into @reading. Return false if the state has no
 * such thread, or if the state was lost (snapshot->failed).
 */
bool cpa_snapshot_read(struct cpa_snapshot *snapshot, uint32_t row, struct cpa_reading *reading);

/*
 * Call when all rows were read or the state was lost. Return true if the caller must discard all
 * rows and read them again.
 */
bool cpa_snapshot_again(struct cpa_snapshot *snapshot);

void cpa_reading_init(struct cpa_reading *reading, uint32_t slots);
void cpa_reading_fini(struct cpa_reading *reading);

#endif
