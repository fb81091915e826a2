/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/checkpoint.h - what each thread's row held at common moments (Online CP 2.3, Appendix A)
 *
 * Rows read one after the other make no state that the program ever was in: one read early lacks
 * the release that another, read late, has gone on from. So the clock is cut into periods. The
 * state of a thread at boundary n, clock n * header.period, is what its events before n left. A
 * thread copies that state, before its first event behind the boundary, to a checkpoint; a thread
 * without such an event needs none, as its row still is its state: nobody is asked, and nobody
 * waits.
 *
 * C1  The states of all threads at one boundary are a global state that the program could have been
 *     stopped in: a thread that goes on from a release behind the boundary has passed the boundary.
 *     Its clock says so, or, where clocks differ by a little (preload/clock/clock.h), the release's: the
 *     thread's time goes on from there, as Lamport's clocks do (CACM 1978).
 * C2  row->period is the latest boundary that the thread has passed. For n > row->period the state
 *     at n is the row itself, for as long as that holds. Else it is the checkpoint with
 *     from < n <= label; the latest two are kept. A row is new at row->first_period: no state
 *     before.
 * C3  row->writing is odd while paths and sums change. A version that a path names is not written or
 *     given back before `writing` changes (row) or `label` does (checkpoint).
 *
 * A reader must begin after the boundary: what a row does not show by then is released later still,
 * so nobody can go on from it before the boundary. It looks at `period` first, copies, and looks
 * again: shadow/graph/cut.h in the process, analysis/input/snapshot.h from outside.
 *
 * Cost: a compare for each stamp, four plain stores an event. Memory: two checkpoints a thread.
 */
#ifndef CPA_SHADOW_GRAPH_CHECKPOINT_H
#define CPA_SHADOW_GRAPH_CHECKPOINT_H

#include "shadow/store/self.h"

CPA_HIDDEN uint64_t cpa_checkpoint_pass(struct cpa_self *self, uint64_t now);

/*
 * The thread is about to change its row by what happened at clock @now: pass the boundaries up to
 * then. Return @now, or the boundary passed before if that is later: the thread's time.
 */
static inline uint64_t cpa_checkpoint(struct cpa_self *self, uint64_t now)
{
	/* Also if @now is before `since`: the difference is then very large. */
	if (unlikely(now - self->since >= self->period))
		return cpa_checkpoint_pass(self, now);
	return now;
}

/*
 * The thread begins to use its row at clock @now, before which its first user's row had no state.
 * The row is not changed yet. Return as above.
 */
CPA_HIDDEN uint64_t cpa_checkpoint_begin(struct cpa_self *self, bool first, uint64_t now);

/* Drop what the checkpoints of @row hold; nobody uses it any more (tests). */
CPA_HIDDEN void cpa_checkpoint_forget(struct cpa_self *self, struct cpa_thread *row);

/* The paths and sums of the thread's row change from here to cpa_written(). Does not nest. */
static inline void cpa_writing(struct cpa_thread *row)
{
	/* Relaxed, with the fence: x86 does not reorder stores. Pairs with the readers of C3. */
	__atomic_store_n(&row->writing, row->writing + 1, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void cpa_written(struct cpa_thread *row)
{
	/* RELEASE: the row is whole. Pairs with the readers of C3. */
	__atomic_store_n(&row->writing, row->writing + 1, __ATOMIC_RELEASE);
}

#endif
