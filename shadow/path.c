/* SPDX-License-Identifier: MIT */
#include "shadow/path.h"

#include <string.h>

#define ROUND CPA_VERSION_BLOCK /* versions have a multiple of this many slots */
#define FAR   (UINT64_C(1) << 62)

/* Let the first @n deltas of @path be all, and these be new. */
static void set_deltas(struct cpa_self *self, struct cpa_path *path, unsigned n)
{
	for (unsigned i = n; i < CPA_PATH_DELTAS && path->delta[i].slot; i++)
		path->delta[i].slot = 0;
	if (!cpa_path_is_own(self, path))
		return;
	for (unsigned i = 0; i < n; i++)
		self->delta_at[path->delta[i].slot % CPA_MOST_SLOTS] = (uint8_t)i;
	self->deltas = n;
}

/* The path of the thread has got more deltas, at the end: @n are all. */
static void note_appended(struct cpa_self *self, const struct cpa_path *path, unsigned n)
{
	for (unsigned i = self->deltas; i < n; i++)
		self->delta_at[path->delta[i].slot % CPA_MOST_SLOTS] = (uint8_t)i;
	self->deltas = n;
}

/* Let @path name @v, whose reference it takes over. */
static void set_version(struct cpa_self *self, struct cpa_path *path, struct cpa_version *v,
			bool of_o)
{
	uint64_t *version = of_o ? &path->observed_version : &path->version;
	struct cpa_version *old = cpa_version_at(*version);

	*version = v ? cpa_offset(v) : 0;
	if (old)
		cpa_version_put(self, old, of_o);
}

static void take_version(struct cpa_self *self, struct cpa_path *to, uint64_t version, bool of_o)
{
	if ((of_o ? to->observed_version : to->version) == version)
		return;
	if (version)
		cpa_version_get(cpa_version_at(version));
	set_version(self, to, cpa_version_at(version), of_o);
}

void cpa_path_take_versions(struct cpa_self *self, struct cpa_path *to, const struct cpa_path *from,
			    const struct cpa_path *seen)
{
	take_version(self, to, from->version, false);
	take_version(self, to, seen->observed_version, true);
}

static inline bool is_zero(const struct cpa_delta *d)
{
	return !(d->s | d->h | d->o);
}

/* Make room: let @path have no deltas that say nothing. False: it had none. */
static bool squeeze(struct cpa_self *self, struct cpa_path *path)
{
	unsigned all = cpa_path_deltas(self, path), n = 0;

	for (unsigned i = 0; i < all; i++)
		if (!is_zero(&path->delta[i]))
			path->delta[n++] = path->delta[i];
	if (n == all)
		return false;
	set_deltas(self, path, n);
	return true;
}

static uint32_t slots_needed(const struct cpa_path *path)
{
	const struct cpa_version *v = cpa_version_at(path->version),
				 *o = cpa_version_at(path->observed_version);
	uint32_t n = v ? v->slots : 0;

	if (o && o->slots > n)
		n = o->slots;
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot >= n)
			n = path->delta[i].slot + 1;
	return (n + ROUND - 1) / ROUND * ROUND;
}

static int64_t field(const struct cpa_delta *d, enum cpa_vector v)
{
	return v == CPA_S ? d->s : v == CPA_H ? d->h : d->o;
}

/* The values of vector @v of @path without its deltas, *@slots of them. */
static const uint64_t *values(const struct cpa_path *path, enum cpa_vector v, uint32_t *slots)
{
	const struct cpa_version *from =
		cpa_version_at(v == CPA_O ? path->observed_version : path->version);

	*slots = from ? from->slots : 0;
	return !from ? NULL : from->value + (v == CPA_H ? from->slots : 0);
}

/* Copy vector @v of @path to @to[@slots], deltas added. */
static void materialize(const struct cpa_path *path, enum cpa_vector v, uint64_t *to,
			uint32_t slots)
{
	uint32_t have;
	const uint64_t *from = values(path, v, &have);

	if (from)
		memcpy(to, from, have * sizeof(*to));
	memset(to + have, 0, (slots - have) * sizeof(*to));
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		to[path->delta[i].slot] += (uint64_t)field(&path->delta[i], v);
}

/* Let @path name @v, which are complete, without deltas. */
static void set_versions(struct cpa_self *self, struct cpa_path *path, struct cpa_version *v[2])
{
	set_version(self, path, v[0], false);
	set_version(self, path, v[1], true);
	set_deltas(self, path, 0);
	path->most = 0;
}

