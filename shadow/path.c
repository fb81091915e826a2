/* SPDX-License-Identifier: MIT */
#include "shadow/path.h"

#include <string.h>

#include "shadow/heap.h"

#define ROUND CPA_VERSION_BLOCK /* versions have a multiple of this many slots */
#define FAR   (UINT64_C(1) << 62)

/* Let @path have its first @n deltas. */
static void end_deltas(struct cpa_path *path, unsigned n)
{
	for (; n < CPA_PATH_DELTAS && path->delta[n].slot; n++)
		path->delta[n].slot = 0;
}

static unsigned deltas_of(const struct cpa_path *path)
{
	unsigned n = 0;

	while (n < CPA_PATH_DELTAS && path->delta[n].slot)
		n++;
	return n;
}

static struct cpa_version *version_of(const struct cpa_path *path)
{
	return path->version ? cpa_at(path->version) : NULL;
}

static struct cpa_version *version_new(struct cpa_self *self, uint32_t slots)
{
	struct cpa_version *v;

	self->slow++;
	for (uint32_t i = self->spare_count; i-- > 0;) {
		v = self->spare[i];
		if (v->slots == slots) {
			self->spare[i] = self->spare[--self->spare_count];
			v->refs = 1;
			return v;
		}
	}
	v = cpa_heap_alloc(cpa_version_size(slots));
	if (!v) {
		cpa_diag(CPA_DIAG_VERSIONS_REFUSED);
		return NULL;
	}
	v->slots = slots;
	v->refs = 1;
	return v;
}

static void version_get(struct cpa_version *v)
{
	/* Relaxed: who takes a reference has one, or excludes the one who has (V2). */
	__atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
}

static void version_put(struct cpa_self *self, struct cpa_version *v)
{
	/* A reference that is the only one needs no atomic operation: nobody can add one. */
	/* ACQUIRE/RELEASE: all reads of v through dropped references precede its next use. */
	if (__atomic_load_n(&v->refs, __ATOMIC_ACQUIRE) != 1 &&
	    __atomic_fetch_sub(&v->refs, 1, __ATOMIC_ACQ_REL) != 1)
		return;
	if (self->spare_count == CPA_SPARE_VERSIONS) {
		cpa_heap_free(self->spare[0]);
		self->spare[0] = self->spare[--self->spare_count];
	}
	self->spare[self->spare_count++] = v;
}

/* Let @path name @v, whose reference it takes over. */
static void set_version(struct cpa_self *self, struct cpa_path *path, struct cpa_version *v)
{
	struct cpa_version *old = version_of(path);

	path->version = v ? cpa_offset(v) : 0;
	if (old)
		version_put(self, old);
}

static uint32_t slots_needed(const struct cpa_path *path)
{
	const struct cpa_version *v = version_of(path);
	uint32_t n = v ? v->slots : 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot >= n)
			n = path->delta[i].slot + 1;
	return (n + ROUND - 1) / ROUND * ROUND;
}

static int64_t field(const struct cpa_delta *d, enum cpa_vector v)
{
	return v == CPA_S ? d->s : v == CPA_H ? d->h : d->o;
}

/* Copy vector @v of @path to @to[@slots], deltas added. */
static void materialize(const struct cpa_path *path, enum cpa_vector v, uint64_t *to,
			uint32_t slots)
{
	const struct cpa_version *from = version_of(path);
	uint32_t have = from ? from->slots : 0;

	if (from)
		memcpy(to, from->value + v * have, have * sizeof(*to));
	memset(to + have, 0, (slots - have) * sizeof(*to));
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		to[path->delta[i].slot] += (uint64_t)field(&path->delta[i], v);
}

/* The slack of @v is complete: note how much there is, at most. */
static void note_slack(struct cpa_version *v)
{
	uint64_t *most = v->value + 3 * v->slots;

	v->max_slack = 0;
	for (uint32_t i = 0; i < v->slots; i += ROUND) {
		uint64_t max = 0;

		for (uint32_t k = i; k < i + ROUND; k++)
			max = v->value[k] > max ? v->value[k] : max;
		most[i / ROUND] = max;
		v->max_slack = max > v->max_slack ? max : v->max_slack;
	}
}

/* Move the deltas of @path into a version of its own, with room for @slot. NULL: they are lost. */
static struct cpa_version *fold(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	uint32_t n = slots_needed(path);
	struct cpa_version *v;

	if (slot >= n)
		n = slot / ROUND * ROUND + ROUND;
	v = version_new(self, n);
	if (v) {
		materialize(path, CPA_S, v->value, n);
		materialize(path, CPA_H, v->value + n, n);
		materialize(path, CPA_O, v->value + 2 * n, n);
		note_slack(v);
		set_version(self, path, v);
	}
	end_deltas(path, 0);
	return v;
}

