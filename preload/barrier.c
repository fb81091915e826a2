/* SPDX-License-Identifier: MIT */
/*
 * preload/barrier.c - pthread_barrier_*
 */
#include <pthread.h>

#include "preload/object.h"
#include "preload/part.h"
#include "preload/real.h"
#include "preload/track.h"

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

/* The thread arrived and left while profiling was off: the round is not to wait for it. */
static void left_off(struct cpa_worker *w, struct cpa_object *o, uint64_t round)
{
	struct cpa_wait wait = { .arrived = UINT64_MAX, .now = w->self.row->path.released };

	if (!*cpa_alive)
		return;
	cpa_reenter();
	/* Its path, which is in the final node already, has what it may find there. */
	cpa_barrier_left(&w->self, o, round, &wait);
	cpa_leave();
}

/*
 * pthread_barrier_destroy() is not wrapped: a thread may call it when it has left the barrier, and
 * others, which have left the original, are still to read what the shadow has for them.
 */
CPA_EXPORT int pthread_barrier_wait(pthread_barrier_t *b)
{
	struct cpa_worker *w = cpa_enter_any();
	struct cpa_wait wait = { 0 };
	bool in;
	struct cpa_object *o;
	uint64_t round, arrived;
	uint32_t members;
	int ret;

	if (unlikely(!w))
		return REAL(pthread_barrier_wait)(b);
	o = cpa_object_of(w, b, CPA_BARRIER, CPA_CALLER());
	members = o ? (uint32_t)o->waiting : 0;
	if (!members) { /* one that we did not see being initialized: its count is not known */
		cpa_diag(CPA_DIAG_OBJECTS_REFUSED);
		cpa_leave();
		return REAL(pthread_barrier_wait)(b);
	}
	/* While off all arrivals count, too, or the rounds of the next part would be other ones. */
	in = cpa_part_is_in(w);
	arrived = in ? cpa_event(w, CPA_EV_ARRIVE, CPA_CALLER(), o->class) : 0;
	round = cpa_barrier_arrive(&w->self, o, members);
	cpa_leave();

	ret = REAL(pthread_barrier_wait)(b);

	if (in)
		wait.now = cpa_waited(w, &arrived);
	else if (cpa_enter_begun())
		wait.now = arrived = cpa_event(w, CPA_EV_ARRIVE, CPA_CALLER(), o->class);
	else
		return left_off(w, o, round), ret;
	wait.arrived = arrived;
	/* The barrier itself may be gone, its memory another's: the shadow row stays. */
	cpa_barrier_left(&w->self, o, round, &wait);
	w->self.row->node = cpa_track_node(w, CPA_EV_LEAVE, CPA_CALLER(), o->class);
	w->self.row->path.node = w->self.row->node;
	/* Relaxed: all count; sums only. */
	__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&o->contended, wait.followed, __ATOMIC_RELAXED);
	__atomic_fetch_add(&o->wait, wait.now - arrived, __ATOMIC_RELAXED);
	if (wait.from)
		cpa_dependency(&w->self, &wait, wait.now - arrived);
	cpa_done(w);
	return ret;
}
