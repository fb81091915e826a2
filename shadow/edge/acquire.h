/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/acquire.h - what each kind of synchronization does to paths (design 4)
 *
 * Called with the thread's own path advanced up to `arrived`; the real operation has returned at
 * `now` (both clock ticks, which have been through cpa_checkpoint()). Releases are called before
 * the real operation, acquires after it: the object is then held by the caller, or its state is
 * safe by the structure it is kept in.
 *
 * A release publishes the thread's path; its `released`, `owner` and `node` must be up to date.
 */
#ifndef CPA_SHADOW_EDGE_ACQUIRE_H
#define CPA_SHADOW_EDGE_ACQUIRE_H

#include "shadow/path/wait.h"
#include "shadow/store/self.h"

/* The path of a release, by @remote; NULL if there is none. Also for join and thread start. */
CPA_HIDDEN void cpa_acquire_path(struct cpa_self *self, const struct cpa_path *remote,
				 struct cpa_wait *wait);

/* The same, of the object @on. */
CPA_HIDDEN void cpa_acquire_object(struct cpa_self *self, const struct cpa_path *remote,
				   const struct cpa_object *on, struct cpa_wait *wait);

/* Mutex, spin lock, once: guarded by themselves. cpa_lock_release(): shadow/edge/release.h. */
CPA_HIDDEN void cpa_lock_acquired(struct cpa_self *self, struct cpa_object *o,
				  struct cpa_wait *wait);

/* Read-write lock: a writer depends on the last writer and on all readers since. */
CPA_HIDDEN void cpa_read_acquired(struct cpa_self *self, struct cpa_object *o,
				  struct cpa_wait *wait);
CPA_HIDDEN void cpa_read_release(struct cpa_self *self, struct cpa_object *o);
CPA_HIDDEN void cpa_write_acquired(struct cpa_self *self, struct cpa_object *o,
				   struct cpa_wait *wait);

/*
 * Condition variable and futex. `waiting` is {granted:32, waiting:32}: threads that will find a
 * token, and threads still without. A wake grants to at most @most waiters; return how many.
 */
CPA_HIDDEN void cpa_wait_begin(struct cpa_object *o);
CPA_HIDDEN uint32_t cpa_wake(struct cpa_self *self, struct cpa_object *o, uint32_t most);
/*
 * The wait returned because it was woken (@woken), or it timed out, was interrupted or cancelled.
 * @mutex, NULL if there is none, was acquired again on the way.
 */
CPA_HIDDEN void cpa_wait_end(struct cpa_self *self, struct cpa_object *o, bool woken,
			     const struct cpa_object *mutex, struct cpa_wait *wait);
/* Take back @count grants of a wake that in truth woke fewer. */
CPA_HIDDEN void cpa_wake_undo(struct cpa_self *self, struct cpa_object *o, uint32_t count);

/* Semaphore: posts in order; the first `waiting` waits take initial tokens. */
CPA_HIDDEN void cpa_sem_release(struct cpa_self *self, struct cpa_object *o);
CPA_HIDDEN void cpa_sem_acquired(struct cpa_self *self, struct cpa_object *o,
				 struct cpa_wait *wait);

/*
 * Barrier of @count: every leave depends on every arrival of its round. Arrivals count themselves
 * into rounds; cpa_barrier_arrive() returns the round for cpa_barrier_left(). A thread that left
 * reads the round's token in place; the last of them frees it.
 */
CPA_HIDDEN uint64_t cpa_barrier_arrive(struct cpa_self *self, struct cpa_object *o, uint32_t count);
CPA_HIDDEN void cpa_barrier_left(struct cpa_self *self, struct cpa_object *o, uint64_t round,
				 struct cpa_wait *wait);

#endif
