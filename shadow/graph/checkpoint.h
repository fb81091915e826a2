/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/checkpoint.h - state of each thread's row at common moments (Online CP 2.3, Appendix
 * A)
 *
 * Reading the rows one after another does not give a state that the program was ever in: a row read
 * early lacks a release from which a row read late has already continued. Time is therefore divided
 * into periods. A thread's state at boundary n, clock n * header.period, is the result of its
 * events before that clock. Before its first event behind the boundary a thread copies its state to
 * a checkpoint. A thread without such an event needs no checkpoint, because its row still holds
 * that state. No thread is asked and no thread waits.
 *
 * C1  The states of all threads at one boundary form a global state in which the program could have
 * been stopped: a thread that continues from a release behind the boundary has passed the boundary
 * itself. Its own clock shows this; where clocks differ slightly (preload/clock/clock.h), the
 * release's clock does: the thread's time continues from there, as in Lamport's clocks (CACM 1978).
 * C2  row->period is the latest boundary that the thread has passed. For n > row->period the state
 * at n is the row itself, as long as that relation holds. Otherwise it is the checkpoint with from
 * < n <= label; the latest two are kept. A row begins at row->first_period and has no state before.
 * C3  row->writing is odd while paths and sums change. A version that a path names is not written
 * or given back before `writing` (of the row) or `label` (of the checkpoint) has changed.
 *
 * A reader must start after the boundary: releases that a row does not show by then happen later,
 * so no thread can continue from them before the boundary. The reader loads `period`, copies, and
 * loads `period` again: shadow/graph/cut.h in the process, analysis/input/snapshot.h outside.
 *
 * Cost: one comparison per time stamp, four plain stores per event. Memory: two checkpoints a
 * thread.
 */
#ifndef CPA_SHADOW_GRAPH_CHECKPOINT_H
#define CPA_SHADOW_GRAPH_CHECKPOINT_H

#include "shadow/store/self.h"

CPA_HIDDEN uint64_t cpa_checkpoint_pass(struct cpa_self *self, uint64_t now);

/*
 * Called before an event at clock @now changes the thread's row: pass the boundaries up to @now.
 * Return the thread's time: @now, or the last boundary passed if that is later.
 */
static inline uint64_t cpa_checkpoint(struct cpa_self *self, uint64_t now)
{
	/* Also true if @now is before `since`: the unsigned difference is then very large. */
	if (unlikely(now - self->since >= self->period))
		return cpa_checkpoint_pass(self, now);
	return now;
}

/*
 * The thread begins to use its row at clock @now; the row is not changed yet. If @first, no thread
 * used the row before and it has no earlier state. A process finds out late when it began, and the
 * thread before it in the row may have passed a boundary since: then all that the new thread does is
 * behind that boundary, and its clock begins before it.
 */
CPA_HIDDEN void cpa_checkpoint_begin(struct cpa_self *self, bool first, uint64_t now);

/* Release the versions that the checkpoints of @row hold; the row must not be in use (tests). */
CPA_HIDDEN void cpa_checkpoint_forget(struct cpa_self *self, struct cpa_thread *row);

/* Begin to change paths and sums of the thread's row; ends with cpa_written(). Does not nest. */
static inline void cpa_writing(struct cpa_thread *row)
{
	/* Relaxed with the fence: x86 does not reorder stores. Pairs with the readers of C3. */
	__atomic_store_n(&row->writing, row->writing + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void cpa_written(struct cpa_thread *row)
{
	/* RELEASE: the row is complete. Pairs with the readers of C3. */
	__atomic_store_n(&row->writing, row->writing + 1, __ATOMIC_RELEASE);
}

#endif
