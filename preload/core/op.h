/* SPDX-License-Identifier: MIT */
/*
 * preload/core/op.h - the contract of an operation that may block
 *
 * Each family of wrappers (locks, conditions, semaphores, barriers, joins, once, futexes, waits for
 * signals, for children and for work of a loop) goes through the same steps. A family adds three
 * things: the object, the join of paths (shadow/edge/acquire.h), and its own counters.
 *
 *	struct cpa_op op = CPA_OP(cpa_enter(), caller);
 *
 *	if (op.w) {					off or nested: straight to the original
 *		cpa_op_arrive(&op, kind, class);	the activity ends
 *		...					releases that belong to the arrival
 *		cpa_op_block(&op);			outside our code until the original returns
 *	}
 *	ret = original();
 *	if (!cpa_op_back(&op))				inside our code again, or: nothing to record
 *		return ret;
 *	if (!op.blocked)
 *		cpa_op_arrive(&op, kind, class);
 *	cpa_..._acquired(&op.w->self, object, &op.wait);
 *	cpa_op_end(&op, CPA_EXT_...);			the next activity begins; outside our code
 *
 * A try that succeeds at once skips cpa_op_arrive() and cpa_op_block(): its one event is made
 * behind cpa_op_back().
 *
 * Woken, failed, timed out: the family acquires the path of the release, or NULL when there is none,
 * and names the kind of external time that a wait without a release was.
 * Cancelled: the family's cleanup handler calls cpa_op_back() and cpa_op_end() like a return.
 * Jumped out of: nothing is called; the next event finds worker.between set (preload/core/window.h).
 * Begun while profiling was off: cpa_op_back() enters if a part of the run has begun meanwhile. The
 * operation then arrives behind the original. Until then the thread did no work in the part; a lock
 * counts that time as a wait for it (preload/sync/lock.c).
 * Part crossed: cpa_op_back() cuts the wait at the borders of parts (cpa_window_crossed()).
 * Profile ended while it blocked: cpa_op_back() returns false.
 *
 * errno after cpa_op_end(), and where cpa_op_back() returns false, is what the original left.
 */
#ifndef CPA_PRELOAD_CORE_OP_H
#define CPA_PRELOAD_CORE_OP_H

#include <errno.h>

#include "preload/core/track.h"
#include "shadow/edge/acquire.h"
#include "shadow/graph/activity.h"

/* Lives on the stack of the calling thread, which alone uses it. */
struct cpa_op {
	struct cpa_worker *w; /* NULL: not recorded (yet) */
	uint64_t caller;      /* code address of the call */
	uint64_t arrived;     /* clock ticks; cpa_wait.arrived moves when paths are joined */
	uint64_t others; /* ticks for which it waited in parts of the run, but those since `arrived` */
	bool blocked;	 /* cpa_op_block() was called */
	bool covers; /* cpa_op_stand(): wrappers that the thread calls in the wait are part of it */
	int err;     /* errno as the original left it */
	struct cpa_wait wait;
};

#define CPA_OP(worker, address)                     \
	{                                           \
		.w = (worker), .caller = (address), \
	}

/* The operation is an event of @kind on an object of class row @class. Inside our code. */
static inline void cpa_op_arrive(struct cpa_op *op, enum cpa_event_kind kind, uint32_t class)
{
	op->arrived = cpa_event(op->w, kind, op->caller, class);
	op->wait.now = op->arrived;
	op->wait.arrived = unlikely(op->wait.border) ? op->w->window.since : op->arrived;
}

/* The original is about to be called, and may block. Leaves. */
static inline void cpa_op_block(struct cpa_op *op)
{
	op->blocked = true;
	cpa_leave();
}

/* cpa_op_back(), of an operation that blocked, or that began while profiling was off. */
CPA_HIDDEN bool cpa_op_back_slow(struct cpa_op *op);

/* The original has returned, or was cancelled. True: inside our code, @op->w is set. */
static inline bool cpa_op_back(struct cpa_op *op)
{
	op->err = errno;
	return likely(op->w && !op->blocked) || cpa_op_back_slow(op);
}

