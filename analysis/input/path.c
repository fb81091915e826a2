/* SPDX-License-Identifier: MIT */
/* analysis/input/path.c - paths of the session with a value for each component slot */
#include "analysis/input/path.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Never below 0; a damaged file may hold any number. */
static uint64_t add_signed(uint64_t a, int32_t b)
{
	uint64_t less = b < 0 ? (uint64_t) - (int64_t)b : 0;

	return b >= 0 ? add(a, (uint64_t)b) : a > less ? a - less : 0;
}

void cpa_vector_init(struct cpa_vector *vector, uint32_t slots)
{
	uint64_t *values = xcalloc(3 * (size_t)slots, sizeof(*values));

	*vector = (struct cpa_vector){
		.slots = slots,
		.slack = values,
		.share = values + slots,
		.observed = values + 2 * (size_t)slots,
	};
}

void cpa_vector_fini(struct cpa_vector *vector)
{
	free(vector->slack);
}

/*
 * Read the @count vectors of the version at @offset, @slots values each at most; offset 0: no
 * version.
 */
static bool read_version(const struct cpa_dump *dump, uint64_t offset, uint32_t slots,
			 uint64_t *const vector[], size_t count)
{
	struct cpa_version version;

	if (!offset)
		return true;
	if (!cpa_dump_bytes(dump, offset, &version, sizeof(version)) || version.slots > slots)
		return false;
	offset += sizeof(version);
	for (size_t i = 0; i < count; i++) {
		uint64_t size = version.slots * sizeof(uint64_t);

		if (!cpa_dump_bytes(dump, offset, vector[i], size))
			return false;
		offset += size;
	}
	return true;
}

bool cpa_vector_read(struct cpa_vector *vector, const struct cpa_dump *dump,
		     const struct cpa_path *path)
{
	uint64_t *const inherent[] = { vector->slack, vector->share };

	memset(vector->slack, 0, 3 * vector->slots * sizeof(*vector->slack));
	vector->len = path->len;
	vector->released = path->released;
	vector->stack = path->stack;
	memcpy(vector->kind, path->observed, sizeof(vector->kind));
	if (!read_version(dump, path->version, vector->slots, inherent, ARRAY_SIZE(inherent)) ||
	    !read_version(dump, path->observed_version, vector->slots, &vector->observed, 1))
		return false;
	for (size_t i = 0; i < CPA_PATH_DELTAS && path->delta[i].slot; i++) {
		const struct cpa_delta *d = &path->delta[i];

		if (d->slot >= vector->slots)
			return false;
		vector->slack[d->slot] = add_signed(vector->slack[d->slot], d->s);
		vector->share[d->slot] = add_signed(vector->share[d->slot], d->h);
		vector->observed[d->slot] = add_signed(vector->observed[d->slot], d->o);
	}
	for (uint32_t c = 0; c < vector->slots; c++) {
		if (vector->slack[c] > vector->len)
			vector->slack[c] = vector->len;
		if (vector->share[c] > vector->len)
			vector->share[c] = vector->len;
	}
	return true;
}

void cpa_vector_join(struct cpa_vector *local, const struct cpa_vector *remote)
{
	bool longer = remote->len > local->len;
	uint64_t distance = longer ? remote->len - local->len : local->len - remote->len;

	for (uint32_t c = 0; c < local->slots; c++) {
		uint64_t winner = longer ? remote->slack[c] : local->slack[c];
		uint64_t other = add(longer ? local->slack[c] : remote->slack[c], distance);

		local->slack[c] = winner < other ? winner : other;
		if (longer)
			local->share[c] = remote->share[c];
	}
	if (longer) {
		local->len = remote->len;
		local->stack = remote->stack;
	}
}
