/* SPDX-License-Identifier: MIT */
#include "shadow/path.h"

#include <string.h>

#include "shadow/heap.h"

#define SLOT_SHIFT 48
#define ROUND	   8u /* versions have a multiple of this many slots: one or two sizes per program */

static uint32_t delta_slot(uint64_t delta)
{
	return (uint32_t)(delta >> SLOT_SHIFT);
}

static struct cpa_version *version_of(const struct cpa_path *path)
{
	return path->version ? cpa_at(path->version) : NULL;
}

static struct cpa_version *version_new(struct cpa_self *self, uint32_t slots)
{
	struct cpa_version *v;

	for (uint32_t i = self->spare_count; i-- > 0;) {
		v = self->spare[i];
		if (v->slots == slots) {
			self->spare[i] = self->spare[--self->spare_count];
			v->refs = 1;
			return v;
		}
	}
	v = cpa_heap_alloc(sizeof(*v) + 3 * slots * sizeof(v->value[0]));
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

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i]; i++)
		if (delta_slot(path->delta[i]) >= n)
			n = delta_slot(path->delta[i]) + 1;
	return (n + ROUND - 1) / ROUND * ROUND;
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
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i]; i++)
		to[delta_slot(path->delta[i])] += path->delta[i] & CPA_DELTA_TICKS;
}

static uint64_t largest(const uint64_t *value, uint32_t n)
{
	uint64_t max = 0;

	for (uint32_t i = 0; i < n; i++)
		max = value[i] > max ? value[i] : max;
	return max;
}

/* Move the deltas of @path into a version of its own. */
static void fold(struct cpa_self *self, struct cpa_path *path)
{
	uint32_t n = slots_needed(path);
	struct cpa_version *v = version_new(self, n);

	if (v) {
		materialize(path, CPA_S, v->value, n);
		materialize(path, CPA_H, v->value + n, n);
		materialize(path, CPA_O, v->value + 2 * n, n);
		v->max_slack = largest(v->value, n);
		set_version(self, path, v);
	}
	memset(path->delta, 0, sizeof(path->delta));
}

void cpa_path_add(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	unsigned i;

	if (unlikely(!ticks))
		return;
	for (; unlikely(ticks > CPA_DELTA_TICKS); ticks -= CPA_DELTA_TICKS)
		cpa_path_add(self, path, slot, CPA_DELTA_TICKS);
	for (i = 0; i < CPA_PATH_DELTAS && path->delta[i]; i++)
		if (delta_slot(path->delta[i]) == slot)
			break;
	if (unlikely(i == CPA_PATH_DELTAS ||
		     (path->delta[i] & CPA_DELTA_TICKS) + ticks > CPA_DELTA_TICKS)) {
		fold(self, path);
		i = 0;
	}
	path->delta[i] =
		(path->delta[i] & CPA_DELTA_TICKS) + ticks + ((uint64_t)slot << SLOT_SHIFT);
}

void cpa_path_copy(struct cpa_self *self, struct cpa_path *to, const struct cpa_path *from)
{
	if (to->version != from->version) {
		struct cpa_version *v = version_of(from);

		if (v)
			version_get(v);
		set_version(self, to, v);
	}
	*to = *from;
}

/* An upper bound of the slack of any slot of @path. */
static uint64_t slack_bound(const struct cpa_path *path)
{
	const struct cpa_version *v = version_of(path);
	uint64_t bound = v ? v->max_slack : 0, add = 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i]; i++)
		if ((path->delta[i] & CPA_DELTA_TICKS) > add)
			add = path->delta[i] & CPA_DELTA_TICKS;
	return bound + add;
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

bool cpa_path_join(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote,
		   bool observed)
{
	bool remote_wins = remote->len > local->len;
	const struct cpa_path *w = remote_wins ? remote : local, *o = remote_wins ? local : remote;
	uint64_t d = w->len - o->len;
	uint32_t n, other;
	struct cpa_version *v;
	uint64_t *slack;

	/* The loser cannot shorten any slack, and the winner's O is the one wanted. */
	if (observed == remote_wins && d >= slack_bound(w)) {
		if (remote_wins)
			cpa_path_copy(self, local, remote);
		return remote_wins;
	}
	n = slots_needed(local);
	other = slots_needed(remote);
	n = other > n ? other : n;
	v = version_new(self, n);
	if (!v) {
		take_longer(self, local, remote, observed);
		return remote_wins;
	}
	slack = v->value + 2 * n; /* scratch: O is written last */
	materialize(o, CPA_S, slack, n);
	materialize(w, CPA_S, v->value, n);
	for (uint32_t i = 0; i < n; i++)
		v->value[i] = v->value[i] < slack[i] + d ? v->value[i] : slack[i] + d;
	materialize(w, CPA_H, v->value + n, n);
	materialize(observed ? remote : local, CPA_O, v->value + 2 * n, n);
	v->max_slack = largest(v->value, n);
	if (observed)
		memcpy(local->observed, remote->observed, sizeof(local->observed));
	local->len = w->len;
	set_version(self, local, v);
	memset(local->delta, 0, sizeof(local->delta));
	return remote_wins;
}

void cpa_path_observe(struct cpa_self *self, struct cpa_path *local, const struct cpa_path *remote)
{
	uint32_t n = slots_needed(local), other = slots_needed(remote);
	struct cpa_version *v;

	n = other > n ? other : n;
	v = version_new(self, n);
	if (!v)
		return;
	materialize(local, CPA_S, v->value, n);
	materialize(local, CPA_H, v->value + n, n);
	materialize(remote, CPA_O, v->value + 2 * n, n);
	v->max_slack = largest(v->value, n);
	memcpy(local->observed, remote->observed, sizeof(local->observed));
	set_version(self, local, v);
	memset(local->delta, 0, sizeof(local->delta));
}

void cpa_path_clear(struct cpa_self *self, struct cpa_path *path)
{
	set_version(self, path, NULL);
	memset(path, 0, sizeof(*path));
}

uint64_t cpa_path_value(const struct cpa_path *path, enum cpa_vector v, uint32_t slot)
{
	const struct cpa_version *from = version_of(path);
	uint64_t value = from && slot < from->slots ? from->value[v * from->slots + slot] : 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i]; i++)
		if (delta_slot(path->delta[i]) == slot)
			value += path->delta[i] & CPA_DELTA_TICKS;
	return value;
}

void cpa_path_forget_spares(struct cpa_self *self)
{
	while (self->spare_count)
		cpa_heap_free(self->spare[--self->spare_count]);
}