/* Where in @path the delta of @slot is, or would be; CPA_PATH_DELTAS: nowhere, all are taken. */
static unsigned place_of(const struct cpa_self *self, const struct cpa_path *path, uint32_t slot)
{
	unsigned i = self->delta_at[slot % sizeof(self->delta_at)];

	if (likely(path->delta[i].slot == slot))
		return i;
	for (i = 0; i < CPA_PATH_DELTAS && path->delta[i].slot && path->delta[i].slot != slot; i++)
		;
	return i;
}

/* The delta of @slot, a new one if need be. NULL: all are taken. */
static struct cpa_delta *delta_of(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	unsigned i = place_of(self, path, slot);

	if (i == CPA_PATH_DELTAS)
		return NULL;
	self->delta_at[slot % sizeof(self->delta_at)] = (uint8_t)i;
	if (!path->delta[i].slot)
		path->delta[i] = (struct cpa_delta){ .slot = slot };
	return &path->delta[i];
}

static bool has_room(const struct cpa_delta *d)
{
	return d && d->s <= CPA_DELTA_MOST && d->h <= CPA_DELTA_MOST && d->o <= CPA_DELTA_MOST;
}

/* Add to a version that no other path names yet. */
static void add_to_version(struct cpa_version *v, uint32_t slot, uint64_t ticks)
{
	if (!v)
		return;
	for (unsigned k = CPA_S; k <= CPA_O; k++)
		v->value[k * v->slots + slot] += ticks;
	note_slack(v);
}

void cpa_path_add_slow(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	struct cpa_delta *d;

	if (unlikely(!ticks))
		return;
	if (unlikely(ticks > CPA_DELTA_MOST)) {
		add_to_version(fold(self, path, slot), slot, ticks);
		return;
	}
	d = delta_of(self, path, slot);
	if (unlikely(!has_room(d))) {
		fold(self, path, slot);
		d = delta_of(self, path, slot);
	}
	d->s += (int32_t)ticks;
	d->h += (int32_t)ticks;
	d->o += (int32_t)ticks;
}

void cpa_path_take_version(struct cpa_self *self, struct cpa_path *to, const struct cpa_path *from)
{
	struct cpa_version *v = version_of(from);

	if (v)
		version_get(v);
	set_version(self, to, v);
}

void cpa_path_copy(struct cpa_self *self, struct cpa_path *to, const struct cpa_path *from)
{
	unsigned i = 0;

	if (to->version != from->version)
		cpa_path_take_version(self, to, from);
	memcpy(to, from, offsetof(struct cpa_path, delta));
	while (i < CPA_PATH_DELTAS && from->delta[i].slot) {
		*(cpa_lanes *)&to->delta[i] = *(const cpa_lanes *)&from->delta[i];
		i++;
	}
	end_deltas(to, i);
}

/* Whether no slot of @path has more slack than @most. It may say no too often. */
static bool slack_within(const struct cpa_path *path, uint64_t most)
{
	const struct cpa_version *v = version_of(path);
	uint64_t base = v ? v->max_slack : 0;

	if (base > most)
		return false;
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].s > 0 && (uint64_t)path->delta[i].s > most - base)
			return false;
	return true;
}

/* Without memory for a version: the longer path as it is, whose slack is then an upper bound. */
static void take_longer(struct cpa_self *self, struct cpa_path *local,
			const struct cpa_path *remote, bool observed)
{
	const struct cpa_path before = *local;

	if (remote->len > local->len)
		cpa_path_copy(self, local, remote);
	memcpy(local->observed, (observed ? remote : &before)->observed, sizeof(local->observed));
	local->released = before.released;
	local->owner = before.owner;
	local->node = before.node;
}

/* Two paths on their way to become one. */
struct joint {
	const struct cpa_path *local, *remote;
	const struct cpa_path *winner, *loser, *seen; /* which is which; O comes from the last */
	const struct cpa_version *base, *other;	      /* of winner and loser; NULL: all zero */
	uint64_t distance;			      /* of loser to winner */
	uint64_t looked_at[4];			      /* slots with a delta; bits modulo 256 */
	struct cpa_delta delta[CPA_PATH_DELTAS];      /* the result, over the winner's version */
	unsigned n;
};

