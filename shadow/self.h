/* SPDX-License-Identifier: MIT */
/*
 * shadow/self.h - the private side of a profiled thread
 *
 * What a thread needs to work on shared state and nobody else may see. The preload library keeps
 * it in thread-local storage; tests keep several. Only its thread uses it.
 */
#ifndef CPA_SHADOW_SELF_H
#define CPA_SHADOW_SELF_H

#include "shadow/session.h"

#define CPA_SPARE_VERSIONS 4
#define CPA_NODE_CACHE	   64

struct cpa_self {
	struct cpa_thread *row;
	uint32_t number; /* of the row */
	uint32_t id;	 /* of the thread, never used again: rows are. From 1 */
	/* Versions given back and not yet needed: a join drops one and wants one. */
	uint32_t spare_count;
	struct cpa_version *spare[CPA_SPARE_VERSIONS];
	/* Free tokens, linked through free_next. */
	struct cpa_token *free_tokens;
	uint32_t free_token_count;
	/* The keys of the row's edge cache, and nodes found lately. */
	uint64_t edge_key[CPA_EDGE_CACHE];
	struct {
		uint64_t key;
		uint32_t row;
	} node_cache[CPA_NODE_CACHE];
};

#endif
