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
CPA_HIDDEN void cpa_range_keep(struct cpa_self *self, struct cpa_stream_found *found,
			       uint64_t *cell, uint32_t token);

/* Set found->released, when all records are kept. */
CPA_HIDDEN void cpa_range_kept(struct cpa_stream_found *found);

/* Whether the path of @token was left no earlier than that of @than. */
static inline bool cpa_range_is_later(uint32_t token, uint32_t than)
{
	return cpa_token(token)->path.released >= cpa_token(than)->path.released;
}

#endif
