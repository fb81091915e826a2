/* SPDX-License-Identifier: MIT */
#include "shadow/path/path.h"

#include <string.h>

#include "shadow/path/delta.h"

#define ROUND CPA_VERSION_BLOCK /* versions have a multiple of this many slots */

/* Truncate @path to its first @n deltas and index them in self->delta_at. */
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

/* Make @path name @v; its reference passes to the path. */
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

bool cpa_path_squeeze(struct cpa_self *self, struct cpa_path *path)
{
	unsigned all = cpa_path_deltas(self, path), n = 0;

	for (unsigned i = 0; i < all; i++)
		if (!cpa_delta_is_zero(&path->delta[i]))
			path->delta[n++] = path->delta[i];
	if (n == all)
		return false;
	set_deltas(self, path, n);
	return true;
}

uint32_t cpa_path_slots(const struct cpa_path *path)
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

/* Return the values of vector @v of @path without its deltas; *@slots: their number. */
static const uint64_t *values(const struct cpa_path *path, enum cpa_vector v, uint32_t *slots)
{
	const struct cpa_version *from =
		cpa_version_at(v == CPA_O ? path->observed_version : path->version);

	*slots = from ? from->slots : 0;
	return !from ? NULL : from->value + (v == CPA_H ? from->slots : 0);
}

void cpa_path_read(const struct cpa_path *path, enum cpa_vector v, uint64_t *to, uint32_t slots)
{
	uint32_t have;
	const uint64_t *from = values(path, v, &have);

	if (from)
		memcpy(to, from, have * sizeof(*to));
	memset(to + have, 0, (slots - have) * sizeof(*to));
	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		to[path->delta[i].slot] += (uint64_t)field(&path->delta[i], v);
}

void cpa_path_set_versions(struct cpa_self *self, struct cpa_path *path, struct cpa_version *v[2])
{
	set_version(self, path, v[0], false);
	set_version(self, path, v[1], true);
	set_deltas(self, path, 0);
	path->most = 0;
}

/* Add the deltas of @path to @v, copies of its versions. */
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

/*
 * Move the deltas of @path into versions of its own, with room for @slot. Return false without
 * memory: the deltas are lost.
 */
static bool fold(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	const struct cpa_version *old = cpa_version_at(path->version),
				 *seen = cpa_version_at(path->observed_version);
	uint32_t n = cpa_path_slots(path);
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
		cpa_path_read(path, CPA_S, v[0]->value, n);
		cpa_path_read(path, CPA_H, v[0]->value + n, n);
		cpa_path_read(path, CPA_O, v[1]->value, n);
		cpa_version_note_slack(v[0]);
	}
	cpa_version_new_slack(self, v[0]);
	cpa_path_set_versions(self, path, v);
	return true;
}

unsigned cpa_delta_search(const struct cpa_path *path, uint32_t slot)
{
	unsigned i = 0;

	while (i < CPA_PATH_DELTAS && path->delta[i].slot && path->delta[i].slot != slot)
		i++;
	return i;
}

/* Return the delta of @slot, a new one if necessary. NULL: all are in use. */
static struct cpa_delta *delta_of(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	unsigned i = cpa_delta_place(self, path, slot);

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

/* Add to H and O in the versions of @path, which no other path may name. */
static void add_to_versions(const struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	struct cpa_version *v = cpa_version_at(path->version);

	v->value[v->slots + slot] += ticks;
	cpa_version_at(path->observed_version)->value[slot] += ticks;
}

void cpa_path_add_large(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	struct cpa_version *v;

	if (!fold(self, path, slot))
		return;
	add_to_versions(path, slot, ticks);
	v = cpa_version_at(path->version);
	v->value[slot] += ticks;
	cpa_version_note_slack(v);
}

/* Return whether no other path names the version at @version and it has @slot. */
static bool is_sole(uint64_t version, uint32_t slot)
{
	const struct cpa_version *v = cpa_version_at(version);

	/* ACQUIRE pairs with cpa_version_put(): all reads through dropped references are over. */
	return v && slot < v->slots && __atomic_load_n(&v->refs, __ATOMIC_ACQUIRE) == 1;
}

/* Make @path name copies of its versions, with room for @slot. Return false without memory. */
static bool copy_versions(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	const struct cpa_version *old = cpa_version_at(path->version),
				 *seen = cpa_version_at(path->observed_version);
	uint32_t n = slot / ROUND * ROUND + ROUND;
	struct cpa_version *v[2];

	n = old && old->slots > n ? old->slots : n;
	n = seen && seen->slots > n ? seen->slots : n;
	if (!cpa_versions_new(self, n, v))
		return false;
	cpa_version_extend(v[0], old, false);
	cpa_version_extend(v[1], seen, true);
	set_version(self, path, v[0], false);
	set_version(self, path, v[1], true);
	return true;
}

void cpa_path_note(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	if ((is_sole(path->version, slot) && is_sole(path->observed_version, slot)) ||
	    copy_versions(self, path, slot))
		add_to_versions(path, slot, ticks);
}

/* Return the delta of @slot; its ticks are reserved. Other deltas move to versions if necessary. */
static struct cpa_delta *room_for(struct cpa_self *self, struct cpa_path *path, uint32_t slot)
{
	struct cpa_delta *d = delta_of(self, path, slot);

	if (unlikely(!d) && cpa_path_squeeze(self, path))
		d = delta_of(self, path, slot);
	if (unlikely(!d)) {
		uint64_t most = path->most;

		fold(self, path, slot);
		path->most = (uint32_t)most; /* part of it is already reserved */
		d = delta_of(self, path, slot);
	}
	return d;
}

void cpa_path_see(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	if (unlikely(ticks > CPA_DELTA_MOST)) {
		if (fold(self, path, slot))
			cpa_version_at(path->observed_version)->value[slot] += ticks;
		return;
	}
	cpa_path_reserve(self, path, ticks);
	room_for(self, path, slot)->o += (int32_t)ticks;
}

void cpa_path_reserve_slow(struct cpa_self *self, struct cpa_path *path, uint64_t ticks)
{
	int32_t most = 0;

	for (int i = 0; i < (int)CPA_PATH_DELTAS && path->delta[i].slot; i++)
		for (enum cpa_vector v = CPA_S; v <= CPA_O; v++)
			if (field(&path->delta[i], v) > most)
				most = (int32_t)field(&path->delta[i], v);
	path->most = (uint32_t)most;
	if (cpa_path_has_room(path, ticks))
		return;
	fold(self, path, 0);
	path->most = (uint32_t)ticks;
}

void cpa_path_add_slow(struct cpa_self *self, struct cpa_path *path, uint32_t slot, uint64_t ticks)
{
	struct cpa_delta *d;

	if (unlikely(!ticks))
		return;
	d = room_for(self, path, slot);
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

void cpa_path_tidy(struct cpa_path *path)
{
	unsigned i = 0;

	while (i < CPA_PATH_DELTAS && path->delta[i].slot)
		i++;
	memset(path->delta + i, 0, (CPA_PATH_DELTAS - i) * sizeof(path->delta[0]));
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
