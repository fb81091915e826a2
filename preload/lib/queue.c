/* SPDX-License-Identifier: MIT */
#include "preload/lib/queue.h"

#include <errno.h>

#include "preload/core/object.h"
#include "preload/core/window.h"
#include "preload/core/track.h"
#include "shadow/store/name.h"
#include "shadow/edge/queue.h"

static uint32_t class_named(const char *text)
{
	struct cpa_component_name name = { .kind = CPA_QUEUE,
					   .by = CPA_BY_NAME,
					   .address = cpa_name(text) };

	return name.address ? cpa_component_intern(&name) : 0;
}

static void give_name(uint32_t row, const char *text)
{
	uint32_t class = class_named(text);

	/* RELEASE: the component is complete before a reader of the row can follow it. */
	if (class)
		__atomic_store_n(&cpa_queue(row)->component, class, __ATOMIC_RELEASE);
}

static uint32_t class_of(uint32_t row)
{
	/* ACQUIRE pairs with give_name(). */
	return row ? __atomic_load_n(&cpa_queue(row)->component, __ATOMIC_ACQUIRE) : 0;
}

static bool has_name(uint32_t row)
{
	uint32_t class = class_of(row);

	return class && cpa_component(class)->by == CPA_BY_NAME;
}

static uint32_t find_slow(struct cpa_worker *w, uint64_t address, const char *name, uint64_t caller)
{
	unsigned at = (unsigned)(address >> 4) % CPA_QUEUE_CACHE;
	uint32_t row = cpa_table_find(CPA_TABLE_QUEUES, address | cpa_object_space);

	if (!row) {
		uint32_t class = name ? class_named(name) :
					cpa_object_unnamed(CPA_QUEUE, 0, address, caller);

		row = cpa_queue_intern(address | cpa_object_space, class);
	} else if (name && !has_name(row)) {
		give_name(row, name);
	}
	if (row) {
		w->queues[at].address = address;
		w->queues[at].row = row;
	}
	return row;
}

uint32_t cpa_queue_of(struct cpa_worker *w, const void *queue, const char *name, uint64_t caller)
{
	unsigned at = (unsigned)((uint64_t)queue >> 4) % CPA_QUEUE_CACHE;

	if (likely(w->queues[at].address == (uint64_t)queue && queue))
		return w->queues[at].row;
	return queue ? find_slow(w, (uint64_t)queue, name, caller) : 0;
}

void cpa_queue_name(const void *queue, const char *name, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter_any();
	uint32_t row;

	if (unlikely(!w))
		return;
	row = cpa_queue_of(w, queue, name, caller);
	if (row)
		give_name(row, name);
	cpa_leave();
	errno = err;
}

void cpa_item_enqueue(const void *queue, uint64_t item, const char *name, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	uint32_t row;
	uint64_t now;

	if (unlikely(!w))
		return;
	row = cpa_queue_of(w, queue, name, caller);
	now = cpa_event(w, CPA_EV_ENQUEUE, caller, class_of(row));
	if (likely(row))
		cpa_queue_put(&w->self, row, item, now);
	else
		cpa_diag(CPA_DIAG_ITEMS_REFUSED);
	cpa_done(w);
	errno = err;
}

/* An event after which @item changes for the thread. @end records that in the shadow. */
static void end_item(const void *queue, uint64_t item, uint64_t caller, enum cpa_event_kind kind,
		     void (*end)(struct cpa_self *self, uint32_t row, uint64_t item))
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	uint32_t row;

	if (unlikely(!w))
		return;
	row = cpa_queue_of(w, queue, NULL, caller);
	cpa_event(w, kind, caller, class_of(row));
	if (likely(row))
		end(&w->self, row, item);
	cpa_done(w);
	errno = err;
}

void cpa_item_refused(const void *queue, uint64_t item, uint64_t caller)
{
	end_item(queue, item, caller, CPA_EV_TRY_FAILED, cpa_queue_unput);
}

void cpa_item_done(const void *queue, uint64_t item, uint64_t caller)
{
	end_item(queue, item, caller, CPA_EV_DONE, cpa_queue_done);
}

void cpa_item_dequeue(const void *queue, uint64_t item, const char *name, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_wait wait = { 0 };
	uint32_t row;

	if (unlikely(!w))
		return;
	row = cpa_queue_of(w, queue, name, caller);
	wait.now = cpa_event(w, CPA_EV_DEQUEUE, caller, class_of(row));
	/* If the thread waited for the item, that wait was an event of its own. */
	wait.arrived = wait.now;
	if (likely(row)) {
		uint64_t waited = cpa_queue_take(&w->self, row, item, &wait);

		if (wait.from)
			cpa_dependency(&w->self, &wait, waited);
		cpa_queue_begin(&w->self, row, item);
	}
	cpa_done(w);
	errno = err;
}

void cpa_inner_begin(void)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter_any();

	if (likely(w)) {
		w->self.inner++;
		cpa_leave();
	}
	errno = err;
}

void cpa_inner_end(void)
{
	struct cpa_worker *w = cpa_enter_any();

	if (likely(w)) {
		/* 0: the thread has got a worker in between. */
		w->self.inner -= w->self.inner > 0;
		cpa_leave();
	}
}
