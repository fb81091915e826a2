/* SPDX-License-Identifier: MIT */
#include "shadow/edge/cell.h"

#include <stddef.h>

#include "shadow/journal/journal.h"
#include "shadow/edge/merge.h"

static bool swap(uint64_t *cell, uint64_t *word, uint64_t new)
{
	/*
	 * ACQUIRE: the named token is complete. RELEASE: so is the new one, and reads under a pin
	 * precede its return. Each call pairs with the other calls of swap().
	 */
	return __atomic_compare_exchange_n(cell, word, new, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static uint64_t look(const uint64_t *cell)
{
	/* Relaxed: swap() orders. */
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

struct cpa_token *cpa_cell_pin(uint64_t *cell)
{
	uint64_t word = look(cell);

	while ((uint32_t)word && !swap(cell, &word, word + CPA_CELL_PIN))
		;
	return (uint32_t)word ? cpa_token(word) : NULL;
}

/* Add @by to the pins of token @t, which no cell names any more; at 0 it is freed. */
static void settle(struct cpa_self *self, struct cpa_token *t, uint64_t by)
{
	/* ACQ_REL: all threads have read before the last one frees. */
	if (!__atomic_add_fetch(&t->left, by, __ATOMIC_ACQ_REL))
		cpa_token_drop(self, t);
}

void cpa_cell_unpin(struct cpa_self *self, uint64_t *cell, struct cpa_token *t)
{
	uint64_t word = look(cell);

	/* A pinned token cannot return to the cell: if the cell names it, it was never replaced. */
	while ((uint32_t)word == t->row)
		if (swap(cell, &word, word - CPA_CELL_PIN))
			return;
	settle(self, t, -UINT64_C(1));
}

bool cpa_cell_replace(struct cpa_self *self, uint64_t *cell, struct cpa_token *old, uint64_t new)
{
	uint32_t row = old ? old->row : 0;
	uint64_t word = look(cell), others;

	while ((uint32_t)word == row) {
		if (!swap(cell, &word, new))
			continue;
		others = (word >> 32) - 1;
		/* A pin that is given back while the cell names the token is not in `left`. */
		if (old && !others)
			cpa_token_drop(self, old);
		else if (old)
			settle(self, old, others);
		return true;
	}
	return false;
}

/* Return the object that the cell belongs to; NULL: none. */
static const struct cpa_object *object_of(const uint64_t *cell)
{
	if (cell == &cpa_header()->final)
		return NULL;
	return (const struct cpa_object *)((const char *)cell -
					   offsetof(struct cpa_object, merged));
}

/*
 * Whether the observed path of the join of @from into @into is that of @from: the later one. Of two that
 * end with the same part of the run (shadow/edge/part.h) it is that of the thread which was blocked less.
 */
static bool is_later(const uint64_t *cell, const struct cpa_path *from, const struct cpa_path *into)
{
	if (cell != &cpa_header()->final || from->released != into->released)
		return from->released > into->released;
	return from->observed[CPA_TIME_EXTERNAL] < into->observed[CPA_TIME_EXTERNAL];
}

/* Join the token @old, which is in @cell, into the token @mine. */
static void add(struct cpa_self *self, const uint64_t *cell, struct cpa_token *mine,
		const struct cpa_token *old)
{
	cpa_merge_as(self, &mine->path, &old->path, is_later(cell, &old->path, &mine->path));
}

void cpa_cell_release(struct cpa_self *self, uint64_t *cell, const struct cpa_path *path)
{
	struct cpa_token *mine = cpa_token_make(self, path), *old;

	if (!mine)
		return;
	cpa_journal_release(self, object_of(cell), CPA_RELEASE_CELL, 0);
	/*
	 * Relaxed: published by swap(). Threads that lost a race in shadow/edge/item.c may read it
	 * late.
	 */
	__atomic_store_n(&mine->left, 0, __ATOMIC_RELAXED);
	for (;;) {
		old = cpa_cell_pin(cell);
		/*
		 * The winner of a lost race has joined the same token; joining it twice changes
		 * nothing.
		 */
		if (old)
			add(self, cell, mine, old);
		if (cpa_cell_replace(self, cell, old, mine->row))
			return;
		if (old)
			cpa_cell_unpin(self, cell, old);
	}
}

void cpa_cell_acquired(struct cpa_self *self, uint64_t *cell, struct cpa_wait *wait)
{
	struct cpa_token *t = cpa_cell_pin(cell);

	cpa_acquire_object(self, t ? &t->path : NULL, object_of(cell), wait);
	if (t)
		cpa_cell_unpin(self, cell, t);
}

void cpa_cell_put(struct cpa_self *self, uint64_t *cell, uint64_t key, const struct cpa_path *path)
{
	struct cpa_token *mine = cpa_token_make(self, path), *old;

	if (!mine)
		return;
	cpa_journal_release(self, object_of(cell), 0, 0);
	/* Relaxed, both: as in cpa_cell_release(). */
	__atomic_store_n(&mine->left, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&mine->key, key, __ATOMIC_RELAXED);
	for (;;) {
		old = cpa_cell_pin(cell);
		if (cpa_cell_replace(self, cell, old, mine->row))
			return;
		if (old)
			cpa_cell_unpin(self, cell, old);
	}
}

bool cpa_cell_acquired_if(struct cpa_self *self, uint64_t *cell, uint64_t key,
			  struct cpa_wait *wait)
{
	struct cpa_token *t = cpa_cell_pin(cell);
	/* Relaxed: the pin orders. */
	bool is = t && __atomic_load_n(&t->key, __ATOMIC_RELAXED) == key;

	if (is)
		cpa_acquire_object(self, &t->path, object_of(cell), wait);
	if (t)
		cpa_cell_unpin(self, cell, t);
	return is;
}

uint64_t cpa_cell_released(struct cpa_self *self, uint64_t *cell)
{
	struct cpa_token *t = cpa_cell_pin(cell);
	uint64_t released = t ? t->path.released : 0;

	if (t)
		cpa_cell_unpin(self, cell, t);
	return released;
}

void cpa_cell_clear(struct cpa_self *self, uint64_t *cell)
{
	struct cpa_token *old = cpa_cell_pin(cell);

	if (old)
		cpa_cell_replace(self, cell, old, 0);
}
