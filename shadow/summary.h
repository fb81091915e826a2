/* SPDX-License-Identifier: MIT */
/*
 * shadow/summary.h - the PAG summary: nodes, activity and dependency edges
 *
 * An edge's sums grow in the cache of the thread that adds to them, in its row, and go to the
 * edge's own row when another edge takes the place. Readers add both.
 */
#ifndef CPA_SHADOW_SUMMARY_H
#define CPA_SHADOW_SUMMARY_H

#include "shadow/self.h"

/* The node of events of @kind at site row @site on objects of class row @class. 0: no space. */
CPA_HIDDEN uint32_t cpa_summary_node(struct cpa_self *self, enum cpa_event_kind kind, uint32_t site,
				     uint32_t class);

/* The thread's cache entry of the edge, NULL if there is no space or an end is 0. */
CPA_HIDDEN struct cpa_edge_cache *cpa_summary_edge(struct cpa_self *self, uint32_t from,
						   uint32_t to, bool dependency);

/* The row of a cached edge. */
static inline struct cpa_edge *cpa_summary_row(const struct cpa_self *self,
					       const struct cpa_edge_cache *cache)
{
	return self->edge_row[cache - self->row->edges];
}

/* Add what the thread's cache holds to the edges' rows, at its end. */
CPA_HIDDEN void cpa_summary_flush(struct cpa_self *self);

#endif
