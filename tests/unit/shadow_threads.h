/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/shadow_threads.h - a session with a few threads, each with a clock and a path length
 */
#ifndef CPA_TESTS_SHADOW_THREADS_H
#define CPA_TESTS_SHADOW_THREADS_H

#include <string.h>

#include "tests/unit/shadow_session.h"

#define THREADS 6

static struct cpa_self t[THREADS];

static inline int threads_setup(void **state)
{
	int ret = test_session(UINT64_C(64) << 20, 64);

	(void)state;
	memset(t, 0, sizeof(t));
	for (uint32_t i = 0; i < THREADS && !ret; i++) {
		struct cpa_wait w = { .now = 1 };

		ret = cpa_thread_begin(&t[i], 0, i, NULL, &w);
		t[i].row->path.node = 100 + i;
	}
	return ret;
}

/* All tokens are free again: all of them can be taken without a new row. */
static inline int threads_teardown(void **state)
{
	uint32_t tokens;

	(void)state;
	for (int i = 1; i < THREADS; i++)
		cpa_token_forget_spares(&t[i]);
	tokens = cpa_table(CPA_TABLE_TOKENS)->used;
	for (uint32_t i = 0; i < tokens; i++)
		cpa_token_new(&t[0], NULL);
	if (cpa_table(CPA_TABLE_TOKENS)->used != tokens)
		return -1;
	for (int i = 0; i < THREADS; i++)
		cpa_version_forget_spares(&t[i]);
	test_rows_clear(&t[0]);
	if (cpa_heap_live())
		return -1;
	cpa_session_destroy();
	return 0;
}

/* Put thread @i at clock @now, with a path of length @len. */
static inline struct cpa_self *at(int i, uint64_t now, uint64_t len)
{
	t[i].row->path.released = now;
	t[i].row->path.len = len;
	return &t[i];
}

static inline uint32_t from(const struct cpa_wait *w)
{
	return w->from ? w->from - 100 : UINT32_MAX;
}

#endif
