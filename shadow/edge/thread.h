/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/thread.h - thread rows: claim, end, reuse
 *
 *   FREE -> RUNNING -> EXITED -> DONE     joined, or detached after its exit
 *           RUNNING -> DETACHED -> DONE   detached before
 *
 * A row belongs to its thread until EXITED; then to the one thread that joins it; DONE rows belong
 * to nobody and wait on a stack (header.done, {tag:32, row:32}) until a new thread pops them.
 */
#ifndef CPA_SHADOW_EDGE_THREAD_H
#define CPA_SHADOW_EDGE_THREAD_H

#include "shadow/edge/acquire.h"

/* A row for a thread to come of process row @process, RUNNING from now on. 0: no space. */
CPA_HIDDEN uint32_t cpa_thread_claim(uint32_t process);

/*
 * An id for @self: not 0, nor UINT32_MAX (cpa_merge()), nor that of a thread that runs. After 2^32
 * they are used again: a lock whose last user was the former one, so long ago, has no edge then.
 */
CPA_HIDDEN void cpa_thread_new_id(struct cpa_self *self);

/*
 * Let the calling thread have row @self->number, claimed for it, or 0; else @self is zeroed. It
 * starts after the release in @from (NULL: none is known) at clock @wait->now, as the component row
 * @component. Return 0 or -ENOMEM.
 */
CPA_HIDDEN int cpa_thread_begin(struct cpa_self *self, uint32_t component, uint32_t tid,
				const struct cpa_path *from, struct cpa_wait *wait);

/*
 * The thread will do nothing more: give back what it keeps, make its row joinable or free. Return
 * whether the row is free: the thread was detached.
 */
CPA_HIDDEN bool cpa_thread_end(struct cpa_self *self, uint64_t now);

/* The thread's process ends: give back what it keeps, but its row, which may be looked at. */
CPA_HIDDEN void cpa_thread_forget(struct cpa_self *self);

/* Row @number was joined: free it. */
CPA_HIDDEN void cpa_thread_joined(uint32_t number);

/* Nobody will join row @number. Return whether the row is free: the thread has ended. */
CPA_HIDDEN bool cpa_thread_detached(uint32_t number);

#endif
