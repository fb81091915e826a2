/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/barrier.c - pthread_barrier_*
 */
#include "preload/sync/barrier.h"

#include <pthread.h>

#include "preload/core/object.h"
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

static void count(struct cpa_barrier_op *b, uint64_t length)
{
	/* Relaxed: all count; sums only. */
	__atomic_fetch_add(&b->o->acquisitions, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&b->o->contended, b->op.wait.followed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&b->o->wait, length, __ATOMIC_RELAXED);
}

static void left(struct cpa_barrier_op *b)
{
	struct cpa_op *op = &b->op;
	struct cpa_self *self = &op->w->self;
	uint64_t length;

	if (!op->blocked)
		cpa_op_arrive(op, b->arrive, b->class);
	length = cpa_op_waited(op); /* the join may move the end behind that of the part */
	cpa_barrier_left(self, b->o, b->round, &op->wait);
	self->row->node = cpa_track_node(op->w, b->leave, op->caller, b->class);
	self->row->path.node = self->row->node;
	if (b->o->class)
		count(b, length);
	cpa_op_end(op, CPA_EXT_UNSEEN);
}

void cpa_barrier_begin(struct cpa_barrier_op *b)
{
	struct cpa_worker *w = b->w;

	/* Arrivals while off count, too: otherwise the rounds of the next part would be shifted. */
	if (cpa_window_is_in(w)) {
		b->op.w = w;
		cpa_op_arrive(&b->op, b->arrive, b->class);
	}
	if (b->counted)
		b->round = cpa_barrier_arrive(&w->self, b->o, b->members);
	else
		cpa_barrier_arrive_at(&w->self, b->o, b->round, b->members);
	if (b->op.w)
		cpa_op_block(&b->op);
	else
		cpa_leave();
}

void cpa_barrier_end(struct cpa_barrier_op *b)
{
	uint64_t length;

	if (cpa_op_back(&b->op)) {
		left(b);
		return;
	}
	length = cpa_op_missed(&b->op, NULL, CPA_BARRIER);
	if (length && b->o->class) /* Relaxed: as in count(). */
		__atomic_fetch_add(&b->o->wait, length, __ATOMIC_RELAXED);
	left_off(b->w, b->o, b->round);
}

/*
 * pthread_barrier_destroy() is not wrapped: a thread may call it when it has left the barrier,
 * while others that have left the original still read the shadow.
 */
CPA_EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct cpa_worker *w = cpa_enter_any();
	struct cpa_barrier_op b;
	struct cpa_object *o;
	uint32_t members;
	int ret;

	if (unlikely(!w))
		return REAL(pthread_barrier_wait)(barrier);
	o = cpa_object_of(w, barrier, CPA_BARRIER, CPA_CALLER());
	members = o ? (uint32_t)o->waiting : 0;
	if (!members) { /* a barrier whose initialization was not seen: its count is not known */
		cpa_diag(CPA_DIAG_OBJECTS_REFUSED);
		cpa_leave();
		return REAL(pthread_barrier_wait)(barrier);
	}
	b = (struct cpa_barrier_op){ .op = CPA_OP(NULL, CPA_CALLER()),
				     .w = w,
				     .o = o,
				     .class = o->class,
				     .members = members,
				     .arrive = CPA_EV_ARRIVE,
				     .leave = CPA_EV_LEAVE,
				     .counted = true };
	cpa_barrier_begin(&b);
	ret = REAL(pthread_barrier_wait)(barrier);
	cpa_barrier_end(&b);
	return ret;
}
