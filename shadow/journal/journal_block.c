/* SPDX-License-Identifier: MIT */
#include "shadow/journal/journal_write.h"

#include <string.h>

#include "shadow/store/epoch.h"
#include "shadow/store/heap.h"

#define PAGE  4096u
#define RETRY 256u /* events without a block before a thread looks for one again */

bool cpa_journal_init(uint64_t size)
{
	uint64_t blocks = size / CPA_JOURNAL_BLOCK;
	uint64_t at = cpa_session_alloc(sizeof(struct cpa_journal_pool) + blocks * sizeof(uint64_t),
					CPA_CACHE_LINE);
	struct cpa_journal_pool *p;

	if (!at)
		return false;
	p = cpa_at(at);
	p->block_size = CPA_JOURNAL_BLOCK;
	p->blocks = (uint32_t)blocks;
	cpa_header()->journal = at;
	return true;
}

/* Claim a block, for this thread alone. NULL: none is free. */
static struct cpa_journal_block *claim(uint64_t *ticket)
{
	struct cpa_journal_pool *p = cpa_journal_pool();

	for (unsigned i = 0; i < CPA_JOURNAL_TRIES; i++) {
		struct cpa_journal_block *b;
		uint64_t *place, at;
		uint32_t closed = 0;

		/* Relaxed: only a number; the block is claimed below. */
		*ticket = __atomic_add_fetch(&p->next, 1, __ATOMIC_RELAXED);
		place = &p->block[(*ticket - 1) % p->blocks];
		/* ACQUIRE pairs with the RELEASE below. */
		at = __atomic_load_n(place, __ATOMIC_ACQUIRE);
		if (!at && *ticket <= p->blocks) {
			at = cpa_session_alloc(CPA_JOURNAL_BLOCK, PAGE);
			if (!at)
				return NULL;
			b = cpa_at(at);
			b->open = 1;
			/* RELEASE: `open` is set before the block can be found. */
			__atomic_store_n(place, at, __ATOMIC_RELEASE);
			return b;
		}
		b = at ? cpa_at(at) : NULL;
		/* ACQUIRE pairs with close_block(): the block's last thread writes no more. */
		if (b && __atomic_compare_exchange_n(&b->open, &closed, 1, false, __ATOMIC_ACQUIRE,
						     __ATOMIC_RELAXED)) {
			/* Relaxed: a statistic. */
			__atomic_fetch_add(&p->overwritten, b->events, __ATOMIC_RELAXED);
			return b;
		}
	}
	return NULL;
}

static void close_block(struct cpa_journal *j)
{
	struct cpa_journal_block *b = j->block;

	if (!b)
		return;
	b->events = j->number - b->number;
	/* Before others may have it: a handler may jump out of here. */
	j->at = j->end = NULL;
	j->block = NULL;
	/* RELEASE pairs with claim(). */
	__atomic_store_n(&b->open, 0, __ATOMIC_RELEASE);
}

/* Begin block @b with the present state. */
static void open_block(struct cpa_self *self, struct cpa_journal_block *b, uint64_t ticket)
{
	struct cpa_journal *j = self->journal;

	/* The unfinished event may have changed the path: the next join is not part of the event before. */
	if (unlikely(j->left))
		j->released = 1;
	j->left = false;
	/*
	 * Readers see that the block was replaced before anything else in it changes (J2): x86
	 * keeps stores in order.
	 */
	__atomic_store_n(&b->ticket, 0, __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	b->used = 0;
	b->thread = j->thread;
	b->row = self->number;
	b->sequence = j->sequence++;
	b->number = j->number;
	b->event = j->event;
	b->released = j->released;
	b->node = j->node;
	b->edge = j->edge;
	b->slot = j->slot;
	b->held_count = j->held_count;
	memcpy(b->held, j->held, sizeof(b->held));
	b->clock = j->clock;
	/* RELEASE: the header is complete. Pairs with the readers of J2. */
	__atomic_store_n(&b->ticket, ticket, __ATOMIC_RELEASE);
	memset(&j->guess, 0, sizeof(j->guess));
	j->block = b;
	j->at = b->records;
	j->end = (uint8_t *)b + CPA_JOURNAL_BLOCK;
}

uint8_t *cpa_journal_turn(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;
	struct cpa_journal_block *b;
	uint64_t ticket;

	self->slow++;
	close_block(j);
	if (j->wait && --j->wait)
		return NULL;
	b = claim(&ticket);
	if (!b) {
		j->wait = RETRY;
		return NULL;
	}
	open_block(self, b, ticket);
	return j->at;
}

void cpa_journal_next(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;

	j->event = ++j->number;
	j->released = 0;
	if (unlikely(!j->block))
		refused();
}

void cpa_journal_left(struct cpa_self *self)
{
	struct cpa_journal *j = self->journal;

	j->queue = 0;
	j->failed = false;
	j->left = true;
	/* Relaxed: only the thread itself writes it. */
	if (__atomic_load_n(&self->row->path.event, __ATOMIC_RELAXED) != CPA_JOURNAL_PENDING)
		return;
	refused();
	name_path(j, &self->row->path);
}

void cpa_journal_begin(struct cpa_self *self)
{
	struct cpa_journal *j;

	if (!cpa_header()->journal)
		return;
	j = cpa_heap_alloc(sizeof(*j));
	if (!j) { /* its paths have no event */
		self->row->path.event = 0;
		refused();
		return;
	}
	self->journal = j;
	j->thread = self->id;
	j->clock = self->row->path.released;
	j->slot = self->row->thread_slot;
	j->number = j->event = 1;
	name_path(j, &self->row->path);
	/* Of a thread that is in no part of the run yet, the first record takes a block. */
	if (cpa_epoch_is_on(cpa_epoch(cpa_header())))
		cpa_journal_turn(self);
}

void cpa_journal_end(struct cpa_self *self)
{
	if (!self->journal)
		return;
	close_block(self->journal);
	cpa_heap_free(self->journal);
	self->journal = NULL;
}
