/* SPDX-License-Identifier: MIT */
#include "shadow/edge/cell.h"

#include <stddef.h>

#include "shadow/journal/journal.h"
#include "shadow/edge/merge.h"

#define PIN (UINT64_C(1) << 32)

static bool swap(uint64_t *cell, uint64_t *word, uint64_t new)
{
	/*
	 * ACQUIRE: the token named is complete. RELEASE: so is the new one; and what was read under
	 * a pin was read before the pin is given back. Each pairs with the other calls of swap().
	 */
	return __atomic_compare_exchange_n(cell, word, new, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

static uint64_t look(const uint64_t *cell)
{
	/* Relaxed: swap() orders. */
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

/* Keep the cell's token from being freed. Return its row, 0 if the cell is empty. */
static uint32_t pin(uint64_t *cell)
{
	uint64_t word = look(cell);

	while ((uint32_t)word && !swap(cell, &word, word + PIN))
		;
	return (uint32_t)word;
}

/* Add @by to the pins of token @row, which no cell names any more; the last one frees it. */
static void settle(struct cpa_self *self, uint32_t row, uint64_t by)
{
	/* ACQ_REL: all have read before the last one frees. */
	if (!__atomic_add_fetch(&cpa_token(row)->left, by, __ATOMIC_ACQ_REL))
		cpa_token_free(self, row);
}

static void unpin(struct cpa_self *self, uint64_t *cell, uint32_t row)
{
	uint64_t word = look(cell);

	/* Pinned, the token cannot come back: if the cell names it, it has been there all along. */
	while ((uint32_t)word == row)
		if (swap(cell, &word, word - PIN))
			return;
	settle(self, row, -UINT64_C(1));
}

/* Let the cell name @row instead of @old, which we pinned. False: it names another by now. */
static bool replace(struct cpa_self *self, uint64_t *cell, uint32_t old, uint32_t row)
{
	uint64_t word = look(cell);

	while ((uint32_t)word == old) {
		if (!swap(cell, &word, row))
			continue;
		if (old)
			settle(self, old, (word >> 32) - 1);
		return true;
	}
	return false;
}

/* Whose cell it is; NULL: no object's. */
static const struct cpa_object *object_of(const uint64_t *cell)
{
	if (cell == &cpa_header()->final)
		return NULL;
	return (const struct cpa_object *)((const char *)cell -
					   offsetof(struct cpa_object, merged));
}

void cpa_cell_release(struct cpa_self *self, uint64_t *cell, const struct cpa_path *path)
{
	uint32_t mine = cpa_token_new(self, path), old;

	if (!mine)
		return;
	cpa_journal_release(self, object_of(cell), CPA_RELEASE_CELL, 0);
	/* Relaxed: published by swap(). Late losers of shadow/edge/item.h may read it. */
	__atomic_store_n(&cpa_token(mine)->left, 0, __ATOMIC_RELAXED);
	for (;;) {
		old = pin(cell);
		/* Whom we lost to has joined what we joined: to do so twice changes nothing. */
		if (old)
			cpa_merge(self, &cpa_token(mine)->path, &cpa_token(old)->path);
		if (replace(self, cell, old, mine))
			return;
		if (old)
			unpin(self, cell, old);
	}
}

void cpa_cell_acquired(struct cpa_self *self, uint64_t *cell, struct cpa_wait *wait)
{
	uint32_t row = pin(cell);

	cpa_acquire_object(self, row ? &cpa_token(row)->path : NULL, object_of(cell), wait);
	if (row)
		unpin(self, cell, row);
}

uint64_t cpa_cell_released(struct cpa_self *self, uint64_t *cell)
{
	uint32_t row = pin(cell);
	uint64_t released = row ? cpa_token(row)->path.released : 0;

	if (row)
		unpin(self, cell, row);
	return released;
}

void cpa_cell_clear(struct cpa_self *self, uint64_t *cell)
{
	uint32_t old = pin(cell);

	if (old)
		replace(self, cell, old, 0);
}
