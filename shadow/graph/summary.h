/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/summary.h - the PAG summary: nodes, activity and dependency edges
 *
 * An edge's sums grow in the cache in the row of the thread that adds to them; they are added to
 * the edge's own row when another edge takes the cache entry. Readers add both.
 *
 * An activity edge's share of the inherent and of the observed path is in the edge's slot. Charging
 * it at each event would cost half as much as the path itself: programs that synchronize constantly
 * repeat some twenty edges and a few components. So of activities shorter than header.note only
 * those are noted that contain a sampling point; each stands for the time since the previous point.
 * Points are at random distances, between half of `note` and all of it, in the thread's time in
 * such activities. Thus no period in the program coincides with them, each edge gets its proper
 * share on average, and n ticks of the path have an error of about sqrt(n * header.note). The
 * report multiplies the edge's weight, which is exact, by the path's fraction of all that was noted
 * of the edge; the more of the edge is on the path, the smaller the error. A thread doubles its
 * `note` after each CPA_NOTES noted activities, so the cost, in time and in versions that objects
 * keep, grows with the logarithm of the run time.
 */
#ifndef CPA_SHADOW_GRAPH_SUMMARY_H
#define CPA_SHADOW_GRAPH_SUMMARY_H

#include "shadow/store/hash.h"
#include "shadow/store/self.h"

#define CPA_EDGE_WAYS 8u /* cache entries in which an edge may be */

/*
 * Return the node for events of @kind at site row @site on objects of class row @class. 0: no
 * space.
 */
CPA_HIDDEN uint32_t cpa_summary_node(enum cpa_event_kind kind, uint32_t site, uint32_t class);

/* As cpa_summary_edge(), for an edge that is not in the cache. */
CPA_HIDDEN struct cpa_edge_cache *cpa_summary_edge_slow(struct cpa_self *self, uint32_t from,
							uint32_t to, bool dependency);

static inline uint64_t cpa_summary_key(uint32_t from, uint32_t to, bool dependency)
{
	return (uint64_t)dependency << 63 | (uint64_t)from << 32 | to;
}

static inline unsigned cpa_summary_place(uint64_t key)
{
	return (unsigned)(cpa_hash(key) >> 32) % CPA_EDGE_CACHE;
}

/* Return the index in the cache of the edge with @key; CPA_EDGE_CACHE: not there. */
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

/* Return the thread's cache entry of the edge; NULL: no space, or @from or @to is 0. */
static inline struct cpa_edge_cache *cpa_summary_edge(struct cpa_self *self, uint32_t from,
						      uint32_t to, bool dependency)
{
	unsigned at = cpa_summary_find(self, cpa_summary_key(from, to, dependency));

	if (likely(at < CPA_EDGE_CACHE))
		return &self->edges[at];
	return cpa_summary_edge_slow(self, from, to, dependency);
}

/* Add a cache entry's count to the edge's row, because it overflowed. */
CPA_HIDDEN void cpa_summary_carry(struct cpa_edge_cache *cache);

/* Count one more use of the edge. */
static inline void cpa_summary_count(struct cpa_edge_cache *cache)
{
	if (unlikely(!++cache->count))
		cpa_summary_carry(cache);
}

/*
 * Of the thread's cached activity edges from the node where that of @cache begins, return the one that was passed most
 * often and leads to an event of the program; @cache: there is none.
 */
CPA_HIDDEN struct cpa_edge_cache *cpa_summary_usual(struct cpa_self *self,
						    struct cpa_edge_cache *cache);

/* Return the row of a cached edge. */
static inline struct cpa_edge *cpa_summary_row(const struct cpa_self *self,
					       const struct cpa_edge_cache *cache)
{
	return self->edge[cache - self->edges].row;
}

/* Return the @n-th random number, of 32 bits, of thread @id. */
static inline uint64_t cpa_summary_random(uint32_t id, uint32_t n)
{
	uint64_t mixed = cpa_hash(((uint64_t)id << 32 | n) + 1);

	mixed = (mixed ^ mixed >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return mixed >> 32;
}

/*
 * Return the ticks from one sampling point of thread @id to the next: between @note / 2 and @note.
 */
static inline uint64_t cpa_summary_apart(uint32_t id, uint32_t n, uint32_t note)
{
	return note - (cpa_summary_random(id, n) * note >> 33);
}

/*
 * Thread @id begins somewhere between two points; the probability of an interval grows with its
 * length.
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

/* As cpa_summary_passed(), when a sampling point is due. */
CPA_HIDDEN void cpa_summary_note(struct cpa_self *self, const struct cpa_edge_cache *cache,
				 uint64_t ticks);

/* An activity on the edge of @cache ended, after @ticks of process and external time. */
static inline void cpa_summary_passed(struct cpa_self *self, const struct cpa_edge_cache *cache,
				      uint64_t ticks)
{
	self->noting.since += ticks;
	if (unlikely(self->noting.since >= self->noting.apart))
		cpa_summary_note(self, cache, ticks);
}

/* Add the thread's cache to the rows of the edges; called at the thread's end. */
CPA_HIDDEN void cpa_summary_flush(struct cpa_self *self);

#endif