/* Let @v, copies of the versions of @path, have its deltas as well. */
static void add_deltas(struct cpa_version *v[2], const struct cpa_path *path)
{
	uint64_t *most = v[0]->value + 2 * v[0]->slots;
	bool less = false;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++) {
		const struct cpa_delta *d = &path->delta[i];
		uint64_t *s = &v[0]->value[d->slot], *block = &most[d->slot / ROUND];

		*s += (uint64_t)(int64_t)d->s;
		s[v[0]->slots] += (uint64_t)(int64_t)d->h;
		v[1]->value[d->slot] += (uint64_t)(int64_t)d->o;
		if (*s > *block)
			*block = *s;
		if (*s > v[0]->max_slack)
			v[0]->max_slack = *s;
		less = less || d->s < 0;
	}
	if (less)
		cpa_version_note_slack(v[0]);
}

/* Move the deltas of @path into versions of its own, with room for @slot. False: they are lost. */
static bool fold(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	const struct cpa_version *old = cpa_version_at(path->version),
				 *seen = cpa_version_at(path->observed_version);
	uint32_t n = slots_needed(path);
	struct cpa_version *v[2];

	if (slot >= n)
		n = slot / ROUND * ROUND + ROUND;
	if (!cpa_versions_new(self, n, v)) {
		set_deltas(self, path, 0);
		path->most = 0;
		return false;
	}
	if (old && seen && old->slots == n && seen->slots == n) {
		cpa_version_copy(v[0], old, false);
		cpa_version_copy(v[1], seen, true);
		add_deltas(v, path);
	} else {
		materialize(path, CPA_S, v[0]->value, n);
		materialize(path, CPA_H, v[0]->value + n, n);
		materialize(path, CPA_O, v[1]->value, n);
		cpa_version_note_slack(v[0]);
	}
	set_versions(self, path, v);
	return true;
}

/* Where in @path the delta of @slot is, or would be; CPA_PATH_DELTAS: nowhere, all are taken. */
static unsigned place_of(const struct cpa_self *self, const struct cpa_path *path, uint32_t slot)
{
	unsigned i = self->delta_at[slot % CPA_MOST_SLOTS];

	if (likely(path->delta[i].slot == slot))
		return i;
	if (likely(cpa_path_is_own(self, path)))
		return self->deltas;
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
	if (!path->delta[i].slot) {
		path->delta[i] = (struct cpa_delta){ .slot = slot };
		if (cpa_path_is_own(self, path)) {
			self->delta_at[slot % CPA_MOST_SLOTS] = (uint8_t)i;
			self->deltas++;
		}
	}
	return &path->delta[i];
}

/* Add to the versions of @path, which no other path names yet. */
static void add_to_versions(const struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	struct cpa_version *v = cpa_version_at(path->version);

	v->value[slot] += ticks;
	v->value[v->slots + slot] += ticks;
	cpa_version_at(path->observed_version)->value[slot] += ticks;
	cpa_version_note_slack(v);
}

void cpa_path_add_large(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	if (fold(self, path, slot))
		add_to_versions(path, slot, ticks);
}

void cpa_path_reserve_slow(struct cpa_self *self, struct cpa_path *path, uint64_t ticks)
{
	int32_t most = 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		for (enum cpa_vector v = CPA_S; v <= CPA_O; v++)
			if (field(&path->delta[i], v) > most)
				most = (int32_t)field(&path->delta[i], v);
	path->most = (uint64_t)most;
	if (cpa_path_has_room(path, ticks))
		return;
	fold(self, path, 0);
	path->most = ticks;
}

void cpa_path_add_slow(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	struct cpa_delta *d;

	if (unlikely(!ticks))
		return;
	d = delta_of(self, path, slot);
	if (unlikely(!d) && squeeze(self, path))
		d = delta_of(self, path, slot);
	if (unlikely(!d)) {
		uint64_t most = path->most;

		fold(self, path, slot);
		path->most = most; /* of which a part was reserved */
		d = delta_of(self, path, slot);
	}
	d->s += (int32_t)ticks;
	d->h += (int32_t)ticks;
	d->o += (int32_t)ticks;
}

void cpa_path_copy(struct cpa_self *self, struct cpa_path *to, const struct cpa_path *from)
{
	unsigned i = 0;

	cpa_path_take_versions(self, to, from, from);
	memcpy(to, from, offsetof(struct cpa_path, delta));
	while (i < CPA_PATH_DELTAS && from->delta[i].slot) {
		*(cpa_lanes *)&to->delta[i] = *(const cpa_lanes *)&from->delta[i];
		i++;
	}
	set_deltas(self, to, i);
}