/* Add a delta to the result. False: there is no room. */
static inline bool put(struct joint *j, uint32_t slot, int64_t s, int64_t h, int64_t o)
{
	if (!s && !h && !o)
		return true;
	if (j->n == CPA_PATH_DELTAS || s != (int32_t)s || h != (int32_t)h || o != (int32_t)o)
		return false;
	j->delta[j->n++] = (struct cpa_delta){ slot, (int32_t)s, (int32_t)h, (int32_t)o };
	return true;
}

static uint64_t value_in(const struct cpa_version *v, enum cpa_vector k, uint32_t slot)
{
	return v && slot < v->slots ? v->value[k * v->slots + slot] : 0;
}

/* How much more the loser's version has than the winner's. */
static inline int64_t ahead(const struct joint *j, enum cpa_vector k, uint32_t slot)
{
	if (j->base == j->other)
		return 0;
	return (int64_t)(value_in(j->other, k, slot) - value_in(j->base, k, slot));
}

/* Put the delta of @slot, of which winner and loser have @w and @l: S = min(S_w, S_l + d). */
static inline bool put_joined(struct joint *j, uint32_t slot, const struct cpa_delta *w,
			      const struct cpa_delta *l)
{
	int64_t through = l->s + ahead(j, CPA_S, slot) + (int64_t)j->distance;

	return put(j, slot, w->s < through ? w->s : through, w->h,
		   j->seen == j->winner ? w->o : l->o + ahead(j, CPA_O, slot));
}

static const struct cpa_delta none;

static inline bool put_either(struct joint *j, uint32_t slot, const struct cpa_delta *local,
			      const struct cpa_delta *remote)
{
	j->looked_at[slot / 64 % 4] |= UINT64_C(1) << slot % 64;
	return j->winner == j->local ? put_joined(j, slot, local, remote) :
				       put_joined(j, slot, remote, local);
}

/* Slots of which one of the paths has a delta. */
static bool join_deltas(struct cpa_self *self, struct joint *j)
{
	uint32_t matched = 0; /* bit: local delta */

	for (int i = 0; i < (int)CPA_PATH_DELTAS && j->remote->delta[i].slot; i++) {
		const struct cpa_delta *r = &j->remote->delta[i], *l = &none;
		unsigned at = place_of(self, j->local, r->slot);

		if (at < CPA_PATH_DELTAS && j->local->delta[at].slot) {
			l = &j->local->delta[at];
			matched |= UINT32_C(1) << at;
		}
		if (!put_either(j, r->slot, l, r))
			return false;
	}
	for (int i = 0; i < (int)CPA_PATH_DELTAS && j->local->delta[i].slot; i++) {
		const struct cpa_delta *l = &j->local->delta[i];

		if (!(matched >> i & 1) && !put_either(j, l->slot, l, &none))
			return false;
	}
	return true;
}

static bool has_delta(const struct cpa_path *path, uint32_t slot)
{
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot == slot)
			return true;
	return false;
}

/* A slot whose value in the versions alone may differ: unless deltas of it were looked at. */
static bool put_base(struct joint *j, uint32_t slot)
{
	if (unlikely(j->looked_at[slot / 64 % 4] >> slot % 64 & 1) &&
	    (has_delta(j->local, slot) || has_delta(j->remote, slot)))
		return true;
	return put_joined(j, slot, &none, &none);
}

/* Of the block of slots from @first on, in the winner's version. */
static bool join_block(struct joint *j, uint32_t first, bool observe)
{
	const struct cpa_version *w = j->base, *l = j->other;

	for (uint32_t i = first; i < first + ROUND; i++)
		if ((w->value[i] > value_in(l, CPA_S, i) + j->distance ||
		     (observe && w->value[2 * w->slots + i] != value_in(l, CPA_O, i))) &&
		    !put_base(j, i))
			return false;
	return true;
}

/*
 * Slots in which the loser's version leaves less slack than the winner's, or has another O if that
 * is wanted. They are few if threads meet often; most slots are small, and are passed over by
 * blocks.
 */
static bool join_bases(struct joint *j)
{
	const struct cpa_version *w = j->base, *l = j->other;
	uint32_t slots = w ? w->slots : 0, others = l ? l->slots : 0;
	bool observe = j->seen == j->loser;

	for (uint32_t i = 0; i < slots; i += ROUND)
		if ((observe || w->value[3 * slots + i / ROUND] > j->distance) &&
		    !join_block(j, i, observe))
			return false;
	for (uint32_t i = slots; observe && i < others; i++)
		if (l->value[2 * others + i] && !put_base(j, i))
			return false;
	return true;
}

