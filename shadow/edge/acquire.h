/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/acquire.h - the effect of each kind of synchronization on paths (design 4)
 *
 * The caller has advanced the thread's own path to `arrived`; the real operation has returned at
 * `now` (both in ticks, from cpa_checkpoint()). Release functions are called before the real
 * operation, acquire functions after it. At an acquire the object is held by the caller, or the
 * structure that stores its state allows concurrent use.
 *
 * A release publishes the thread's path; its `released`, `owner` and `node` must be up to date. `released` is
 * the clock that the observed path adds up to. A release later than `now` may be joined: of two threads that
 * return from a semaphore, the first to come here takes the first post. Then `released` is that of the
 * release, and the thread's time up to there must not be added to the observed path.
 */
#ifndef CPA_SHADOW_EDGE_ACQUIRE_H
#define CPA_SHADOW_EDGE_ACQUIRE_H

#include "shadow/path/wait.h"
#include "shadow/store/self.h"

/*
 * Join the path @remote of a release into the thread's path; NULL: no release is known. Also used
 * for thread join and thread start.
 */
CPA_HIDDEN void cpa_acquire_path(struct cpa_self *self, const struct cpa_path *remote,
				 struct cpa_wait *wait);

/* As cpa_acquire_path(), for a release through the object @on. */
CPA_HIDDEN void cpa_acquire_object(struct cpa_self *self, const struct cpa_path *remote,
				   const struct cpa_object *on, struct cpa_wait *wait);

/*
 * Mutex, spin lock, once: protected by the lock itself. cpa_lock_release(): shadow/edge/release.h.
 */
CPA_HIDDEN void cpa_lock_acquired(struct cpa_self *self, struct cpa_object *o,
				  struct cpa_wait *wait);

/* Read-write lock: a writer depends on the last writer and on all readers after it. */
CPA_HIDDEN void cpa_read_acquired(struct cpa_self *self, struct cpa_object *o,
				  struct cpa_wait *wait);
CPA_HIDDEN void cpa_read_release(struct cpa_self *self, struct cpa_object *o);
CPA_HIDDEN void cpa_write_acquired(struct cpa_self *self, struct cpa_object *o,
				   struct cpa_wait *wait);

/*
 * Join of a team: one thread depends on the releases of all others in round @round, which is none of
 * UINT64_MAX. It reads before any releases in the next round.
 */
CPA_HIDDEN void cpa_join_release(struct cpa_self *self, struct cpa_object *o, uint64_t round);
CPA_HIDDEN void cpa_join_acquired(struct cpa_self *self, struct cpa_object *o, uint64_t round,
				  struct cpa_wait *wait);

/*
 * Condition variable and futex. o->waiting is {granted:32, waiting:32}: waiters that will find a
 * token, and waiters without one. cpa_wake() grants tokens to at most @most waiters and returns
 * their number.
 */
CPA_HIDDEN void cpa_wait_begin(struct cpa_object *o);
CPA_HIDDEN uint32_t cpa_wake(struct cpa_self *self, struct cpa_object *o, uint32_t most);
/*
 * End a wait: it was woken (@woken), or it timed out, was interrupted or was cancelled. @mutex is
 * the mutex acquired again by the wait; NULL: none.
 */
CPA_HIDDEN void cpa_wait_end(struct cpa_self *self, struct cpa_object *o, bool woken,
			     const struct cpa_object *mutex, struct cpa_wait *wait);
/* Take back @count grants of a wake that turned out to wake fewer threads. */
CPA_HIDDEN void cpa_wake_undo(struct cpa_self *self, struct cpa_object *o, uint32_t count);

/* Semaphore: posts are taken in order; the first `waiting` waits take the initial tokens. */
CPA_HIDDEN void cpa_sem_release(struct cpa_self *self, struct cpa_object *o);
CPA_HIDDEN void cpa_sem_acquired(struct cpa_self *self, struct cpa_object *o,
				 struct cpa_wait *wait);

/*
 * Barrier of @count threads: every leave depends on every arrival of its round. Arrivals count
 * themselves into rounds; cpa_barrier_arrive() returns the round, to be passed to
 * cpa_barrier_left(). A leaving thread reads the round's token in place; the last reader frees it.
 */
CPA_HIDDEN uint64_t cpa_barrier_arrive(struct cpa_self *self, struct cpa_object *o, uint32_t count);
/*
 * As cpa_barrier_arrive(), where each thread knows the round: it counts those that it has left. A
 * thread may arrive several times at a round before it leaves it; the last time counts.
 */
CPA_HIDDEN void cpa_barrier_arrive_at(struct cpa_self *self, struct cpa_object *o, uint64_t round,
				      uint32_t members);
/*
 * As cpa_barrier_arrive_at(), of a thread that has arrived at @round, has not left it, and did something in
 * the wait that the barrier may have waited for. Nothing if a thread has left: all had arrived before, so
 * what was done belongs to the next round, as a task does that was made behind the barrier.
 */
CPA_HIDDEN void cpa_barrier_arrive_again(struct cpa_self *self, struct cpa_object *o,
					 uint64_t round, uint32_t members);
CPA_HIDDEN void cpa_barrier_left(struct cpa_self *self, struct cpa_object *o, uint64_t round,
				 struct cpa_wait *wait);

#endif
