/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/thread.h - thread rows: claim, end, reuse
 *
 *   FREE -> RUNNING -> EXITED -> DONE     joined, or detached after its exit
 *           RUNNING -> DETACHED -> DONE   detached before
 *
 * A row belongs to its thread until EXITED, then to the one thread that joins it. DONE rows belong
 * to no thread; they lie on a stack (header.done, {tag:32, row:32}) until a new thread pops them.
 */
#ifndef CPA_SHADOW_EDGE_THREAD_H
#define CPA_SHADOW_EDGE_THREAD_H

#include "shadow/edge/acquire.h"

/*
 * Claim a row for a new thread of process row @process; its state is RUNNING from now on. @component: of its start
 * routine, or 0: if rows are used again, a row of such threads is preferred. 0: no space.
 */
CPA_HIDDEN uint32_t cpa_thread_claim(uint32_t process, uint32_t component);

/*
 * Give @self a new id: not 0, not UINT32_MAX (cpa_merge()), not the id of a running thread. Ids
 * repeat after 2^32 threads: a lock last used by the thread that had the id then gets no edge.
 */
CPA_HIDDEN void cpa_thread_new_id(struct cpa_self *self);

/*
 * Begin the calling thread in row @self->number, which was claimed for it (0: none); all else in
 * @self is zero. It starts after the release @from (NULL: not known) at clock @wait->now, as
 * component row @component. Return 0 or -ENOMEM.
 */
CPA_HIDDEN int cpa_thread_begin(struct cpa_self *self, uint32_t component, uint32_t tid,
				const struct cpa_path *from, struct cpa_wait *wait);

/*
 * The calling thread has left our code for good, perhaps in the middle of an event, as a handler jumped out. Its row
 * must not look as if it still changed, and an event that has no record is missing in the journal. Further events
 * may follow.
 */
CPA_HIDDEN void cpa_thread_left(struct cpa_self *self);

/*
 * End the thread: give back its private state and make its row joinable or free. Return whether the
 * row is free, because the thread was detached.
 */
CPA_HIDDEN bool cpa_thread_end(struct cpa_self *self, uint64_t now);

/*
 * The thread's process ends: give back its private state, but keep its row, which may still be
 * read.
 */
CPA_HIDDEN void cpa_thread_forget(struct cpa_self *self);

/* Row @number was joined: free it. */
CPA_HIDDEN void cpa_thread_joined(uint32_t number);

/* Row @number will not be joined. Return whether the row is free, because the thread has ended. */
CPA_HIDDEN bool cpa_thread_detached(uint32_t number);

#endif
