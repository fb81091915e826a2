/* SPDX-License-Identifier: MIT */
#include "shadow/graph/checkpoint.h"

#include <string.h>

#include "shadow/graph/component.h"
#include "shadow/store/heap.h"
#include "shadow/path/path.h"
#include "shadow/graph/series.h"

#define ROOM 32u /* checkpoints grow by this many slots */

_Static_assert(offsetof(struct cpa_thread, events) - offsetof(struct cpa_thread, before) ==
		       offsetof(struct cpa_sums, events),
	       "the sums of a thread are a struct cpa_sums");

static struct cpa_checkpoint *at(const struct cpa_thread *row, unsigned i)
{
	return row->checkpoint[i] ? cpa_at(row->checkpoint[i]) : NULL;
}

static void set_label(struct cpa_checkpoint *c, uint64_t label)
{
	/* RELEASE: earlier stores come first. The fence: later stores come after (C3). */
	__atomic_store_n(&c->label, label, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void drop(struct cpa_self *self, struct cpa_thread *row, unsigned i)
{
	struct cpa_checkpoint *c = at(row, i);

	if (!c)
		return;
	set_label(c, 0);
	cpa_path_clear(self, &c->path);
	cpa_path_clear(self, &c->retired);
	/* RELEASE: readers do not take reused memory for a checkpoint. Pairs with cut.c. */
	__atomic_store_n(&row->checkpoint[i], 0, __ATOMIC_RELEASE);
	cpa_heap_free(c);
}

/* Return the older checkpoint, with room for all slots in use. NULL: no memory. */
static struct cpa_checkpoint *older(struct cpa_self *self)
{
	struct cpa_thread *row = self->row;
	struct cpa_checkpoint *c[2] = { at(row, 0), at(row, 1) };
	uint32_t slots = (cpa_component_slots() + ROOM - 1) / ROOM * ROOM;
	unsigned i = c[0] && (!c[1] || c[1]->label < c[0]->label);

	if (c[i] && c[i]->room >= slots)
		return c[i];
	drop(self, row, i);
	c[i] = cpa_heap_alloc(sizeof(*c[i]) + slots * sizeof(c[i]->total[0]));
	if (!c[i])
		return NULL;
	c[i]->room = slots;
	/* RELEASE: its label is 0 before it can be found. Pairs with cut.c. */
	__atomic_store_n(&row->checkpoint[i], cpa_offset(c[i]), __ATOMIC_RELEASE);
	return c[i];
}

/* Save the row as the state at the boundaries up to @n. */
static void keep(struct cpa_self *self, uint64_t n)
{
	struct cpa_thread *row = self->row;
	struct cpa_checkpoint *c = older(self);

	if (!c)
		return;
	set_label(c, 0);
	c->from = row->period;
	memcpy(&c->sums, &row->before, sizeof(c->sums));
	c->slots = c->room < row->totals_slots ? c->room : row->totals_slots;
	memcpy(c->total, cpa_at(row->totals), c->slots * sizeof(c->total[0]));
	cpa_path_copy(self, &c->path, &row->path);
	cpa_path_copy(self, &c->retired, &row->retired);
	set_label(c, n);
}

uint64_t cpa_checkpoint_pass(struct cpa_self *self, uint64_t now)
{
	uint64_t n;

	if (now < self->since)
		return self->since;
	if (!self->period) /* no session, or no row */
		return now;
	n = now / self->period;
	self->slow++;
	self->window = 0;
	keep(self, n);
	self->since = n * self->period;
	/*
	 * RELEASE: the checkpoint is complete; the fence: the row changes only after (C2). Pairs
	 * with cut.c.
	 */
	__atomic_store_n(&self->row->period, n, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cpa_series_pass(self, n);
	return now;
}

void cpa_checkpoint_begin(struct cpa_self *self, bool first, uint64_t now)
{
	struct cpa_thread *row = self->row;

	self->period = cpa_header()->period;
	self->window = 0;
	if (first)
		row->first_period = row->period = now / self->period;
	self->since = row->period * self->period;
	if (now > self->since)
		cpa_checkpoint(self, now);
}

void cpa_checkpoint_forget(struct cpa_self *self, struct cpa_thread *row)
{
	drop(self, row, 0);
	drop(self, row, 1);
}
