/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/join.c - cpa_path_join() and cpa_path_observe(), a large part of the cost of a
 * hand-off
 */
#include <string.h>

#include "shadow/path/delta.h"

#define ROUND CPA_VERSION_BLOCK /* versions have a multiple of this many slots */
#define FAR   (UINT64_C(1) << 62)

/* Return whether no slot of @path has more slack than @most. May return false although none has. */
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

/*
 * Join without memory for a version: keep the longer path's vectors; its slack is then an upper
 * bound.
 */
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

/* The parameters of a join. */
struct terms {
	/* the remote path is the longer one; O comes from the remote path */
	bool remote_wins, observed;
	/*
	 * Versions of S and H of winner and loser; NULL: zero. Equal pointers if they have the same
	 * S.
	 */
	const struct cpa_version *base, *other;
	uint64_t distance; /* L of the winner minus L of the loser, ticks */
};

struct joint {
	const struct cpa_path *local, *remote;
	/* winner and loser; `seen` is the path that O comes from */
	const struct cpa_path *winner, *loser, *seen;
	struct terms terms;
	unsigned n;
	/* deltas of the result, relative to the versions of winner and seen */
	struct cpa_delta delta[CPA_PATH_DELTAS];
};

/* Return the number that identifies S of @v; 0 for NULL, whose S is zero. */
static inline uint64_t slack_of(const struct cpa_version *v)
{
	return v ? v->slack : 0;
}

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
				   .distance = distance < FAR ? distance : FAR };
	j->terms.other = cpa_version_at(j->loser->version);
	if (slack_of(j->terms.base) == slack_of(j->terms.other))
		j->terms.other = j->terms.base;
	j->n = 0;
}

static inline uint64_t slack_in(const struct cpa_version *v, uint32_t slot)
{
	return v && slot < v->slots ? v->value[slot] : 0;
}

/*
 * Set @to to the joined delta of @slot from the paths' deltas @local and @remote: S = min(S_w, S_l
 * + d). Return false if S does not fit.
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

/* Append the delta of @slot, which only @remote may have. Return false if there is no room. */
static inline __attribute__((always_inline)) bool
append(struct joint *j, struct terms t, uint32_t slot, const struct cpa_delta *remote)
{
	struct cpa_delta d;

	if (unlikely(!put(&d, t, slot, &none, remote)))
		return false;
	if (cpa_delta_is_zero(&d))
		return true;
	if (unlikely(j->n == CPA_PATH_DELTAS))
		return false;
	j->delta[j->n++] = d;
	return true;
}

/*
 * Join the slots in which one of the paths has a delta. Deltas of the local path keep their places,
 * so that self->delta_at stays valid.
 */
static inline __attribute__((always_inline)) bool join_by_terms(const struct cpa_self *self,
								struct joint *j, struct terms t)
{
	const struct cpa_delta *local = j->local->delta, *remote = j->remote->delta;
	const unsigned have = cpa_path_deltas(self, j->local);
	/* bit i: local delta i not joined yet */
	uint32_t rest = (uint32_t)((UINT64_C(1) << have) - 1);

