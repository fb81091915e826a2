/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/path.h - the algebra of paths (design 3; Online CP, Fig. 2 and 4, all components at
 * once)
 *
 * A path is a length and three vectors, S, H and O, over the component slots, in ticks. The vectors
 * live in immutable, reference-counted versions, with O in a version of its own: after a join
 * without a wait the path continues with S and H of the longer path and with its own O. Additions
 * since the version was made are a few deltas in the path itself. A release therefore copies about
 * three cache lines, whatever the number of components.
 *
 * Exclusion: calls that change one path (add, copy, join, clear) must not overlap. A path is owned
 * by its thread, or by the holder of the lock that it belongs to.
 *
 * V1  A version is not written after the first path that names it was published. Exception: while
 * only its owner's path names it, that path may add to H and O (cpa_path_note); readers of the path
 * wait meanwhile.
 * V2  refs is the number of paths that name the version, plus references in flight. It changes only
 * when a path changes its version. A thread that adds a reference holds one already, or excludes
 * the holder of one.
 * V3  S[c] <= L for every slot, and S, H and O of slots beyond version->slots are 0.
 * V4  No s, h or o of a delta exceeds `most`, which is at most 2 * CPA_DELTA_MOST. After adding
 * ticks to `most`, its owner may add as many to each slot.
 *
 * Without memory the deltas that do not fit are dropped and counted in CPA_DIAG_VERSIONS_REFUSED.
 */
#ifndef CPA_SHADOW_PATH_PATH_H
#define CPA_SHADOW_PATH_PATH_H

#include <string.h>

#include "shadow/path/version.h"
#include "shadow/store/unseen.h"

enum cpa_vector { CPA_S, CPA_H, CPA_O };

#define CPA_DELTA_MOST ((1 << 30) - 1) /* largest addition to a delta, ticks */

/* A delta {slot, s, h, o} as a vector, to be added and compared in one operation. */
typedef int32_t cpa_lanes __attribute__((vector_size(sizeof(struct cpa_delta)), may_alias));

/* As cpa_path_add_lanes(), but the slot need not have a delta. */
CPA_HIDDEN void cpa_path_add_slow(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
				  uint64_t ticks);

/* As cpa_path_reserve(), but for a path without room for @ticks. */
CPA_HIDDEN void cpa_path_reserve_slow(struct cpa_self *self, struct cpa_path *path, uint64_t ticks);

/* Add more than CPA_DELTA_MOST @ticks to S, H and O of @slot. */
CPA_HIDDEN void cpa_path_add_large(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
				   uint64_t ticks);

/* Length of the observed path, ticks. Others may read a path that its thread goes on with: part.c. */
CPA_UNSEEN static inline uint64_t cpa_path_observed(const struct cpa_path *path)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < CPA_TIME_KINDS; i++)
		sum += path->observed[i];
	return sum;
}

/* Return the vector that adds @ticks, at most CPA_DELTA_MOST, to s, h and o of a delta. */
static inline cpa_lanes cpa_path_lanes(uint64_t ticks)
{
	int32_t t = (int32_t)ticks;

	return (cpa_lanes){ t, t, t, t } & (cpa_lanes){ 0, -1, -1, -1 };
}

/*
 * Reserve @ticks in each slot of @path (V4). Return false, reserving nothing, if there is no room.
 */
static inline bool cpa_path_has_room(struct cpa_path *path, uint64_t ticks)
{
	uint64_t most = path->most + ticks;

	if (unlikely(most > 2 * (uint64_t)CPA_DELTA_MOST))
		return false;
	path->most = (uint32_t)most;
	return true;
}

/* Reserve @ticks, at most CPA_DELTA_MOST, in each slot of @path; makes room if necessary. */
static inline void cpa_path_reserve(struct cpa_self *self, struct cpa_path *path, uint64_t ticks)
{
	if (unlikely(!cpa_path_has_room(path, ticks)))
		cpa_path_reserve_slow(self, path, ticks);
}

/*
 * Add @ticks, which must be reserved, to S, H and O of @slot; @more is cpa_path_lanes(@ticks). The
 * caller adds to L and to the observed kinds.
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
 * Add @ticks to H and O of @slot, but not to S. Reserved ticks stay reserved. @path must be the
 * thread's own, between cpa_writing() and cpa_written(). Without memory the ticks are dropped.
 */
CPA_HIDDEN void cpa_path_note(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
			      uint64_t ticks);

/* Add @ticks to O of @slot alone. As cpa_path_note() otherwise. */
CPA_HIDDEN void cpa_path_see(struct cpa_self *self, struct cpa_path *path, uint32_t slot,
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

/* Make @to a copy of @from. */
CPA_HIDDEN void cpa_path_copy(struct cpa_self *self, struct cpa_path *to,
			      const struct cpa_path *from);

/* Make @to name the S and H version of @from and the O version of @seen. */
CPA_HIDDEN void cpa_path_take_versions(struct cpa_self *self, struct cpa_path *to,
				       const struct cpa_path *from, const struct cpa_path *seen);

/* Return whether @path is the thread's own path, which self->delta_at indexes. */
static inline bool cpa_path_is_own(const struct cpa_self *self, const struct cpa_path *path)
{
	return self->row && path == &self->row->path;
}

/* Return the number of deltas in @path. */
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
 * As cpa_path_copy(), but in whole cache lines, for a @to that is only published and read: stale
 * deltas may remain behind its first unused one.
 */
static inline void cpa_path_publish(struct cpa_self *self, struct cpa_path *to,
				    const struct cpa_path *from)
{
	unsigned n = cpa_path_deltas(self, from);
	/* Includes the first unused delta, if there is one. */
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
 * Join @remote into @local: @local becomes the longer path (itself on a tie), with the smaller
 * slack where the other leaves less. If @observed, O and the observed kinds become those of
 * @remote; otherwise they stay. Return true if @remote was longer.
 */
CPA_HIDDEN bool cpa_path_join(struct cpa_self *self, struct cpa_path *local,
			      const struct cpa_path *remote, bool observed);

/* Replace O and the observed kinds of @local by those of @remote; L, S and H stay. */
CPA_HIDDEN void cpa_path_observe(struct cpa_self *self, struct cpa_path *local,
				 const struct cpa_path *remote);

/* Prepare the published path @path for joins into it: clear its stale deltas. */
CPA_HIDDEN void cpa_path_tidy(struct cpa_path *path);

/* Give back the versions of @path and clear its owner. */
CPA_HIDDEN void cpa_path_drop(struct cpa_self *self, struct cpa_path *path);

/* Make @path empty, as at the start of the program. */
CPA_HIDDEN void cpa_path_clear(struct cpa_self *self, struct cpa_path *path);

/*
 * Copy vector @v of @path to @to[@slots]; @slots is a multiple of 8 and covers all slots of any
 * path.
 */
CPA_HIDDEN void cpa_path_read(const struct cpa_path *path, enum cpa_vector v, uint64_t *to,
			      uint32_t slots);

/* Return one value of vector @v, ticks; for tests. */
CPA_HIDDEN uint64_t cpa_path_value(const struct cpa_path *path, enum cpa_vector v, uint32_t slot);

#endif
