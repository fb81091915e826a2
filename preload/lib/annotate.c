/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/annotate.c - the functions behind the macros of cpa.h
 *
 * A program finds the struct by its name, at any time: before our constructor and after the end of
 * the session, calls pass through like those of any wrapper.
 */
#include "preload/cpa.h"

#include <errno.h>

#include "preload/core/object.h"
#include "preload/core/window.h"
#include "preload/lib/queue.h"
#include "preload/libc/real.h"
#include "preload/core/region.h"
#include "preload/core/track.h"
#include "shadow/edge/cell.h"

static void enqueue(const volatile void *queue, uint64_t item)
{
	cpa_item_enqueue((const void *)queue, item, NULL, CPA_CALLER());
}

static void dequeue(const volatile void *queue, uint64_t item)
{
	cpa_item_dequeue((const void *)queue, item, NULL, CPA_CALLER());
}

static void item_done(const volatile void *queue, uint64_t item)
{
	cpa_item_done((const void *)queue, item, CPA_CALLER());
}

static void queue_name(const volatile void *queue, const char *name)
{
	cpa_queue_name((const void *)queue, name, CPA_CALLER());
}

static void queue_lock(const volatile void *queue, const volatile void *lock)
{
	uint64_t caller = CPA_CALLER();
	int err = errno;
	struct cpa_worker *w = cpa_enter_any();
	uint32_t row;

	if (unlikely(!w))
		return;
	row = cpa_queue_of(w, (const void *)queue, NULL, caller);
	if (row && lock)
		cpa_object_declare(w, (const void *)lock, row);
	cpa_leave();
	errno = err;
}

static void lock_name(const volatile void *lock, const char *name)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter_any();

	if (unlikely(!w))
		return;
	if (lock && name)
		cpa_object_name(w, (const void *)lock, name);
	cpa_leave();
	errno = err;
}

static void region_begin(const char *name)
{
	cpa_region_begin(name, CPA_CALLER());
}

static void region_end(void)
{
	cpa_region_end(CPA_CALLER());
}

static void mark(const char *name)
{
	cpa_region_mark(name, CPA_CALLER());
}

static void part_start(void)
{
	cpa_window_start();
}

static void part_stop(void)
{
	cpa_window_stop(CPA_CALLER());
}

static struct cpa_object *annotated(struct cpa_worker *w, const volatile void *address,
				    uint64_t caller)
{
	return cpa_object_of(w, (const void *)((uint64_t)address | CPA_ANNOTATED), CPA_ANNOTATION,
			     caller);
}

static void happens_before(const volatile void *address)
{
	uint64_t caller = CPA_CALLER();
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = annotated(w, address, caller);
	cpa_event(w, CPA_EV_BEFORE, caller, o ? o->class : 0);
	if (likely(o))
		cpa_cell_release(&w->self, &o->merged, &w->self.row->path);
	cpa_done(w);
	errno = err;
}

static void happens_after(const volatile void *address)
{
	uint64_t caller = CPA_CALLER();
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_wait wait = { 0 };
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = annotated(w, address, caller);
	wait.now = cpa_event(w, CPA_EV_AFTER, caller, o ? o->class : 0);
	/* If the thread waited, that was time of its own, or an event of its own. */
	wait.arrived = wait.now;
	if (likely(o)) {
		cpa_cell_acquired(&w->self, &o->merged, &wait);
		/* Relaxed: several threads count; sums only. */
		__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->handoffs, wait.from != 0, __ATOMIC_RELAXED);
	}
	if (wait.from)
		cpa_dependency(&w->self, &wait, 0);
	cpa_done(w);
	errno = err;
}

CPA_EXPORT const struct cpa_annotations cpa_annotations = {
	.size = sizeof(cpa_annotations),
	.enqueue = enqueue,
	.dequeue = dequeue,
	.item_done = item_done,
	.queue_name = queue_name,
	.queue_lock = queue_lock,
	.region_begin = region_begin,
	.region_end = region_end,
	.mark = mark,
	.happens_before = happens_before,
	.happens_after = happens_after,
	.start = part_start,
	.stop = part_stop,
	.lock_name = lock_name,
};
