/* SPDX-License-Identifier: MIT */
/*
 * tests/property/stream_threads.h - threads that use one stream, each at events of its own
 *
 * Include it behind THREADS, the number of threads. One session at a time.
 */
#ifndef CPA_TESTS_PROPERTY_STREAM_THREADS_H
#define CPA_TESTS_PROPERTY_STREAM_THREADS_H

#include <stdlib.h>
#include <string.h>

#include "shadow/edge/stream.h"
#include "tests/property/random.h"
#include "tests/unit/shadow_session.h"

static struct cpa_self thread[THREADS];
static uint64_t clock_now;

/* Thread @i comes to its next event, later than all others, with a longer path. */
static inline struct cpa_self *at_next_event(struct rnd *r, unsigned i)
{
	struct cpa_path *path = &thread[i].row->path;

	clock_now += 1 + rnd_below(r, 100);
	path->len += rnd_below(r, 1000);
	path->released = clock_now;
	return &thread[i];
}

/* Begin a session with all threads. Return its stream, of @kind. */
static inline struct cpa_stream *threads_begin(uint64_t key, enum cpa_stream_kind kind)
{
	if (test_session(UINT64_C(64) << 20, 64))
		abort();
	memset(thread, 0, sizeof(thread));
	clock_now = 1;
	for (uint32_t i = 0; i < THREADS; i++) {
		struct cpa_wait w = { .now = 1 };

		if (cpa_thread_begin(&thread[i], 0, i, NULL, &w))
			abort();
		thread[i].row->path.node = 1 + i;
	}
	return cpa_stream(cpa_stream_intern(key, kind, 0));
}

static inline void threads_end(struct cpa_stream *s)
{
	cpa_stream_clear(&thread[0], s);
	for (unsigned i = 0; i < THREADS; i++) {
		cpa_token_forget_spares(&thread[i]);
		cpa_version_forget_spares(&thread[i]);
	}
	test_rows_clear(&thread[0]);
	cpa_session_destroy();
}

#endif
