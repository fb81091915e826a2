/* SPDX-License-Identifier: MIT */
#include "shadow/edge/merge.h"

#include "shadow/journal/journal.h"
#include "shadow/path/path.h"

uint32_t cpa_merge_take(uint64_t *slot)
{
	/* Relaxed: an empty slot has nothing to read, and a load costs less than an exchange. */
	if (!__atomic_load_n(slot, __ATOMIC_RELAXED))
		return 0;
	/*
	 * ACQUIRE: the token was complete when it was put. Pairs with (A) in cpa_merge_release().
	 */
	return (uint32_t)__atomic_exchange_n(slot, 0, __ATOMIC_ACQUIRE);
}

void cpa_merge_as(struct cpa_self *self, struct cpa_path *into, const struct cpa_path *from,
		  bool later)
{
	uint64_t event = into->event;

	cpa_path_tidy(into);
	cpa_path_join(self, into, from, later);
	if (later) {
		into->released = from->released;
		into->node = from->node;
	}
	/* Several owners: no thread may take it for its own path. */
	if (into->owner != from->owner)
		into->owner = UINT32_MAX;
	if (unlikely(self->journal))
		cpa_journal_merge_write(self, into, event, from->event);
}

void cpa_merge(struct cpa_self *self, struct cpa_path *into, const struct cpa_path *from)
{
	cpa_merge_as(self, into, from, from->released > into->released);
}

/* What to do with the token that is in the slot. */
struct how {
	uint64_t key;
	bool was_read; /* tokens with other keys were read in place */
	bool each;     /* the journal is to have each release */
};

/* A token taken from the slot may be used again: nobody reads it, and what it holds is no longer wanted. */
static bool is_outdated(const struct cpa_self *self, uint32_t other, const struct how *how)
{
	const struct cpa_token *t = cpa_token(other);

	/* of the same thread: the new path continues the old one */
	return t->key == how->key ? t->path.owner == self->id : how->was_read;
}

/* Write @path over that in the token @mine. */
static void renew(struct cpa_self *self, uint32_t mine, const struct how *how,
		  const struct cpa_path *path)
{
	struct cpa_path *into = &cpa_token(mine)->path;
	uint64_t event = into->event;

	cpa_path_copy(self, into, path);
	if (unlikely(self->journal) && how->each)
		cpa_journal_merge_write(self, into, path->event, event);
}

/* Return a token for the release of @path. If it is *@other, taken from the slot, that is cleared. */
static uint32_t token_for(struct cpa_self *self, uint32_t *other, const struct how *how,
			  const struct cpa_path *path)
{
	uint32_t mine;

	if (*other && is_outdated(self, *other, how)) {
		mine = *other;
		*other = 0;
		renew(self, mine, how, path);
	} else {
		mine = cpa_token_new(self, path);
	}
	if (mine) {
		/*
		 * Relaxed: threads that lost a race in shadow/edge/item.c may read them late. A
		 * barrier changes `left`.
		 */
		__atomic_store_n(&cpa_token(mine)->key, how->key, __ATOMIC_RELAXED);
		__atomic_store_n(&cpa_token(mine)->left, 0, __ATOMIC_RELAXED);
	}
	return mine;
}

/* Join @other, of any round, into the token @mine of round @key, and free it. */
static void add(struct cpa_self *self, uint32_t mine, uint32_t other, uint64_t key)
{
	if (!other)
		return;
	if (cpa_token(other)->key == key) {
		cpa_merge(self, &cpa_token(mine)->path, &cpa_token(other)->path);
		cpa_token_free(self, other);
	} else {
		cpa_diag(CPA_DIAG_TOKENS_REFUSED);
	}
}

static void release(struct cpa_self *self, uint64_t *slot, const struct how how,
		    const struct cpa_path *path)
{
	uint32_t other = cpa_merge_take(slot), mine = token_for(self, &other, &how, path);
	uint64_t empty = 0;

	if (!mine) { /* no space (counted): the slot gets its old token back */
		if (!other)
			return;
		mine = other;
		other = 0;
	}
	add(self, mine, other, how.key);
	/* (A) RELEASE: the token is complete before it can be taken out. */
	while (!__atomic_compare_exchange_n(slot, &empty, mine, false, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED)) {
		add(self, mine, cpa_merge_take(slot), how.key);
		empty = 0;
	}
}

void cpa_merge_release(struct cpa_self *self, uint64_t *slot, uint64_t key,
		       const struct cpa_path *path)
{
	release(self, slot, (struct how){ .key = key }, path);
}

void cpa_merge_release_read(struct cpa_self *self, uint64_t *slot, uint64_t key,
			    const struct cpa_path *path)
{
	release(self, slot, (struct how){ .key = key, .was_read = true }, path);
}

void cpa_merge_release_each(struct cpa_self *self, uint64_t *slot, const struct cpa_path *path)
{
	release(self, slot, (struct how){ .each = true }, path);
}

const struct cpa_path *cpa_merge_read(const uint64_t *slot, uint64_t key)
{
	/* ACQUIRE pairs with (A). */
	uint32_t row = (uint32_t)__atomic_load_n(slot, __ATOMIC_ACQUIRE);

	return row && cpa_token(row)->key == key ? &cpa_token(row)->path : NULL;
}
