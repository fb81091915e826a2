/* SPDX-License-Identifier: MIT */
#include "preload/core/op.h"

#include "preload/core/window.h"

bool cpa_op_back_slow(struct cpa_op *op)
{
	if (!op->blocked) {
		op->w = cpa_enter_begun();
		return op->w;
	}
	op->wait.now = cpa_waited(op->w, &op->arrived);
	op->wait.arrived = op->arrived;
	op->wait.runqueue = op->w->wait.runqueue;
	if (likely(*cpa_alive))
		return true;
	cpa_leave();
	errno = op->err;
	return false;
}

void cpa_op_end(struct cpa_op *op, enum cpa_external otherwise)
{
	cpa_op_explain(op, otherwise);
	cpa_op_done(op);
}
