/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/uv.h - the wait of a libuv loop for work that it gave to the pool
 *
 * A worker wakes the loop by a file descriptor. While a thread has work under way, its wait for
 * events is a wait for that work if one ended meanwhile, and external time otherwise.
 */
#ifndef CPA_PRELOAD_LIB_UV_H
#define CPA_PRELOAD_LIB_UV_H

#include "preload/core/op.h"

/*
 * Before and after a wait for events; w NULL: the thread waits for no work. Not inside our code in
 * between; errno is kept.
 */
CPA_HIDDEN struct cpa_op cpa_loop_wait_slow(uint64_t caller);
CPA_HIDDEN void cpa_loop_woken(struct cpa_op *op);

static inline struct cpa_op cpa_loop_wait(uint64_t caller)
{
	const struct cpa_worker *w = cpa_tls.worker;

	if (likely(!w || !w->loop.work))
		return (struct cpa_op){ .w = NULL };
	return cpa_loop_wait_slow(caller);
}

#endif
