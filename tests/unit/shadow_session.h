/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/shadow_session.h - a session in memory for tests of shadow/, and its heap's live bytes
 */
#ifndef CPA_TESTS_SHADOW_SESSION_H
#define CPA_TESTS_SHADOW_SESSION_H

#include <stdio.h>

#include "shadow/checkpoint.h"
#include "shadow/component.h"
#include "shadow/heap.h"
#include "shadow/path.h"
#include "shadow/search.h"
#include "shadow/thread.h"
#include "shadow/token.h"

/* See shadow/heap.c. */
int cpa_je_mallctl(const char *name, void *old, size_t *old_size, void *new, size_t new_size);

/* Return 0 or -errno. */
static inline int test_session(uint64_t limit, uint32_t slots)
{
	int ret = cpa_session_create(NULL, limit, slots);

	if (ret)
		return ret;
	ret = cpa_heap_init();
	cpa_component_init();
	cpa_search_reset();
	cpa_token_reset();
	return ret;
}

/* Bytes allocated and not freed in the newest session's heap. */
static inline uint64_t test_heap_live(void)
{
	static const char *const kind[] = { "small", "large" };
	uint64_t epoch = 1, live = 0;
	size_t size = sizeof(epoch), value;
	unsigned arenas;
	char name[64];

	cpa_je_mallctl("epoch", &epoch, &size, &epoch, sizeof(epoch));
	size = sizeof(arenas);
	if (cpa_je_mallctl("arenas.narenas", &arenas, &size, NULL, 0))
		return UINT64_MAX;
	for (int i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "stats.arenas.%u.%s.allocated", arenas - 1, kind[i]);
		size = sizeof(value);
		if (cpa_je_mallctl(name, &value, &size, NULL, 0))
			return UINT64_MAX;
		live += value;
	}
	return live;
}

/* Free what thread rows keep. No thread may use them any more. */
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
		row->totals = row->totals_slots = row->held_external = 0;
	}
	cpa_version_forget_spares(self);
}

#endif
