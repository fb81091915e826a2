/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/part.h - paths at the borders between parts of a run (Online CP 2.3)
 *
 * One final node follows each thread's last event of a part, one start node precedes each thread's
 * first event of the next. Here the two are one: a stop is a release by every thread into one cell
 * (shadow/edge/cell.h), a start an acquire by every thread from it. So a part begins with the join of
 * all threads' last paths, and what happened in between is cut out of the run.
 *
 * A thread meets a change of the epoch at its next event. Those that have met no stop when the next
 * part begins are asleep: the first thread that comes to the start gathers their paths, which stand
 * still; nobody waits for it. One that in truth was at work brings the rest of its path when it
 * comes; what the others did not know of is counted (CPA_DIAG_PART_LATE).
 *
 * A release of an earlier part needs no mark (cases 3 and 4): the start dominates it, in L and in
 * every L - S, so that to join it changes nothing.
 */
#ifndef CPA_SHADOW_EDGE_PART_H
#define CPA_SHADOW_EDGE_PART_H

#include "shadow/edge/acquire.h"

/*
 * The thread has met the stop that began epoch @stop; its path ends at clock @end, which is one
 * tick later for the thread that stopped: its path is then the observed one.
 */
CPA_HIDDEN void cpa_part_end(struct cpa_self *self, uint64_t stop, uint64_t end);

/*
 * Whether the part that is epoch @epoch may begin for a thread. False: another thread is gathering
 * the paths for it.
 */
CPA_HIDDEN bool cpa_part_open(struct cpa_self *self, uint64_t epoch);

/*
 * The thread, whose path ended with an earlier part or is new, goes on in epoch @epoch, as one that
 * holds nothing, with a new id.
 */
CPA_HIDDEN void cpa_part_begin(struct cpa_self *self, uint64_t epoch);

#endif
