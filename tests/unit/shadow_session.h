/* SPDX-License-Identifier: MIT */
/* tests/unit/shadow_session.h - a session in memory for tests of shadow/, and its clean-up */
#ifndef CPA_TESTS_SHADOW_SESSION_H
#define CPA_TESTS_SHADOW_SESSION_H

#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/store/heap.h"
#include "shadow/path/path.h"
#include "shadow/graph/search.h"
#include "shadow/edge/thread.h"
#include "shadow/path/token.h"

/* Return 0 or -errno. */
static inline int test_session(uint64_t limit, uint32_t slots)
{
	int ret = cpa_session_create(NULL, limit, slots);

	if (ret)
		return ret;
	cpa_search_reset();
	return cpa_component_init();
}

static inline void test_edges_clear(struct cpa_edge_caches *caches)
{
	for (unsigned i = 0; i < CPA_EDGE_CACHE; i++)
		if (caches->mixes[i])
			cpa_heap_free(cpa_at(caches->mixes[i]));
	cpa_heap_free(caches);
}

/* Free the memory that thread rows hold. No thread may use them any more. */
static inline void test_rows_clear(struct cpa_self *self)
{
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_THREADS)->used; i++) {
		struct cpa_thread *row = cpa_row(CPA_TABLE_THREADS, i);

		cpa_path_clear(self, &row->path);
		cpa_path_clear(self, &row->retired);
		cpa_checkpoint_forget(self, row);
		if (row->totals)
			cpa_heap_free(cpa_at(row->totals));
		if (row->held_external)
			cpa_heap_free(cpa_at(row->held_external));
		if (row->edges)
			test_edges_clear(cpa_at(row->edges));
		row->edges = 0;
		row->totals = row->totals_slots = row->held_external = 0;
	}
	cpa_version_forget_spares(self);
}

#endif