/* For how long the operation waited while profiling was on, ticks. Up to `wait.now`. */
static inline uint64_t cpa_op_waited(const struct cpa_op *op)
{
	return op->wait.now - op->arrived + op->others;
}

/* cpa_op_missed(), where a part of the run may have begun. */
CPA_HIDDEN uint64_t cpa_op_missed_slow(const struct cpa_op *op, const void *address,
				       enum cpa_object_kind kind);

/*
 * cpa_op_back() was false. If the operation began while profiling was off, and parts of the run have begun and ended
 * meanwhile, the thread waited for all of them. So it did for the object of @kind at @address; NULL: none. Return for
 * how many ticks. errno is kept.
 */
static inline uint64_t cpa_op_missed(const struct cpa_op *op, const void *address,
				     enum cpa_object_kind kind)
{
	return unlikely(!cpa_is_off()) ? cpa_op_missed_slow(op, address, kind) : 0;
}

/* The next activity begins. Leaves. */
static inline void cpa_op_done(struct cpa_op *op)
{
	cpa_done(op->w);
	errno = op->err;
}

/*
 * Behind the join of paths, and before the thread holds what it waited for: the wait may get a stack. That takes
 * microseconds, and may take a time slice; a release that others make meanwhile must not be joined.
 */
CPA_HIDDEN void cpa_op_callers(const struct cpa_op *op);

/*
 * The wait crossed borders of parts, and no release has ended it. Count its ticks in the parts that are over as idle
 * time of @kind. The caller gives the ticks of this part to cpa_unexplained().
 */
CPA_HIDDEN void cpa_op_in_vain_slow(struct cpa_op *op, enum cpa_external kind);
static inline void cpa_op_in_vain(struct cpa_op *op, enum cpa_external kind)
{
	if (unlikely(!op->w->wait.length))
		cpa_op_in_vain_slow(op, kind);
}

/*
 * After op->wait went through shadow/edge/acquire.h: note the dependency that was found. A blocked wait
 * without one becomes external time of kind @otherwise. Before the thread holds the lock that it
 * waited for: such time is not of the critical section.
 */
static inline void cpa_op_explain(struct cpa_op *op, enum cpa_external otherwise)
{
	if (op->wait.from)
		cpa_dependency(&op->w->self, &op->wait, op->wait.now - op->arrived);
	if (op->blocked && !op->wait.matched) {
		if (otherwise == CPA_EXT_TIMEOUT)
			cpa_op_in_vain(op, otherwise);
		cpa_unexplained(op->w, otherwise, op->wait.now - op->arrived);
	}
	if (op->blocked)
		cpa_op_callers(op);
}

/*
 * The original of @op will block where no wrapper of ours is, after the calling function has
 * returned: for instance in the pool of a library. Leaves. The next call of the family that the
 * thread makes takes the operation up by cpa_op_resume(), in place of CPA_OP(), and goes on by
 * cpa_op_back(). @op stays in use until then, and must outlive the caller.
 *
 * If @op->covers, calls of wrappers in the wait pass through: those of a library that waits by them.
 *
 * If the thread has another event first, further up its stack (destructors of its data, its end),
 * the wait had no release that we know of, and ends there.
 */
CPA_HIDDEN void cpa_op_stand(struct cpa_op *op);
CPA_HIDDEN void cpa_op_resume(struct cpa_worker *w, struct cpa_op *op);

/* The thread, with a wait that stands, is at another event: see cpa_op_stand(). Inside our code. */
CPA_HIDDEN void cpa_op_stood(struct cpa_worker *w);

/* cpa_op_explain(), of a wake that must have had a release: one that we did not see is counted. */
static inline void cpa_op_explain_wake(struct cpa_op *op)
{
	if (unlikely(!op->wait.matched))
		cpa_unmatched(op->w, op->blocked);
	cpa_op_explain(op, CPA_EXT_UNSEEN);
}

/* cpa_op_explain(), then cpa_op_done(). */
CPA_HIDDEN void cpa_op_end(struct cpa_op *op, enum cpa_external otherwise);

#endif
