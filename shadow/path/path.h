/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/path.h - the algebra of paths (design 3; Online CP, Fig. 2 and 4, all components at once)
 *
 * A path is a length and three vectors, S, H and O, over the component slots. The vectors live in
 * immutable, counted versions, O in one of its own: a join that no wait came before goes on with
 * the longer path's S and H, and with its own O. What was added since stands in the path itself as
 * a few deltas. A release is thus a copy of three cache lines, whatever the number of components.
 *
 *               add  copy  join  clear     on the same path: never two at once. The owner of a
 *                                          path is its thread, or who holds the lock it is of.
 *
 * V1  A version is not written after the first path that names it was published; but its owner's path may
 *     add to H and O (cpa_path_note) while no other names it, and readers of that path wait for it.
 * V2  refs is the number of paths that name the version, plus references in flight. It changes
 *     only when a path's version changes; who adds one holds one, or excludes the holder.
 * V3  S[c] <= L for every slot, and S, H, O of slots beyond version->slots are 0.
 * V4  No s, h or o of a delta is more than `most`, which is 2 * CPA_DELTA_MOST at most: who has added
 *     to that may add to each slot.
 *
 * No memory: the deltas that did not fit are dropped, counted in CPA_DIAG_VERSIONS_REFUSED.
 */
#ifndef CPA_SHADOW_PATH_PATH_H
#define CPA_SHADOW_PATH_PATH_H

#include <string.h>

#include "shadow/path/version.h"

enum cpa_vector { CPA_S, CPA_H, CPA_O };

#define CPA_DELTA_MOST ((1 << 30) - 1) /* of an addition to deltas */

/* {slot, s, h, o} of a delta, to be added to and compared at one stroke. */
typedef int32_t cpa_lanes __attribute__((vector_size(sizeof(struct cpa_delta)), may_alias));

/* As cpa_path_add_lanes(), to a delta that need not be there. */
CPA_HIDDEN void cpa_path_add_slow(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
				  uint64_t ticks);

/* As cpa_path_reserve(), when that finds no room. */
CPA_HIDDEN void cpa_path_reserve_slow(struct cpa_self *self, struct cpa_path *path, uint64_t ticks);

/* Add to a slot what no delta holds. */
CPA_HIDDEN void cpa_path_add_large(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
				   uint64_t ticks);

/* What adds @ticks, CPA_DELTA_MOST at most, to a delta. */
static inline cpa_lanes cpa_path_lanes(uint64_t ticks)
{
	int32_t t = (int32_t)ticks;

	return (cpa_lanes){ t, t, t, t } & (cpa_lanes){ 0, -1, -1, -1 };
}

/* Whether @path has room for another @ticks in each slot (V4); if so they are reserved. */
static inline bool cpa_path_has_room(struct cpa_path *path, uint64_t ticks)
{
	uint64_t most = path->most + ticks;

	if (unlikely(most > 2 * (uint64_t)CPA_DELTA_MOST))
		return false;
	path->most = most;
	return true;
}

/* Reserve room for @ticks, CPA_DELTA_MOST at most, in each slot of @path. */
static inline void cpa_path_reserve(struct cpa_self *self, struct cpa_path *path, uint64_t ticks)
{
	if (unlikely(!cpa_path_has_room(path, ticks)))
		cpa_path_reserve_slow(self, path, ticks);
}

/*
 * Add @ticks, which have been reserved, to S, H and O of @slot; @more: their lanes. L and the
 * observed kinds are the caller's to add.
 */
static inline void cpa_path_add_lanes(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
				      uint64_t ticks, cpa_lanes more)
{
	size_t at = self->delta_at[slot % sizeof(self->delta_at)];
	struct cpa_delta *d = path->delta + at;

	if (unlikely(d->slot != slot))
		cpa_path_add_slow(self, path, slot, ticks);
	else
		*(cpa_lanes *)d += more;
}

/*
 * Add @ticks to H and O of @slot, not to S. What has been reserved stays so. @path is a thread's
 * own, between cpa_writing() and cpa_written(). No memory: they are dropped.
 */