	j->n = have;
	for (unsigned i = 0; i < CPA_PATH_DELTAS && remote[i].slot; i++) {
		unsigned at = cpa_delta_place(self, j->local, remote[i].slot);

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

/*
 * As join_by_terms(), compiled once for each combination of terms, because it is most of the cost
 * of a hand-off.
 */
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

/*
 * As join_by_terms(), where winner and loser have the same version of S and H and all deltas fit:
 * nothing can fail then, as s >= INT32_MIN, and the result can replace the local deltas.
 */
static inline __attribute__((always_inline)) unsigned
join_in_place_by(const struct cpa_self *self, struct cpa_path *path, const struct cpa_path *with,
		 unsigned have, struct terms t)
{
	struct cpa_delta *local = path->delta;
	const struct cpa_delta *remote = with->delta;
	/* bit i: local delta i not joined yet */
	uint32_t rest = (uint32_t)((UINT64_C(1) << have) - 1);
	unsigned n = have;

	for (unsigned i = 0; i < CPA_PATH_DELTAS && remote[i].slot; i++) {
		unsigned at = cpa_delta_place(self, path, remote[i].slot);

		if (likely(at < have)) {
			rest &= ~(1u << at);
			put(local + at, t, remote[i].slot, local + at, remote + i);
			continue;
		}
		put(local + n, t, remote[i].slot, &none, remote + i);
		n += !cpa_delta_is_zero(local + n);
	}
	for (; rest; rest &= rest - 1) {
		unsigned at = (unsigned)__builtin_ctz(rest);

		put(local + at, t, local[at].slot, local + at, &none);
	}
	if (n < CPA_PATH_DELTAS)
		local[n].slot = 0;
	return n;
}

static unsigned join_in_place_of(const struct cpa_self *self, struct cpa_path *local,
				 const struct cpa_path *remote, unsigned have, struct terms t)
{
	t.base = t.other = NULL;
#define BY(wins, seen)                                \
	(t.remote_wins = (wins), t.observed = (seen), \
	 join_in_place_by(self, local, remote, have, t))
	if (t.remote_wins)
		return t.observed ? BY(true, true) : BY(true, false);
	return t.observed ? BY(false, true) : BY(false, false);
#undef BY
}

/*
 * Return whether @remote has at most @most deltas. May return false although it has, because of
 * stale deltas behind the last one.
 */
static bool has_at_most(const struct cpa_path *remote, unsigned most)
{
	return most == CPA_PATH_DELTAS || !remote->delta[most].slot;
}

/* Join the vectors of @j in place. Return false if that is not possible. */
static bool join_in_place(struct cpa_self *self, struct cpa_path *local, const struct joint *j)
{
	unsigned have = cpa_path_deltas(self, local), n;

	if (j->terms.base != j->terms.other || !has_at_most(j->remote, CPA_PATH_DELTAS - have))
		return false;
	n = join_in_place_of(self, local, j->remote, have, j->terms);
	cpa_path_take_versions(self, local, j->winner, j->seen);
	if (local->most < j->remote->most)
		local->most = j->remote->most;
	if (cpa_path_is_own(self, local))
		cpa_delta_note_appended(self, local, n);
	return true;
}

static bool has_delta(const struct cpa_path *path, uint32_t slot)
{
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		if (path->delta[i].slot == slot)
			return true;
	return false;
}

/*
 * Return the slots, as bits of the block that begins with slot @first, in which the loser's version
 * leaves less slack than the winner's.
 */
static inline unsigned shorter_in(const struct terms *t, uint32_t first)
{
	static const uint64_t zero[ROUND];
	const uint64_t *w = t->base->value + first, *l = zero;
	unsigned bits = 0;

	if (likely(t->other && t->other->slots > first)) /* both are a multiple of ROUND */
		l = t->other->value + first;
	for (unsigned i = 0; i < ROUND; i++)
		bits |= (unsigned)(w[i] > l[i] + t->distance) << i;
	return bits;
}

/*
 * Return the next slot, from @at on, in which the loser's version leaves less slack; UINT32_MAX:
 * none. Such slots are few if threads meet often; most slots are small and are skipped by blocks.
 */
static uint32_t next_shorter(const struct terms *t, uint32_t at)
{
	const struct cpa_version *w = t->base;
	uint32_t slots = w && w != t->other ? w->slots : 0;

	for (uint32_t i = at / ROUND * ROUND; i < slots; i += ROUND) {
		unsigned bits = 0;

		if (w->value[2 * slots + i / ROUND] > t->distance)
			bits = shorter_in(t, i) & ~0u << (at > i ? at - i : 0);
		if (bits)
			return i + (unsigned)__builtin_ctz(bits);
	}
	return UINT32_MAX;
}

/* Join the slots for which next_shorter() is true and neither path has a delta. */
static bool join_bases(struct joint *j)
{
	for (uint32_t i = next_shorter(&j->terms, 0); i != UINT32_MAX;
	     i = next_shorter(&j->terms, i + 1))
		if (!has_delta(j->local, i) && !has_delta(j->remote, i) &&
		    !append(j, j->terms, i, &none))
			return false;
	return true;
}

/*
 * Return the slack that the loser's version leaves in @slot minus that of the winner's version,
 * ticks.
 */
static inline int64_t beyond(const struct terms *t, uint32_t slot)
{
	return (int64_t)(t->distance + slack_in(t->other, slot) - slack_in(t->base, slot));
}

/*
 * Lower the s of the delta of @slot, at index @at of @path, to @s at most. Return false if there is
 * no room.
 */
static inline bool lower(struct cpa_self *self, struct cpa_path *path, unsigned at, uint32_t slot,
			 int64_t s)
{
	struct cpa_delta *d = &path->delta[at];

	if (s != (int32_t)s)
		return s > 0;
	if (at == CPA_PATH_DELTAS)
		return s >= 0;
	if (d->slot != slot) {
		if (s >= 0)
			return true;
		*d = (struct cpa_delta){ .slot = slot };
		if (cpa_path_is_own(self, path))
			cpa_delta_note_appended(self, path, at + 1);
	}
	if (s < d->s)
		d->s = (int32_t)s;
	return true;
}

/*
 * Join @remote where the local path is longer and keeps its O. Only S changes, and only downwards,
 * so the join may be repeated: return false if there turns out to be no room.
 */
static bool shorten(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote,
		    const struct terms *t)
{
	const unsigned have = cpa_path_deltas(self, local);
	/* bit i: local delta i not compared yet */
	uint32_t rest = (uint32_t)((UINT64_C(1) << have) - 1);

	for (unsigned i = 0; i < CPA_PATH_DELTAS && remote->delta[i].slot; i++) {
		uint32_t slot = remote->delta[i].slot;
		unsigned at = cpa_delta_place(self, local, slot);

		if (likely(at < have))
			rest &= ~(1u << at);
		if (!lower(self, local, at, slot, remote->delta[i].s + beyond(t, slot)))
			return false;
	}
	for (; rest; rest &= rest - 1) {
		unsigned at = (unsigned)__builtin_ctz(rest);

		if (!lower(self, local, at, local->delta[at].slot,
			   beyond(t, local->delta[at].slot)))
			return false;
	}
	for (uint32_t i = next_shorter(t, 0); i != UINT32_MAX; i = next_shorter(t, i + 1)) {
		unsigned at = cpa_delta_place(self, local, i);

		if ((at == CPA_PATH_DELTAS || local->delta[at].slot != i) &&
		    !has_delta(remote, i) && !lower(self, local, at, i, beyond(t, i)))
			return false;
	}
	return true;
}

/*
 * Store the result in versions of @local's own. Return false without memory; nothing was changed
 * then.
 */
static bool join_versions(struct cpa_self *self, struct cpa_path *local, const struct joint *j)
{
	uint32_t n = cpa_path_slots(j->winner), other = cpa_path_slots(j->loser);
	struct cpa_version *v[2];
	uint64_t *slack, *through;

	n = other > n ? other : n;
	if (!cpa_versions_new(self, n, v))
		return false;
	slack = v[0]->value;
	through = v[1]->value; /* scratch space; O is written last */
	cpa_path_read(j->winner, CPA_S, slack, n);
	cpa_path_read(j->loser, CPA_S, through, n);
	for (uint32_t i = 0; i < n; i++)
		if (through[i] + j->terms.distance < slack[i])
			slack[i] = through[i] + j->terms.distance;
	cpa_path_read(j->winner, CPA_H, slack + n, n);
	cpa_path_read(j->seen, CPA_O, v[1]->value, n);
	cpa_version_note_slack(v[0]);
	cpa_version_new_slack(self, v[0]);
	cpa_path_set_versions(self, local, v);
	return true;
}

/*
 * Give @local the versions of winner and seen with the deltas found: threads converge on few
 * versions.
 */
static void take_winners(struct cpa_self *self, struct cpa_path *local, const struct joint *j)
{
	cpa_path_take_versions(self, local, j->winner, j->seen);
	memcpy(local->delta, j->delta, j->n * sizeof(j->delta[0]));
	if (local->most < j->remote->most)
		local->most = j->remote->most;
	if (cpa_path_is_own(self, local))
		cpa_delta_note_appended(self, local, j->n);
}

/* Store the joined vectors in @local. Return false without memory; nothing was changed then. */
static bool join_vectors(struct cpa_self *self, struct cpa_path *local, struct joint *j)
{
	bool fits;

	if (likely(join_in_place(self, local, j)))
		return true;
	if (!j->terms.remote_wins && !j->terms.observed &&
	    shorten(self, local, j->remote, &j->terms))
		return true;
	fits = join_deltas(self, j) && join_bases(j);
	if (unlikely(!fits) && cpa_path_squeeze(self, local))
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

	/* The loser cannot reduce any slack, and O is the winner's. */
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
	if (remote_wins) {
		local->len = remote->len;
		local->stack = remote->stack;
	}
	return remote_wins;
}

void cpa_path_observe(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote)
{
	struct joint j;

	pair(&j, local, remote, false, true, FAR);
	/* Also without memory for a version: the kinds of time must add up to the clock. */
	memcpy(local->observed, remote->observed, sizeof(local->observed));
	join_vectors(self, local, &j);
}
