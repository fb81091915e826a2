/* SPDX-License-Identifier: MIT */
#include "shadow/graph/summary.h"

#include <string.h>

#include "shadow/graph/component.h"
#include "shadow/graph/mixes.h"
#include "shadow/path/path.h"
#include "shadow/store/heap.h"
#include "shadow/store/table.h"

static void fill_node(void *row, const void *argument)
{
	struct cpa_node *node = row;

	*node = *(const struct cpa_node *)argument;
}

uint32_t cpa_summary_node(enum cpa_event_kind kind, uint32_t site, uint32_t class)
{
	uint64_t key = (uint64_t)kind << 56 | (uint64_t)(class & 0xffffff) << 32 | site;
	struct cpa_node node = { .kind = kind, .site = site, .class = class };
	uint32_t row = cpa_table_intern(CPA_TABLE_NODES, key, fill_node, &node);

	if (!row)
		cpa_diag(CPA_DIAG_EDGES_REFUSED);
	return row;
}

static void fill_edge(void *row, const void *argument)
{
	struct cpa_edge *edge = row;

	*edge = *(const struct cpa_edge *)argument;
}

static void flush(struct cpa_self *self, struct cpa_edge_cache *cache)
{
	uint64_t *mixes = cpa_mixes_place(self, cache);
	struct cpa_edge *edge = cpa_row(CPA_TABLE_EDGES, cache->edge);

	/* Relaxed: sums; nothing depends on their order. */
	__atomic_fetch_add(&edge->count, cache->count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&edge->weight, cache->weight, __ATOMIC_RELAXED);
	if (cache->followed) {
		/* Relaxed: sums; nothing depends on their order. */
		__atomic_fetch_add(&edge->followed, cache->followed, __ATOMIC_RELAXED);
		__atomic_fetch_add(&edge->followed_weight, cache->followed_weight,
				   __ATOMIC_RELAXED);
	}
	memset(cache, 0, sizeof(*cache));
	if (*mixes)
		cpa_heap_free(cpa_at(*mixes));
	*mixes = 0;
}

/*
 * Return the cache entry for an edge that belongs to entry @at: that one, a free one in its group,
 * or the group's entries in turn.
 */
static unsigned place_of(struct cpa_self *self, unsigned at)
{
	unsigned first = at - at % CPA_EDGE_WAYS;

	if (!self->edges[at].edge)
		return at;
	for (unsigned i = first; i < first + CPA_EDGE_WAYS; i++)
		if (!self->edges[i].edge)
			return i;
	return first + self->edge_turn++ % CPA_EDGE_WAYS;
}

struct cpa_edge_cache *cpa_summary_edge_slow(struct cpa_self *self, uint32_t from, uint32_t to,
					     bool dependency)
{
	uint64_t key = cpa_summary_key(from, to, dependency);
	unsigned at = cpa_summary_place(key);
	struct cpa_edge_cache *cache;
	struct cpa_edge edge = { .from = from, .to = to, .dependency = dependency };
	uint32_t row;

	if (!from || !to)
		return NULL;
	self->slow++;
	row = self->edges ? cpa_table_intern(CPA_TABLE_EDGES, key, fill_edge, &edge) : 0;
	if (!row) {
		cpa_diag(CPA_DIAG_EDGES_REFUSED);
		return NULL;
	}
	at = place_of(self, at);
	cache = &self->edges[at];
	if (cache->edge)
		flush(self, cache);
	cache->edge = row;
	self->edge[at].key = ~key;
	self->edge[at].row = cpa_row(CPA_TABLE_EDGES, row);
	return cache;
}

/* Return the slot of an activity edge; CPA_EDGE_SLOTLESS: none was free. */
static uint32_t slot_of(struct cpa_edge *edge)
{
	struct cpa_component_name name = { .kind = CPA_ACTIVITY,
					   .address = (uint64_t)edge->from << 24 ^ edge->to };
	/*
	 * Relaxed, also below: the number publishes no data, and all threads that store it store
	 * the same.
	 */
	uint32_t slot = __atomic_load_n(&edge->slot, __ATOMIC_RELAXED);

	if (!slot) {
		slot = cpa_component_slot(cpa_component_intern(&name));
		slot = slot ? slot : CPA_EDGE_SLOTLESS;
		__atomic_store_n(&edge->slot, slot, __ATOMIC_RELAXED);
	}
	return slot;
}

/* Count a noted activity; after each CPA_NOTES of them double the distance of the points. */
static void count_note(struct cpa_noting *n)
{
	uint64_t *most = &cpa_header()->note_most, old = __atomic_load_n(most, __ATOMIC_RELAXED);

	if (++n->notes % CPA_NOTES || n->note > UINT32_MAX / 2)
		return;
	n->note *= 2;
	/* Relaxed: a statistic. */
	while (old < n->note && !__atomic_compare_exchange_n(most, &old, n->note, false,
							     __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Return the ticks that a noted activity of @ticks stands for; it contains a sampling point or is
 * long.
 */
static uint64_t stands_for(struct cpa_noting *n, uint32_t id, uint64_t ticks)
{
	uint64_t all = 0;

	if (ticks >= n->note) {
		n->since -= ticks;
		return ticks;
	}
	while (n->since >= n->apart) {
		n->since -= n->apart;
		all += n->apart;
		n->apart = cpa_summary_apart(id, n->numbers++, n->note);
	}
	return all;
}

void cpa_summary_note(struct cpa_self *self, const struct cpa_edge_cache *cache, uint64_t ticks)
{
	struct cpa_edge *edge = cpa_summary_row(self, cache);
	uint32_t slot = slot_of(edge);
	uint64_t all = stands_for(&self->noting, self->id, ticks);

	if (slot != CPA_EDGE_SLOTLESS) {
		/* Relaxed: a sum. */
		__atomic_fetch_add(&edge->noted, all, __ATOMIC_RELAXED);
		cpa_path_note(self, &self->row->path, slot, all);
	}
	count_note(&self->noting);
}

void cpa_summary_carry(struct cpa_edge_cache *cache)
{
	struct cpa_edge *edge = cpa_row(CPA_TABLE_EDGES, cache->edge);

	/* Relaxed: a sum. */
	__atomic_fetch_add(&edge->count, UINT64_C(1) << 32, __ATOMIC_RELAXED);
}

void cpa_summary_flush(struct cpa_self *self)
{
	for (unsigned i = 0; self->edges && i < CPA_EDGE_CACHE; i++)
		if (self->edges[i].edge)
			flush(self, &self->edges[i]);
	memset(self->edge, 0, sizeof(self->edge));
}

/* Whether the edge with @key is one of activities, and leads to an event of the program. */
static bool is_usual(uint64_t key)
{
	const struct cpa_node *to = cpa_row(CPA_TABLE_NODES, (uint32_t)key);

	return !(key >> 63) && to->kind != CPA_EV_EXTERNAL;
}

struct cpa_edge_cache *cpa_summary_usual(struct cpa_self *self, struct cpa_edge_cache *cache)
{
	const uint32_t from = (uint32_t)(~self->edge[cache - self->edges].key >> 32);
	struct cpa_edge_cache *most = NULL;

	for (unsigned i = 0; i < CPA_EDGE_CACHE; i++) {
		uint64_t key = ~self->edge[i].key;

		if (self->edge[i].key && key >> 32 == from && is_usual(key) &&
		    (!most || self->edges[i].count > most->count))
			most = &self->edges[i];
	}
	return most ? most : cache;
}
