/* SPDX-License-Identifier: MIT */
#include "preload/core/op.h"

#include "preload/core/object.h"
#include "preload/core/window.h"
#include "shadow/store/epoch.h"

/*
 * The thread was in a call from epoch @off, while profiling was off, to clock @now, and did no work in any part of the
 * run: add the time that was profiled to what it waited, and to @wait.
 */
static void count_since(struct cpa_worker *w, uint64_t off, uint64_t now, uint64_t *wait)
{
	const struct cpa_header *h = cpa_header();
	uint64_t before = off ? cpa_epoch_on(h, cpa_epoch_begun(h, off + 1)) : UINT64_MAX;
	uint64_t all = cpa_epoch_on(h, now), length = all > before ? all - before : 0;

	w->self.row->wait += length;
	*wait += length;
}

/*
 * The operation was called while profiling was off, and the thread has begun a part of the run meanwhile:
 * on the observed path it is a wait since the begin, if a release since then explains it. @fresh: it was no thread of
 * the profile before.
 */
static __attribute__((noinline, cold)) void begun(struct cpa_op *op, bool fresh)
{
	struct cpa_worker *w = op->w;

	if (!fresh && w->self.row->path.released != w->window.met)
		return;
	count_since(w, cpa_tls.off, w->self.row->path.released, &op->others);
	if (!w->window.since)
		return;
	op->wait.border = CPA_WAIT_BEGUN;
	op->wait.runqueue = w->window.ready;
}

/*
 * The thread had events in the wait, as in a signal handler of the program. If they were in a later part, the wait
 * arrives there. Return for how many ticks before profiling was on.
 */
static __attribute__((noinline, cold)) uint64_t moved_on(struct cpa_op *op)
{
	const struct cpa_header *h = cpa_header();
	uint64_t met = op->w->window.epoch, begun = met ? cpa_epoch_begun(h, met) : 0;
	uint64_t before, all;

	if (begun <= op->arrived)
		return 0;
	before = cpa_epoch_on(h, op->arrived);
	op->arrived = begun;
	all = cpa_epoch_on(h, begun);
	return all > before ? all - before : 0;
}

/* cpa_op_back_slow(), of an operation that began while profiling was off. */
static bool back_begun(struct cpa_op *op)
{
	bool fresh = !cpa_tls.worker;

	op->w = cpa_enter_begun();
	if (op->w)
		begun(op, fresh);
	return op->w;
}

/* The same of one that blocked; apart, so that the other saves no registers for it. */
static __attribute__((noinline)) bool back_blocked(struct cpa_op *op)
{
	uint64_t earlier = 0, own = op->w->self.own, arrived;

	cpa_reenter(); /* a handler that begins now has no event */
	if (unlikely(!op->w->between && *cpa_alive)) {
		earlier = moved_on(op);
		own = op->w->clock.last;
	}
	arrived = op->arrived;
	op->wait.now = cpa_waited(op->w, &op->arrived);
	if (likely(op->arrived == arrived)) /* else it arrives in a part that began later */
		op->w->self.own = own;
	op->wait.arrived = op->arrived;
	op->wait.runqueue = op->w->wait.runqueue;
	op->others = op->w->wait.others + earlier;
	op->w->wait.others = 0;
	op->wait.border = op->w->window.arrived ? CPA_WAIT_CUT : CPA_WAIT_WITHIN;
	if (likely(*cpa_alive))
		return true;
	cpa_leave();
	errno = op->err;
	return false;
}

bool cpa_op_back_slow(struct cpa_op *op)
{
	return op->blocked ? back_blocked(op) : back_begun(op);
}

uint64_t cpa_op_missed_slow(const struct cpa_op *op, const void *address, enum cpa_object_kind kind)
{
	uint64_t off = cpa_tls.off, length = 0;
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_object *o = NULL;
	int err = errno;

	/* A thread that is in a part had an event meanwhile, in a signal handler. */
	if (op->blocked || !w || w->window.epoch)
		return 0;
	w = cpa_enter_known();
	if (!w)
		return 0;
	if (!cpa_window_is_in(w)) {
		count_since(w, off, cpa_clock_now(), &length);
		o = address ? cpa_object_of(w, address, kind, op->caller) : NULL;
	}
	if (o) /* Relaxed: several threads count; a sum only. */
		__atomic_fetch_add(&o->wait, length, __ATOMIC_RELAXED);
	cpa_leave();
	errno = err;
	return length;
}

void cpa_op_in_vain_slow(struct cpa_op *op, enum cpa_external kind)
{
	struct cpa_worker *w = op->w;
	uint64_t last = op->wait.now - op->arrived;

	if (!*cpa_alive)
		return;
	if (w->window.arrived) { /* it has ended in no part */
		cpa_unexplained_before(w, kind, op->others + last);
	} else {
		cpa_unexplained_before(w, kind, op->others);
		w->wait.length = last;
	}
	op->others = 0;
}

void cpa_op_callers(const struct cpa_op *op)
{
	struct cpa_worker *w = op->w;

	cpa_callers_wait(&w->sampler.callers, &w->self, w->clock.cpu, w->wait.length);
}

void cpa_op_end(struct cpa_op *op, enum cpa_external otherwise)
{
	cpa_op_explain(op, otherwise);
	cpa_op_done(op);
}

void cpa_op_stand(struct cpa_op *op)
{
	struct cpa_worker *w = op->w;

	w->standing = op;
	w->standing_window = w->self.window;
	cpa_force_slow(w); /* the next event calls cpa_op_stood() */
	if (op->covers) {
		op->blocked = true;
		cpa_tls.covered = true; /* and stays inside */
	} else {
		cpa_op_block(op);
	}
}

void cpa_op_resume(struct cpa_worker *w, struct cpa_op *op)
{
	*op = *w->standing;
	w->standing = NULL;
	cpa_tls.covered = false;
	w->self.window = w->standing_window;
}

void cpa_op_stood(struct cpa_worker *w)
{
	struct cpa_op op;
	uint64_t here;

	CPA_ARCH_STORE_STACK_POINTER(here);
	if (here <= w->between) /* in a signal handler: the wait goes on behind it */
		return;
	cpa_op_resume(w, &op);
	if (!cpa_op_back_slow(&op)) {
		cpa_reenter();
		return;
	}
	op.wait.matched = true;
	cpa_acquire_path(&w->self, NULL, &op.wait);
}