/* Whether no slot of @path has more slack than @most. It may say no too often. */
static bool slack_within(const struct cpa_path *path, uint64_t most)
{
	const struct cpa_version *v = cpa_version_at(path->version);
	uint64_t base = v ? v->max_slack : 0;

	if (base > most)
		return false;
	if (path->most <= most - base)
		return true;
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

/* How two paths become one. */
struct terms {
	bool remote_wins, observed; /* what the remote path is: winner; where O comes from */
	const struct cpa_version *base, *other; /* of S and H of winner and loser; NULL: zero */
	uint64_t distance;			/* of loser to winner */
};

struct joint {
	const struct cpa_path *local, *remote;
	const struct cpa_path *winner, *loser, *seen; /* which is which; O comes from the last */
	struct terms terms;
	unsigned n;
	struct cpa_delta delta[CPA_PATH_DELTAS]; /* the result, over the versions of winner, seen */
};

static inline void pair(struct joint *j, const struct cpa_path *local,
			const struct cpa_path *remote, bool remote_wins, bool observed,
			uint64_t distance)
{
	j->local = local;
	j->remote = remote;
	j->winner = remote_wins ? remote : local;
	j->loser = remote_wins ? local : remote;
	j->seen = observed ? remote : local;
	j->terms = (struct terms){ .remote_wins = remote_wins,
				   .observed = observed,
				   .base = cpa_version_at(j->winner->version),
				   .other = cpa_version_at(j->loser->version),
				   .distance = distance < FAR ? distance : FAR };
	j->n = 0;
}

static inline uint64_t slack_in(const struct cpa_version *v, uint32_t slot)
{
	return v && slot < v->slots ? v->value[slot] : 0;
}

/*
 * Let @to be the delta of @slot, of which the paths have @local and @remote: S = min(S_w, S_l + d).
 * False: it does not fit.
 */
static inline __attribute__((always_inline)) bool put(struct cpa_delta *to, struct terms t,
						      uint32_t slot, const struct cpa_delta *local,
						      const struct cpa_delta *remote)
{
	const struct cpa_delta *w = t.remote_wins ? remote : local;
	int64_t s = w->s, through = (t.remote_wins ? local : remote)->s + (int64_t)t.distance;

	if (t.base != t.other)
		through += (int64_t)(slack_in(t.other, slot) - slack_in(t.base, slot));
	s = s < through ? s : through;
	*to = (struct cpa_delta){ slot, (int32_t)s, w->h, (t.observed ? remote : local)->o };
	return likely(s == (int32_t)s);
}

static const struct cpa_delta none;

/* Add the delta of @slot, of which @remote alone may have one. False: there is no room. */
static inline __attribute__((always_inline)) bool
append(struct joint *j, struct terms t, uint32_t slot, const struct cpa_delta *remote)
{
	struct cpa_delta d;

	if (unlikely(!put(&d, t, slot, &none, remote)))
		return false;
	if (is_zero(&d))
		return true;
	if (unlikely(j->n == CPA_PATH_DELTAS))
		return false;
	j->delta[j->n++] = d;
	return true;
}

/*
 * Slots of which one of the paths has a delta. Those of the local path stay where they are, so that
 * what is known of their places still holds.
 */
static inline __attribute__((always_inline)) bool join_by_terms(const struct cpa_self *self,
								struct joint *j, struct terms t)
{
	const struct cpa_delta *local = j->local->delta, *remote = j->remote->delta;
	const unsigned have = cpa_path_deltas(self, j->local);
	uint32_t rest = (uint32_t)((UINT64_C(1) << have) - 1); /* bit: local delta */

	j->n = have;
	for (unsigned i = 0; i < CPA_PATH_DELTAS && remote[i].slot; i++) {
		unsigned at = place_of(self, j->local, remote[i].slot);

		if (unlikely(at >= have)) {
			if (!append(j, t, remote[i].slot, remote + i))
				return false;
			continue;
		}
		rest &= ~(1u << at);
		if (unlikely(!put(j->delta + at, t, remote[i].slot, local + at, remote + i)))
			return false;
	}
	for (; rest; rest &= rest - 1) {
		unsigned at = (unsigned)__builtin_ctz(rest);

		if (unlikely(!put(j->delta + at, t, local[at].slot, local + at, &none)))
			return false;
	}
	return true;
}

/* The same, compiled for each kind of @terms, as this is most of what a hand-off costs. */
static bool join_deltas(const struct cpa_self *self, struct joint *j)
{
	struct terms t = j->terms;

	_Static_assert(CPA_PATH_DELTAS <= 32, "a bit for each");
#define BY(wins, seen) (t.remote_wins = (wins), t.observed = (seen), join_by_terms(self, j, t))
	if (t.remote_wins)
		return t.observed ? BY(true, true) : BY(true, false);
	return t.observed ? BY(false, true) : BY(false, false);
#undef BY
}

static bool has_delta(const struct cpa_path *path, uint32_t slot)
{
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot == slot)
			return true;
	return false;
}

/* A slot whose slack in the versions alone is less by the loser's: unless there is a delta of it. */
static bool put_base(struct joint *j, uint32_t slot)
{
	return has_delta(j->local, slot) || has_delta(j->remote, slot) ||
	       append(j, j->terms, slot, &none);
}

