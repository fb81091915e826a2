/* SPDX-License-Identifier: MIT */
/*
 * preload/lock.h - what mutexes, spin locks and write locks have in common
 */
#ifndef CPA_PRELOAD_LOCK_H
#define CPA_PRELOAD_LOCK_H

#include "preload/object.h"
#include "preload/track.h"

/* A lock operation from its arrival to its end; lives on the caller's stack. */
struct cpa_lock_op {
	struct cpa_worker *w;
	const void *lock;
	uint64_t caller;
	enum cpa_object_kind kind;
	bool contended; /* cpa_lock_arrive() was called */
	bool free;	/* but it seemed to be free */
	uint64_t arrived;
};

/* The lock is taken by another: the activity ends here, and a wait begins. Leaves. */
CPA_HIDDEN void cpa_lock_arrive(struct cpa_lock_op *op);

/*
 * The lock is ours, after cpa_lock_arrive() or at once. Publishes nothing, joins what was
 * released, begins the section. Leaves.
 */
CPA_HIDDEN void cpa_lock_enter(struct cpa_lock_op *op);

/* The wait ended without the lock: @timeout, or an error. Leaves. */
CPA_HIDDEN void cpa_lock_failed(struct cpa_lock_op *op, bool timeout);

/* A try that did not get the lock: an event, no edge. Leaves. */
CPA_HIDDEN void cpa_lock_refused(struct cpa_lock_op *op);

/* About to unlock. Leaves; the object must not be touched afterwards. */
CPA_HIDDEN void cpa_lock_exit(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
			      uint64_t caller);

/*
 * The two halves for condition waits, which release and take the mutex inside the original:
 * begin or end @o's section at clock @now. cpa_section_end() returns the depth of a recursive
 * mutex, for cpa_section_begin(); 0 if the thread does not hold it.
 */
CPA_HIDDEN void cpa_section_begin(struct cpa_worker *w, struct cpa_object *o, uint32_t depth,
				  uint64_t now);
CPA_HIDDEN uint32_t cpa_section_end(struct cpa_worker *w, struct cpa_object *o, uint64_t now);

#endif
