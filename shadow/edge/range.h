/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/range.h - the writes of a range of bytes of a stream
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

/* Whether the path of @token was left no earlier than that of @than. */
static inline bool cpa_range_is_later(uint32_t token, uint32_t than)
{
	return cpa_token(token)->path.released >= cpa_token(than)->path.released;
}

#endif