/* Of the block of slots from @first on, in the winner's version. */
static bool join_block(struct joint *j, uint32_t first)
{
	for (uint32_t i = first; i < first + ROUND; i++)
		if (j->terms.base->value[i] > slack_in(j->terms.other, i) + j->terms.distance &&
		    !put_base(j, i))
			return false;
	return true;
}

/*
 * Slots in which the loser's version leaves less slack than the winner's. They are few if threads
 * meet often; most slots are small, and are passed over by blocks.
 */
static bool join_bases(struct joint *j)
{
	const struct cpa_version *w = j->terms.base;
	uint32_t slots = w && w != j->terms.other ? w->slots : 0;

	for (uint32_t i = 0; i < slots; i += ROUND)
		if (w->value[2 * slots + i / ROUND] > j->terms.distance && !join_block(j, i))
			return false;
	return true;
}

/* Let @local have the result as versions of its own. False: no memory, nothing was changed. */
static bool join_versions(struct cpa_self *self, struct cpa_path *local, const struct joint *j)
{
	uint32_t n = slots_needed(j->winner), other = slots_needed(j->loser);
	struct cpa_version *v[2];
	uint64_t *slack, *through;

	n = other > n ? other : n;
	if (!cpa_versions_new(self, n, v))
		return false;
	slack = v[0]->value;
	through = v[1]->value; /* scratch: O is written last */
	materialize(j->winner, CPA_S, slack, n);
	materialize(j->loser, CPA_S, through, n);
	for (uint32_t i = 0; i < n; i++)
		if (through[i] + j->terms.distance < slack[i])
			slack[i] = through[i] + j->terms.distance;
	materialize(j->winner, CPA_H, slack + n, n);
	materialize(j->seen, CPA_O, v[1]->value, n);
	cpa_version_note_slack(v[0]);
	set_versions(self, local, v);
	return true;
}

/* Let @local have their versions and the deltas found: threads converge on few versions. */
static void take_winners(struct cpa_self *self, struct cpa_path *local, const struct joint *j)
{
	cpa_path_take_versions(self, local, j->winner, j->seen);
	memcpy(local->delta, j->delta, j->n * sizeof(j->delta[0]));
	if (local->most < j->remote->most)
		local->most = j->remote->most;
	if (cpa_path_is_own(self, local))
		note_appended(self, local, j->n);
}

/* Let the vectors of @local be the result. False: no memory, nothing was changed. */
static bool join_vectors(struct cpa_self *self, struct cpa_path *local, struct joint *j)
{
	bool fits = join_deltas(self, j) && join_bases(j);

	if (unlikely(!fits) && squeeze(self, local))
		fits = join_deltas(self, j) && join_bases(j);
	if (unlikely(!fits))
		return join_versions(self, local, j);
	take_winners(self, local, j);
	return true;
}

bool cpa_path_join(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote,
		   bool observed)
{
	bool remote_wins = remote->len > local->len;
	uint64_t distance = remote_wins ? remote->len - local->len : local->len - remote->len;
	struct joint j;

	/* The loser cannot shorten any slack, and the winner's O is the one wanted. */
	if (observed == remote_wins && slack_within(remote_wins ? remote : local, distance)) {
		if (remote_wins)
			cpa_path_copy(self, local, remote);
		return remote_wins;
	}
	pair(&j, local, remote, remote_wins, observed, distance);
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
	struct joint j;

	pair(&j, local, remote, false, true, FAR);
	/* Without memory for a version too: the kinds of time sum up to the clock. */
	memcpy(local->observed, remote->observed, sizeof(local->observed));
	join_vectors(self, local, &j);
}

void cpa_path_tidy(struct cpa_path *path)
{
	unsigned i = 0;

	while (i < CPA_PATH_DELTAS && path->delta[i].slot)
		i++;
	for (; i < CPA_PATH_DELTAS; i++)
		path->delta[i].slot = 0;
}

void cpa_path_drop(struct cpa_self *self, struct cpa_path *path)
{
	take_version(self, path, 0, false);
	take_version(self, path, 0, true);
	path->owner = 0;
}

void cpa_path_clear(struct cpa_self *self, struct cpa_path *path)
{
	cpa_path_drop(self, path);
	memset(path, 0, offsetof(struct cpa_path, delta));
	set_deltas(self, path, 0);
}

uint64_t cpa_path_value(const struct cpa_path *path, enum cpa_vector v, uint32_t slot)
{
	uint32_t slots;
	const uint64_t *from = values(path, v, &slots);
	uint64_t value = slot < slots ? from[slot] : 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot == slot)
			value += (uint64_t)field(&path->delta[i], v);
	return value;
}

void cpa_path_read(const struct cpa_path *path, enum cpa_vector v, uint64_t *to, uint32_t slots)
{
	materialize(path, v, to, slots);
}
