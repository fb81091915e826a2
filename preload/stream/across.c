/* SPDX-License-Identifier: MIT */
#include "preload/stream/across.h"

#include "preload/clock/clock.h"
#include "shadow/edge/holder.h"

/*
 * Until when the wait is not counted by others: now, or the event by which the thread entered this part, in a signal
 * handler of the program. Behind that the wait is one in a part.
 */
static uint64_t end_of_wait(void)
{
	const struct cpa_worker *w = cpa_tls.worker;

	return w && !cpa_window_moved(w) ? w->clock.last : cpa_clock_now();
}

/* Whether somebody in the session is known to be at the other end. */
static bool is_in_session(struct cpa_stream *s, bool room)
{
	/* Relaxed, both: statistics. */
	if (room)
		return __atomic_load_n(&s->reader[0], __ATOMIC_RELAXED);
	return __atomic_load_n(&s->writer[0], __ATOMIC_RELAXED) ||
	       cpa_holders(s) == CPA_HOLDERS_SOME;
}

void cpa_across_end(const struct cpa_across *a, struct cpa_stream *s, bool room)
{
	const struct cpa_header *h = cpa_header();
	uint64_t before, all;

	if (s->kind == CPA_STREAM_TERMINAL || !is_in_session(s, room))
		return;
	before = cpa_epoch_is_on(a->epoch) ? cpa_epoch_on(h, a->since) : a->since;
	all = cpa_epoch_on(h, end_of_wait());
	if (all <= before)
		return;
	/* Relaxed: statistics. */
	__atomic_fetch_add(room ? &s->blocked : &s->waits, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(room ? &s->blocking : &s->waiting, all - before, __ATOMIC_RELAXED);
}
