/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/summary.h - the PAG summary: nodes, activity and dependency edges
 *
 * An edge's sums grow in the cache of the thread that adds to them, in its row, and go to the
 * edge's own row when another edge takes the place. Readers add both.
 *
 * What an activity edge has of the inherent and of the observed path stands in its slot. To charge
 * it at each event would be half of what a path takes: programs that synchronize all the time go
 * over some twenty edges again and again, and over a few components. So of activities shorter than
 * header.note those are noted that a point of time falls in, and stand for the time since the point
 * before: points are at random, half that much apart at least, in what time the thread has of such
 * activities. So no period of the program's meets them, each edge has what is its own in the mean,
 * and n ticks of the path are off by some sqrt(n * header.note). Reported is that part of the
 * edge's weight, which is exact, that the path has of all that was noted of the edge: off by less
 * the more of it is on the path. For a thread that doubles each CPA_NOTES times that one was noted,
 * so that what this takes, in time and in versions that objects keep, grows with the logarithm of
 * the run.
 */
#ifndef CPA_SHADOW_GRAPH_SUMMARY_H
#define CPA_SHADOW_GRAPH_SUMMARY_H

#include "shadow/store/self.h"

#define CPA_EDGE_WAYS 8u /* places that an edge may have in the cache */

/* The node of events of @kind at site row @site on objects of class row @class. 0: no space. */
CPA_HIDDEN uint32_t cpa_summary_node(enum cpa_event_kind kind, uint32_t site, uint32_t class);

/* As cpa_summary_edge(), of an edge that is not at its place in the cache. */
CPA_HIDDEN struct cpa_edge_cache *cpa_summary_edge_slow(struct cpa_self *self, uint32_t from,
							uint32_t to, bool dependency);

static inline uint64_t cpa_summary_key(uint32_t from, uint32_t to, bool dependency)
{
	return (uint64_t)dependency << 63 | (uint64_t)from << 32 | to;
}

static inline unsigned cpa_summary_place(uint64_t key)
{
	return (unsigned)(key * UINT64_C(0x9e3779b97f4a7c15) >> 32) % CPA_EDGE_CACHE;
}

/* Where in the cache the edge with @key is; CPA_EDGE_CACHE: it is not. */
static inline unsigned cpa_summary_find(const struct cpa_self *self, uint64_t key)
{
	unsigned at = cpa_summary_place(key), first = at - at % CPA_EDGE_WAYS;

	if (likely(self->edge[at].key == ~key))
		return at;
	for (unsigned i = first; i < first + CPA_EDGE_WAYS; i++)
		if (self->edge[i].key == ~key)
			return i;
	return CPA_EDGE_CACHE;
}

/* The thread's cache entry of the edge, NULL if there is no space or an end is 0. */
static inline struct cpa_edge_cache *cpa_summary_edge(struct cpa_self *self, uint32_t from,
						      uint32_t to, bool dependency)
{
	unsigned at = cpa_summary_find(self, cpa_summary_key(from, to, dependency));

	if (likely(at < CPA_EDGE_CACHE))
		return &self->edges[at];
	return cpa_summary_edge_slow(self, from, to, dependency);
}

/* What the thread's own count of an edge has no room for goes to the edge's row. */
CPA_HIDDEN void cpa_summary_carry(struct cpa_edge_cache *cache);

/* One more of the edge. */
static inline void cpa_summary_count(struct cpa_edge_cache *cache)
{
	if (unlikely(!++cache->count))
		cpa_summary_carry(cache);
}

/* The row of a cached edge. */
static inline struct cpa_edge *cpa_summary_row(const struct cpa_self *self,
					       const struct cpa_edge_cache *cache)
{
	return self->edge[cache - self->edges].row;
}

/* A number at random, of 32 bits: the @n-th of thread @id. */
static inline uint64_t cpa_summary_random(uint32_t id, uint32_t n)
{
	uint64_t mixed = (((uint64_t)id << 32 | n) + 1) * UINT64_C(0x9e3779b97f4a7c15);

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return mixed >> 32;
}

/* Ticks from one point of thread @id to the next: @note, or less by up to a half. */
static inline uint64_t cpa_summary_apart(uint32_t id, uint32_t n, uint32_t note)
{
	return note - (cpa_summary_random(id, n) * note >> 33);
}

/*
 * Thread @id begins: somewhere between two points, which are the likelier to have it between them
 * the farther they are apart.
 */
static inline void cpa_summary_begin(struct cpa_noting *noting, uint32_t id, uint32_t note)
{
	uint32_t n = 0;

	*noting = (struct cpa_noting){ .note = note };
	if (!note)
		return;
	do
		noting->apart = cpa_summary_apart(id, n++, note);
	while (cpa_summary_random(id, n++) * note >> 32 >= noting->apart);
	noting->since = cpa_summary_random(id, n++) * noting->apart >> 32;
	noting->numbers = n;
}

/* As cpa_summary_passed(), when one is due. */
CPA_HIDDEN void cpa_summary_note(struct cpa_self *self, const struct cpa_edge_cache *cache,
				 uint64_t ticks);

/* The activity of @ticks process and external time that the edge of @cache is of has ended. */
static inline void cpa_summary_passed(struct cpa_self *self, const struct cpa_edge_cache *cache,
				      uint64_t ticks)
{
	self->noting.since += ticks;
	if (unlikely(self->noting.since >= self->noting.apart))
		cpa_summary_note(self, cache, ticks);
}

/* Add what the thread's cache holds to the edges' rows, at its end. */
CPA_HIDDEN void cpa_summary_flush(struct cpa_self *self);

#endif
