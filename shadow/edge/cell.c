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

uint32_t cpa_cell_pin(uint64_t *cell)
{
	uint64_t word = look(cell);

	while ((uint32_t)word && !swap(cell, &word, word + CPA_CELL_PIN))
		;
	return (uint32_t)word;
}

/* Add @by to the pins of token @row, which no cell names any more; at 0 it is freed. */
static void settle(struct cpa_self *self, uint32_t row, uint64_t by)
{
	/* ACQ_REL: all threads have read before the last one frees. */
	if (!__atomic_add_fetch(&cpa_token(row)->left, by, __ATOMIC_ACQ_REL))
		cpa_token_free(self, row);
}

void cpa_cell_unpin(struct cpa_self *self, uint64_t *cell, uint32_t row)
{
	uint64_t word = look(cell);

	/* A pinned token cannot return to the cell: if the cell names it, it was never replaced. */
	while ((uint32_t)word == row)
		if (swap(cell, &word, word - CPA_CELL_PIN))
			return;
	settle(self, row, -UINT64_C(1));
}

bool cpa_cell_replace(struct cpa_self *self, uint64_t *cell, uint32_t old, uint64_t new)
{
	uint64_t word = look(cell);

	while ((uint32_t)word == old) {
		if (!swap(cell, &word, new))
			continue;
		if (old)
			settle(self, old, (word >> 32) - 1);
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
static void add(struct cpa_self *self, const uint64_t *cell, uint32_t mine, uint32_t old)
{
	struct cpa_path *into = &cpa_token(mine)->path;
	const struct cpa_path *from = &cpa_token(old)->path;

	cpa_merge_as(self, into, from, is_later(cell, from, into));
}

void cpa_cell_release(struct cpa_self *self, uint64_t *cell, const struct cpa_path *path)
{
	uint32_t mine = cpa_token_new(self, path), old;

	if (!mine)
		return;
	cpa_journal_release(self, object_of(cell), CPA_RELEASE_CELL, 0);
	/*
	 * Relaxed: published by swap(). Threads that lost a race in shadow/edge/item.c may read it
	 * late.
	 */
	__atomic_store_n(&cpa_token(mine)->left, 0, __ATOMIC_RELAXED);
	for (;;) {
		old = cpa_cell_pin(cell);
		/*
		 * The winner of a lost race has joined the same token; joining it twice changes
		 * nothing.
		 */
		if (old)
			add(self, cell, mine, old);
		if (cpa_cell_replace(self, cell, old, mine))
			return;
		if (old)
			cpa_cell_unpin(self, cell, old);
	}
}

void cpa_cell_acquired(struct cpa_self *self, uint64_t *cell, struct cpa_wait *wait)
{
	uint32_t row = cpa_cell_pin(cell);

	cpa_acquire_object(self, row ? &cpa_token(row)->path : NULL, object_of(cell), wait);
	if (row)
		cpa_cell_unpin(self, cell, row);
}

void cpa_cell_put(struct cpa_self *self, uint64_t *cell, uint64_t key, const struct cpa_path *path)
{
	uint32_t mine = cpa_token_new(self, path), old;

	if (!mine)
		return;
	cpa_journal_release(self, object_of(cell), 0, 0);
	/* Relaxed, both: as in cpa_cell_release(). */
	__atomic_store_n(&cpa_token(mine)->left, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&cpa_token(mine)->key, key, __ATOMIC_RELAXED);
	for (;;) {
		old = cpa_cell_pin(cell);
		if (cpa_cell_replace(self, cell, old, mine))
			return;
		if (old)
			cpa_cell_unpin(self, cell, old);
	}
}

bool cpa_cell_acquired_if(struct cpa_self *self, uint64_t *cell, uint64_t key,
			  struct cpa_wait *wait)
{
	uint32_t row = cpa_cell_pin(cell);
	/* Relaxed: the pin orders. */
	bool is = row && __atomic_load_n(&cpa_token(row)->key, __ATOMIC_RELAXED) == key;

	if (is)
		cpa_acquire_object(self, &cpa_token(row)->path, object_of(cell), wait);
	if (row)
		cpa_cell_unpin(self, cell, row);
	return is;
}

uint64_t cpa_cell_released(struct cpa_self *self, uint64_t *cell)
{
	uint32_t row = cpa_cell_pin(cell);
	uint64_t released = row ? cpa_token(row)->path.released : 0;

	if (row)
		cpa_cell_unpin(self, cell, row);
	return released;
}

void cpa_cell_clear(struct cpa_self *self, uint64_t *cell)
{
	uint32_t old = cpa_cell_pin(cell);

	if (old)
		cpa_cell_replace(self, cell, old, 0);
}