CPA_HIDDEN void cpa_path_note(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
			      uint64_t ticks);

static inline void cpa_path_add(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
				uint64_t ticks)
{
	if (unlikely(ticks > CPA_DELTA_MOST)) {
		cpa_path_add_large(self, path, slot, ticks);
		return;
	}
	cpa_path_reserve(self, path, ticks);
	cpa_path_add_lanes(self, path, slot, ticks, cpa_path_lanes(ticks));
}

/* Let @to be @from. */
CPA_HIDDEN void cpa_path_copy(struct cpa_self *self, struct cpa_path *to,
			      const struct cpa_path *from);

/* Let @to name the versions of S and H of @from, and of O of @seen. */
CPA_HIDDEN void cpa_path_take_versions(struct cpa_self *self, struct cpa_path *to,
				       const struct cpa_path *from, const struct cpa_path *seen);

/* Whether self->delta_at tells of @path. */
static inline bool cpa_path_is_own(const struct cpa_self *self, const struct cpa_path *path)
{
	return self->row && path == &self->row->path;
}

/* How many deltas @path has. */
static inline unsigned cpa_path_deltas(const struct cpa_self *self, const struct cpa_path *path)
{
	unsigned n = 0;

	if (likely(cpa_path_is_own(self, path)))
		return self->deltas;
	while (n < CPA_PATH_DELTAS && path->delta[n].slot)
		n++;
	return n;
}

/*
 * As cpa_path_copy(), by cache lines, to a path that is only published and read: what it had behind
 * its first unused delta may stay there.
 */
static inline void cpa_path_publish(struct cpa_self *self, struct cpa_path *to,
				    const struct cpa_path *from)
{
	unsigned n = cpa_path_deltas(self, from);
	/* With the first unused delta, if there is one. */
	const struct cpa_delta *end = &from->delta[n < CPA_PATH_DELTAS ? n : CPA_PATH_DELTAS - 1];
	const char *f = (const char *)from;
	const char *last = f + ((const char *)end - f) / CPA_CACHE_LINE * CPA_CACHE_LINE;
	char *t = (char *)to;
	if (unlikely(to->version != from->version ||
		     to->observed_version != from->observed_version))
		cpa_path_take_versions(self, to, from, from);
	memcpy(t, f, CPA_CACHE_LINE);
	while (f != last) {
		t += CPA_CACHE_LINE;
		f += CPA_CACHE_LINE;
		memcpy(t, f, CPA_CACHE_LINE);
	}
}

/*
 * Let @local be the join with @remote: the longer one, the local one on a tie, with the slack that
 * the other leaves. O and the observed kinds become those of @remote if @observed, else stay.
 * Return true if @remote was longer.
 */
CPA_HIDDEN bool cpa_path_join(struct cpa_self *self, struct cpa_path *local,
			      const struct cpa_path *remote, bool observed);

/* Let O and the observed kinds of @local become those of @remote; L, S and H stay. */
CPA_HIDDEN void cpa_path_observe(struct cpa_self *self, struct cpa_path *local,
				 const struct cpa_path *remote);

/* Let @path, a published one, be fit for joins into it. */
CPA_HIDDEN void cpa_path_tidy(struct cpa_path *path);

/* Let @path hold no versions, nor be anybody's. */
CPA_HIDDEN void cpa_path_drop(struct cpa_self *self, struct cpa_path *path);

/* Let @path be empty, as at the start of the program. */
CPA_HIDDEN void cpa_path_clear(struct cpa_self *self, struct cpa_path *path);

/* Copy @v to @to[@slots]: a multiple of 8, and all that any path has. */
CPA_HIDDEN void cpa_path_read(const struct cpa_path *path, enum cpa_vector v, uint64_t *to,
			      uint32_t slots);

/* One value; for tests. */
CPA_HIDDEN uint64_t cpa_path_value(const struct cpa_path *path, enum cpa_vector v, uint32_t slot);

#endif
