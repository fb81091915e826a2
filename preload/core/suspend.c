/* SPDX-License-Identifier: MIT */
#include "preload/core/suspend.h"

#include "preload/core/object.h"
#include "preload/core/track.h"
#include "shadow/edge/acquire.h"
#include "shadow/edge/cell.h"

/* Its address is the key of the object that stands for all waits for a signal handler. */
static const uint64_t handlers;

/* Atomic: a thread has waited for a signal handler. */
static bool awaited;

static struct cpa_object *handlers_of(struct cpa_worker *w, uint64_t caller)
{
	return cpa_object_of(w, &handlers, CPA_SIGNALS, caller);
}

struct cpa_object *cpa_suspend_handlers(struct cpa_worker *w, uint64_t caller)
{
	/* Relaxed: a hint; in most programs no thread waits for signals. */
	return __atomic_load_n(&awaited, __ATOMIC_RELAXED) ? handlers_of(w, caller) : NULL;
}

void cpa_suspend_begin(uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;

	/* Relaxed: a signal sent before this is not the one that ends the wait. */
	if (unlikely(!__atomic_load_n(&awaited, __ATOMIC_RELAXED)))
		__atomic_store_n(&awaited, true, __ATOMIC_RELAXED);
	if (!w || cpa_tls.inside)
		return;
	w->suspended = caller;
	cpa_force_slow(w);
}

void cpa_suspend_ended(struct cpa_worker *w)
{
	struct cpa_object *h = handlers_of(w, w->suspended);
	struct cpa_wait wait = { 0 };
	uint64_t caller = w->suspended;

	w->suspended = 0;
	if (cpa_event_awaited(w, CPA_EXT_SIGNAL, CPA_EV_SLEEP, caller,
			      h ? cpa_cell_released(&w->self, &h->merged) : 0, &wait)) {
		cpa_cell_acquired(&w->self, &h->merged, &wait);
		if (wait.from)
			cpa_dependency(&w->self, &wait, wait.now - wait.arrived);
	}
}
