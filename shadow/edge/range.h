/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/range.h - the writes of a range of bytes of a stream, and the records that a read depends on
 *
 * Records, and which calls may overlap: shadow/edge/stream.h. Progress: as there.
 */
#ifndef CPA_SHADOW_EDGE_RANGE_H
#define CPA_SHADOW_EDGE_RANGE_H

#include "shadow/edge/stream.h"
#include "shadow/path/token.h"

/*
 * Pin the records of the bytes from @from to f->end. Return whether there are any. *@uncertain: several
 * writers wrote them at once.
 */
CPA_HIDDEN bool cpa_range_find(struct cpa_self *self, struct cpa_stream *s, uint64_t from,
			       struct cpa_stream_found *f, bool *uncertain);

/*
 * Add the pinned record @token in @cell to what was found. Of two records of one thread the later one is kept:
 * its path continues the path of the earlier one.
 */
CPA_HIDDEN void cpa_range_keep_more(struct cpa_self *self, struct cpa_stream_found *found,
				    uint64_t *cell, struct cpa_token *token);
static inline void cpa_range_keep(struct cpa_self *self, struct cpa_stream_found *found,
				  uint64_t *cell, struct cpa_token *token)
{
	if (unlikely(found->count)) {
		cpa_range_keep_more(self, found, cell, token);
		return;
	}
	found->from[0].cell = cell;
	found->from[0].token = token;
	found->count = 1;
	found->released = token->path.released;
}

/* Whether the path of @token was left no earlier than that of @than. */
static inline bool cpa_range_is_later(const struct cpa_token *token, const struct cpa_token *than)
{
	return token->path.released >= than->path.released;
}

#endif
