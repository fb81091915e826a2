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

/*
 * The latest signal within the process. Atomic, by whoever sends. If two send at a time, the words may be of
 * different ones: then neither is taken to be still sending.
 */
static struct {
	const struct cpa_thread *row; /* of the sender, until the call returns; else NULL */
	uint64_t events;	      /* of the sender when it began to send */
	uint64_t end;		      /* clock behind the latest call that returned */
} sent;

static struct cpa_object *handlers_of(struct cpa_worker *w, uint64_t caller)
{
	return cpa_object_of(w, &handlers, CPA_SIGNALS, caller);
}

struct cpa_object *cpa_suspend_handlers(struct cpa_worker *w, uint64_t caller)
{
	/* Relaxed: a hint; in most programs no thread waits for signals. */
	return __atomic_load_n(&awaited, __ATOMIC_RELAXED) ? handlers_of(w, caller) : NULL;
}

void cpa_suspend_sending(const struct cpa_thread *row)
{
	/* Relaxed: a reader was woken by the signal, or finds words that do not agree. */
	__atomic_store_n(&sent.events, row->events, __ATOMIC_RELAXED);
	__atomic_store_n(&sent.row, row, __ATOMIC_RELAXED);
}

void cpa_suspend_sent(void)
{
	/* The signal's handler may have ended the profile, and may have forbidden to read the clock. */
	if (unlikely(!*cpa_alive))
		return;
	/* Relaxed, all: a reader that finds the sender gone has been woken by then, or by somebody else. */
	__atomic_store_n(&sent.end, cpa_clock_now(), __ATOMIC_RELAXED);
	__atomic_store_n(&sent.row, NULL, __ATOMIC_RELAXED);
}

/* Clock until which the signal of the path published at @released may have been sent; 0: there is none. */
static uint64_t sent_until(uint64_t released)
{
	/* Relaxed, all: see the writers. */
	const struct cpa_thread *row = __atomic_load_n(&sent.row, __ATOMIC_RELAXED);
	uint64_t end;

	if (!released)
		return 0;
	if (row && __atomic_load_n(&row->events, __ATOMIC_RELAXED) ==
			   __atomic_load_n(&sent.events, __ATOMIC_RELAXED))
		return cpa_clock_now();
	/* Last: the sender may have gone on meanwhile. */
	end = __atomic_load_n(&sent.end, __ATOMIC_RELAXED);
	return end > released ? end : released;
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
	uint64_t caller = w->suspended, until;

	w->suspended = 0;
	until = sent_until(h ? cpa_cell_released(&w->self, &h->merged) : 0);
	if (cpa_event_awaited(w, CPA_EXT_SIGNAL, CPA_EV_SLEEP, caller, until, &wait)) {
		cpa_cell_acquired(&w->self, &h->merged, &wait);
		if (wait.from)
			cpa_dependency(&w->self, &wait, wait.now - wait.arrived);
	}
}
