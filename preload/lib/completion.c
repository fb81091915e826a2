/* SPDX-License-Identifier: MIT */
#include "preload/lib/completion.h"

#include <errno.h>

#include "preload/core/object.h"
#include "preload/core/track.h"
#include "shadow/edge/acquire.h"

/* An odd address: the program has no object there. */
static struct cpa_object *object_of(struct cpa_worker *w, const void *of, uint64_t caller)
{
	return cpa_object_of(w, (const char *)of + 1, CPA_ANNOTATION, caller);
}

void cpa_completion_offer(const void *of, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = object_of(w, of, caller);
	cpa_event(w, CPA_EV_BEFORE, caller, o ? o->class : 0);
	/* Several threads release, and one acquires when all are done: as readers and a writer. */
	if (o)
		cpa_read_release(&w->self, o);
	cpa_done(w);
	errno = err;
}

void cpa_completion_join(const void *of, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_wait wait = { 0 };
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = object_of(w, of, caller);
	wait.arrived = wait.now = cpa_event(w, CPA_EV_AFTER, caller, o ? o->class : 0);
	if (o)
		cpa_write_acquired(&w->self, o, &wait);
	if (wait.from)
		cpa_dependency(&w->self, &wait, 0);
	cpa_done(w);
	errno = err;
}
