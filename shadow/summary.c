/* SPDX-License-Identifier: MIT */
#include "shadow/summary.h"

#include <string.h>

#include "shadow/component.h"
#include "shadow/mix.h"
#include "shadow/table.h"

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
	struct cpa_component_name name = { .kind = CPA_ACTIVITY };

	*edge = *(const struct cpa_edge *)argument;
	if (edge->dependency)
		return; /* weighs nothing on the inherent path */
	name.address = (uint64_t)edge->from << 24 ^ edge->to;
	edge->slot = cpa_component_slot(cpa_component_intern(&name));
}

static void flush(struct cpa_edge_cache *cache)
{
	struct cpa_edge *edge = cpa_row(CPA_TABLE_EDGES, cache->edge);

	/* Relaxed: sums; nothing depends on their order. */
	__atomic_fetch_add(&edge->count, cache->count, __ATOMIC_RELAXED);
	__atomic_fetch_add(&edge->weight, cache->weight, __ATOMIC_RELAXED);
	if (cache->followed) {
		/* Relaxed: as above. */
		__atomic_fetch_add(&edge->followed, cache->followed, __ATOMIC_RELAXED);
		__atomic_fetch_add(&edge->followed_weight, cache->followed_weight,
				   __ATOMIC_RELAXED);
	}
	memset(cache, 0, sizeof(*cache));
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
	if (self->edges[at].edge && (!self->edges[at ^ 1].edge || ++self->edge_turn % 2))
		at ^= 1;
	cache = &self->edges[at];
	if (cache->edge)
		flush(cache);
	cache->edge = row;
	self->edge[at].key = ~key;
	self->edge[at].row = cpa_row(CPA_TABLE_EDGES, row);
	self->edge[at].slot = self->edge[at].row->slot;
	return cache;
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
			flush(&self->edges[i]);
	memset(self->edge, 0, sizeof(self->edge));
}
