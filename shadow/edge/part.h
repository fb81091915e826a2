/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/part.h - paths at the borders between the parts of a run (Online CP 2.3)
 *
 * A part is a stretch of the run with profiling on. One final node follows each thread's last event
 * of a part, and one start node precedes each thread's first event of the next. Here the two are
 * one node: a stop is a release by every thread into one cell (shadow/edge/cell.h), a start is an
 * acquire by every thread from it. A part thus begins with the join of all threads' last paths, and
 * the time between parts is cut out of the run.
 *
 * The observed path of a part ends with the threads that did not wait for others when the part ended: all of
 * their paths end at that clock, and each goes on with its own in the next part, as it would have done
 * without the stop. A thread that waited, or was in no part before, takes the cell's: that of the thread
 * which was blocked least.
 *
 * A thread meets a change of the epoch at its next event. Threads that have not met the stop when
 * the next part begins are assumed asleep, with paths that do not change: whoever comes before the part is
 * open collects their paths. Several threads may do so at once: they share the rows, and each finishes what
 * another one has left, so nobody waits for a thread that has lost its processor. A thread that was running
 * after all adds the rest of its path when it arrives; the time that the others missed is counted
 * (CPA_DIAG_PART_LATE).
 *
 * A release of an earlier part needs no special treatment (cases 3 and 4): the start dominates it
 * in L and in every L - S, so joining it changes nothing.
 */
#ifndef CPA_SHADOW_EDGE_PART_H
#define CPA_SHADOW_EDGE_PART_H

#include "shadow/edge/acquire.h"

/*
 * The thread has met the stop that began epoch @stop; its path ends at clock @end. For the thread
 * that called the stop, @end is one tick later, so that its path becomes the observed one.
 */
CPA_HIDDEN void cpa_part_end(struct cpa_self *self, uint64_t stop, uint64_t end);

/*
 * Cut off the observed path of the thread what lies behind its last event: it joined that of a process which was
 * killed, and had counted probe time since then.
 */
CPA_HIDDEN void cpa_part_trim(struct cpa_self *self);

/*
 * Open the part of epoch @epoch, unless it is open: then the thread may begin it. False: the part is over.
 * Lock-free; each row of a thread is read READINGS times at most.
 */
CPA_HIDDEN bool cpa_part_open(struct cpa_self *self, uint64_t epoch);

/*
 * Begin epoch @epoch for the thread, which is new or took part in an earlier part: it holds nothing
 * and gets a new id.
 */
CPA_HIDDEN void cpa_part_begin(struct cpa_self *self, uint64_t epoch);

#endif
