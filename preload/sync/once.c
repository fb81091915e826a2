/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/once.c - pthread_once() and call_once()
 *
 * Programs call these millions of times for routines that ran long ago, so a control that is done
 * goes to the original at once. An edge leads from the end of the routine to the callers that
 * waited for it or came next; later callers depend on it through their other synchronization.
 */
#include <pthread.h>
#include <threads.h>

#include "preload/sync/lock.h"
#include "preload/libc/real.h"

#define DONE 2 /* glibc's __PTHREAD_ONCE_DONE, set in both kinds of control */

/* The call in progress in this thread; a routine may call pthread_once() for other controls. */
struct call {
	struct call *outer;
	void (*routine)(void);
	struct cpa_lock_op lock;
	bool ran, inside;
};

static __thread struct call *innermost __attribute__((tls_model("initial-exec")));

static bool done(const int *control)
{
	/* ACQUIRE: as in the original. */
	return (__atomic_load_n(control, __ATOMIC_ACQUIRE) & DONE) != 0;
}

static void leave_routine(struct call *call)
{
	struct cpa_worker *w = cpa_enter();

	call->inside = false;
	if (w)
		cpa_lock_exit(w, call->lock.lock, CPA_ONCE, call->lock.op.caller);
}

/* The original has chosen this thread to run the routine: it counts as the holder of a lock. */
static void run(void)
{
	struct call *call = innermost;

	call->ran = true;
	call->lock.free = true; /* or its routine was left by a cancellation: no wait is counted */
	cpa_lock_enter(&call->lock);
	call->inside = true;
	call->routine();
	leave_routine(call);
}

static void begin(struct call *call)
{
	cpa_lock_arrive(&call->lock);
	call->outer = innermost;
	innermost = call;
}

/* A caller that did not run the routine waited for the thread that did. */
static void end(struct call *call)
{
	struct cpa_op *op = &call->lock.op;
	struct cpa_object *o;
	uint64_t length;

	innermost = call->outer;
	if (call->ran)
		return;
	if (!cpa_op_back(op)) {
		cpa_op_missed(op, call->lock.lock, CPA_ONCE);
		return;
	}
	o = cpa_object_of(op->w, call->lock.lock, CPA_ONCE, op->caller);
	if (!op->blocked)
		cpa_op_arrive(op, CPA_EV_LOCK, o ? o->class : 0);
	length = cpa_op_waited(op); /* the join may move the end behind that of the part */
	/* The path was published before the control was done, and is not written again. */
	cpa_acquire_path(&op->w->self, o ? cpa_object_path(o) : NULL, &op->wait);
	if (o) {
		/* Relaxed: several threads count; sums only. */
		__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->contended, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->wait, length, __ATOMIC_RELAXED);
	}
	cpa_op_end(op, CPA_EXT_UNSEEN);
}

/* A cancellation or a C++ exception may leave the routine. */
static void unwound(void *argument)
{
	struct call *call = argument;

	innermost = call->outer;
	if (call->inside)
		leave_routine(call);
}

#define CALL(control, f)                                         \
	{                                                        \
		.routine = (f), .lock = {                        \
			.op = CPA_OP(cpa_enter(), CPA_CALLER()), \
			.lock = (control),                       \
			.kind = CPA_ONCE                         \
		}                                                \
	}

CPA_EXPORT int pthread_once(pthread_once_t *control, void (*routine)(void))
{
	int ret;

	if (likely(done(control)))
		return 0;
	struct call call = CALL(control, routine);

	begin(&call);
	pthread_cleanup_push(unwound, &call);
	ret = REAL(pthread_once)(control, run);
	pthread_cleanup_pop(0);
	end(&call);
	return ret;
}

CPA_EXPORT void call_once(once_flag *control, void (*routine)(void))
{
	if (likely(done((const int *)control)))
		return;
	struct call call = CALL(control, routine);

	begin(&call);
	pthread_cleanup_push(unwound, &call);
	REAL(call_once)(control, run);
	pthread_cleanup_pop(0);
	end(&call);
}