/* The result as a version of its own. NULL: no memory. */
static struct cpa_version *join_versions(struct cpa_self *self, const struct joint *j)
{
	uint32_t n = slots_needed(j->winner), other = slots_needed(j->loser);
	struct cpa_version *v;
	uint64_t *slack;

	n = other > n ? other : n;
	v = version_new(self, n);
	if (!v)
		return NULL;
	slack = v->value + 2 * n; /* scratch: O is written last */
	materialize(j->loser, CPA_S, slack, n);
	materialize(j->winner, CPA_S, v->value, n);
	for (uint32_t i = 0; i < n; i++)
		if (slack[i] + j->distance < v->value[i])
			v->value[i] = slack[i] + j->distance;
	materialize(j->winner, CPA_H, v->value + n, n);
	materialize(j->seen, CPA_O, v->value + 2 * n, n);
	note_slack(v);
	return v;
}

/* The deltas of @path are new: if it is the thread's, remember where they stand. */
static void note_places(struct cpa_self *self, const struct cpa_path *path, unsigned n)
{
	if (!self->row || path != &self->row->path)
		return;
	for (unsigned i = 0; i < n; i++)
		self->delta_at[path->delta[i].slot % sizeof(self->delta_at)] = (uint8_t)i;
}

/* Let @local have the winner's version and the deltas found: threads converge on few versions. */
static void take_winners(struct cpa_self *self, struct cpa_path *local, const struct joint *j)
{
	if (local->version != j->winner->version)
		cpa_path_take_version(self, local, j->winner);
	memcpy(local->delta, j->delta, j->n * sizeof(j->delta[0]));
	end_deltas(local, j->n);
	note_places(self, local, j->n);
}

/* Let the vectors of @local be the result. False: no memory, nothing was changed. */
static bool join_vectors(struct cpa_self *self, struct cpa_path *local, struct joint *j)
{
	struct cpa_version *v;

	j->base = version_of(j->winner);
	j->other = version_of(j->loser);
	if (j->distance > FAR)
		j->distance = FAR;
	if (join_deltas(self, j) && (j->base == j->other || join_bases(j))) {
		take_winners(self, local, j);
		return true;
	}
	v = join_versions(self, j);
	if (!v)
		return false;
	set_version(self, local, v);
	end_deltas(local, 0);
	return true;
}

bool cpa_path_join(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote,
		   bool observed)
{
	bool remote_wins = remote->len > local->len;
	struct joint j = {
		.local = local,
		.remote = remote,
		.winner = remote_wins ? remote : local,
		.loser = remote_wins ? local : remote,
		.seen = observed ? remote : local,
	};

	j.distance = j.winner->len - j.loser->len;
	/* The loser cannot shorten any slack, and the winner's O is the one wanted. */
	if (observed == remote_wins && slack_within(j.winner, j.distance)) {
		if (remote_wins) {
			cpa_path_copy(self, local, remote);
			note_places(self, local, deltas_of(local));
		}
		return remote_wins;
	}
	if (!join_vectors(self, local, &j)) {
		take_longer(self, local, remote, observed);
		return remote_wins;
	}
	if (observed)
		memcpy(local->observed, remote->observed, sizeof(local->observed));
	local->len = remote_wins ? remote->len : local->len;
	return remote_wins;
}

void cpa_path_observe(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote)
{
	struct joint j = { .local = local,
			   .remote = remote,
			   .winner = local,
			   .loser = remote,
			   .seen = remote,
			   .distance = FAR };

	/* Without memory for a version too: the kinds of time sum up to the clock. */
	memcpy(local->observed, remote->observed, sizeof(local->observed));
	join_vectors(self, local, &j);
}

void cpa_path_clear(struct cpa_self *self, struct cpa_path *path)
{
	set_version(self, path, NULL);
	memset(path, 0, offsetof(struct cpa_path, delta));
	end_deltas(path, 0);
}

uint64_t cpa_path_value(const struct cpa_path *path, enum cpa_vector v, uint32_t slot)
{
	const struct cpa_version *from = version_of(path);
	uint64_t value = from && slot < from->slots ? from->value[v * from->slots + slot] : 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot == slot)
			value += (uint64_t)field(&path->delta[i], v);
	return value;
}

void cpa_path_read(const struct cpa_path *path, enum cpa_vector v, uint64_t *to, uint32_t slots)
{
	materialize(path, v, to, slots);
}

void cpa_path_forget_spares(struct cpa_self *self)
{
	while (self->spare_count)
		cpa_heap_free(self->spare[--self->spare_count]);
}
