/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/barrier.c - pthread_barrier_*
 */
#include <pthread.h>

#include "preload/core/object.h"
#include "preload/core/op.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"

CPA_EXPORT int pthread_barrier_init(pthread_barrier_t *b, const pthread_barrierattr_t *attr,
				    unsigned count)
{
	struct cpa_worker *w = cpa_enter_any();
	int ret = REAL(pthread_barrier_init)(b, attr, count);

	if (w) {
		struct cpa_object *o = ret ? NULL :
					     cpa_object_created(w, b, CPA_BARRIER, CPA_CALLER());

		if (o)
			o->waiting = count;
		cpa_leave();
	}
	return ret;
}

/* The thread arrived and left while profiling was off: the round must not wait for it. */
static void left_off(struct cpa_worker *w, struct cpa_object *o, uint64_t round)
{
	struct cpa_wait wait = { .arrived = UINT64_MAX, .now = w->self.row->path.released };

	if (!*cpa_alive)
		return;
	cpa_reenter();
	/* The path of this thread is complete in the final node, where others may read it. */
	cpa_barrier_left(&w->self, o, round, &wait);
	cpa_leave();
}

/* The barrier may have been destroyed and its memory reused: only the shadow @o is used. Leaves. */
static void left(struct cpa_op *op, struct cpa_object *o, uint64_t round)
{
	struct cpa_self *self = &op->w->self;

	if (!op->blocked)
		cpa_op_arrive(op, CPA_EV_ARRIVE, o->class);
	cpa_barrier_left(self, o, round, &op->wait);
	self->row->node = cpa_track_node(op->w, CPA_EV_LEAVE, op->caller, o->class);
	self->row->path.node = self->row->node;
	/* Relaxed: all count; sums only. */
	__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&o->contended, op->wait.followed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&o->wait, op->wait.now - op->arrived, __ATOMIC_RELAXED);
	cpa_op_end(op, CPA_EXT_UNSEEN);
}

/*
 * pthread_barrier_destroy() is not wrapped: a thread may call it when it has left the barrier,
 * while others that have left the original still read the shadow.
 */
CPA_EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	struct cpa_worker *w = cpa_enter_any();
	struct cpa_op op = CPA_OP(NULL, CPA_CALLER());
	struct cpa_object *o;
	uint64_t round;
	uint32_t members;
	int ret;

	if (unlikely(!w))
		return REAL(pthread_barrier_wait)(b);
	o = cpa_object_of(w, b, CPA_BARRIER, op.caller);
	members = o ? (uint32_t)o->waiting : 0;
	if (!members) { /* a barrier whose initialization was not seen: its count is not known */
		cpa_diag(CPA_DIAG_OBJECTS_REFUSED);
		cpa_leave();
		return REAL(pthread_barrier_wait)(b);
	}
	/*
	 * Arrivals while profiling is off count, too: otherwise the rounds of the next part would
	 * be shifted.
	 */
	if (cpa_window_is_in(w)) {
		op.w = w;
		cpa_op_arrive(&op, CPA_EV_ARRIVE, o->class);
		round = cpa_barrier_arrive(&w->self, o, members);
		cpa_op_block(&op);
	} else {
		round = cpa_barrier_arrive(&w->self, o, members);
		cpa_leave();
	}

	ret = REAL(pthread_barrier_wait)(b);

	if (cpa_op_back(&op))
		left(&op, o, round);
	else
		left_off(w, o, round);
	return ret;
}
