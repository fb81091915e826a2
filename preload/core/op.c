/* SPDX-License-Identifier: MIT */
#include "preload/core/op.h"

#include "preload/core/window.h"

/*
 * The operation was called while profiling was off, and the thread has begun a part of the run meanwhile:
 * on the observed path it is a wait since the begin, if a release since then explains it.
 */
static __attribute__((noinline, cold)) void begun(struct cpa_op *op)
{
	const struct cpa_worker *w = op->w;

	if (!w->window.since || w->self.row->path.released != w->window.met)
		return;
	op->wait.border = CPA_WAIT_BEGUN;
	op->wait.runqueue = w->window.ready;
}

bool cpa_op_back_slow(struct cpa_op *op)
{
	if (!op->blocked) {
		op->w = cpa_enter_begun();
		if (op->w)
			begun(op);
		return op->w;
	}
	op->wait.now = cpa_waited(op->w, &op->arrived);
	op->wait.arrived = op->arrived;
	op->wait.runqueue = op->w->wait.runqueue;
	op->wait.border = op->w->window.arrived ? CPA_WAIT_CUT : CPA_WAIT_WITHIN;
	if (likely(*cpa_alive))
		return true;
	cpa_leave();
	errno = op->err;
	return false;
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
