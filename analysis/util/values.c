/* SPDX-License-Identifier: MIT */
#include "analysis/util/values.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "shadow/store/hash.h"

#define FIRST_SIZE 64

static size_t place_of(const struct cpa_map *m, uint64_t key)
{
	return (size_t)(cpa_hash(key) >> 20) & (m->size - 1);
}

void cpa_map_fini(struct cpa_map *m)
{
	free(m->key);
	free(m->word);
	*m = (struct cpa_map){ 0 };
}

/* The index of @key, or the free index for it. */
static size_t find(const struct cpa_map *m, uint64_t key)
{
	size_t i = place_of(m, key);

	while (m->key[i] && m->key[i] != key)
		i = (i + 1) & (m->size - 1);
	return i;
}

uint64_t cpa_map_get(const struct cpa_map *m, uint64_t key)
{
	size_t i;

	if (!m->used)
		return 0;
	i = find(m, key);
	return m->key[i] ? m->word[i] : 0;
}

static void grow(struct cpa_map *m)
{
	struct cpa_map bigger = { .size = m->size ? 2 * m->size : FIRST_SIZE };

	bigger.key = xcalloc(bigger.size, sizeof(*bigger.key));
	bigger.word = xcalloc(bigger.size, sizeof(*bigger.word));
	for (size_t i = 0; i < m->size; i++)
		if (m->key[i])
			cpa_map_set(&bigger, m->key[i], m->word[i]);
	cpa_map_fini(m);
	*m = bigger;
}

void cpa_map_set(struct cpa_map *m, uint64_t key, uint64_t word)
{
	size_t i;

	if (2 * m->used >= m->size)
		grow(m);
	i = find(m, key);
	m->used += !m->key[i];
	m->key[i] = key;
	m->word[i] = word;
}

void cpa_map_remove(struct cpa_map *m, uint64_t key)
{
	size_t hole, i;

	if (!m->used)
		return;
	hole = i = find(m, key);
	if (!m->key[i])
		return;
	m->used--;
	/* Move later entries of the chain up if that brings them nearer to their own places. */
	for (;;) {
		i = (i + 1) & (m->size - 1);
		if (!m->key[i])
			break;
		if (((i - place_of(m, m->key[i])) & (m->size - 1)) >=
		    ((i - hole) & (m->size - 1))) {
			m->key[hole] = m->key[i];
			m->word[hole] = m->word[i];
			hole = i;
		}
	}
	m->key[hole] = 0;
}

void cpa_values_init(struct cpa_values *v, unsigned width)
{
	*v = (struct cpa_values){ .width = width };
}

void cpa_values_clear(struct cpa_values *v, unsigned width)
{
	struct cpa_map kept = v->kept;

	v->kept = (struct cpa_map){ 0 };
	cpa_values_fini(v);
	cpa_values_init(v, width);
	v->kept = kept;
}

void cpa_values_fini(struct cpa_values *v)
{
	cpa_map_fini(&v->by_name);
	cpa_map_fini(&v->by_owner);
	cpa_map_fini(&v->kept);
	free(v->row);
	free(v->left);
	free(v->spare);
}

bool cpa_values_kept(const struct cpa_values *v, uint64_t name)
{
	return v->kept.used && cpa_map_get(&v->kept, name);
}

static size_t new_row(struct cpa_values *v)
{
	if (v->spares)
		return v->spare[--v->spares];
	if (v->rows == v->room) {
		v->room = v->room ? 2 * v->room : FIRST_SIZE;
		v->row = xrealloc(v->row, v->room * v->width * sizeof(*v->row));
		v->left = xrealloc(v->left, v->room * sizeof(*v->left));
		v->spare = xrealloc(v->spare, v->room * sizeof(*v->spare));
	}
	return v->rows++;
}

uint64_t *cpa_values_put(struct cpa_values *v, uint64_t name, uint32_t uses)
{
	uint64_t at = cpa_map_get(&v->by_name, name);

	if (!at) {
		at = new_row(v) + 1;
		cpa_map_set(&v->by_name, name, at);
	}
	v->left[at - 1] = cpa_values_kept(v, name) ? CPA_USES_ANY : uses;
	if (v->by_name.used > v->most)
		v->most = v->by_name.used;
	return v->row + (at - 1) * v->width;
}

const uint64_t *cpa_values_get(const struct cpa_values *v, uint64_t name)
{
	uint64_t at = cpa_map_get(&v->by_name, name);

	return at ? v->row + (at - 1) * v->width : NULL;
}

void cpa_values_drop(struct cpa_values *v, uint64_t name)
{
	uint64_t at = cpa_map_get(&v->by_name, name);

	if (!at || cpa_values_kept(v, name))
		return;
	cpa_map_remove(&v->by_name, name);
	v->spare[v->spares++] = (uint32_t)(at - 1);
}

void cpa_values_use(struct cpa_values *v, uint64_t name)
{
	uint64_t at = cpa_map_get(&v->by_name, name);

	if (at && v->left[at - 1] != CPA_USES_ANY && !--v->left[at - 1])
		cpa_values_drop(v, name);
}

void cpa_values_own(struct cpa_values *v, uint64_t owner, uint64_t name)
{
	uint64_t before = cpa_map_get(&v->by_owner, owner);

	if (before && before != name)
		cpa_values_drop(v, before);
	cpa_map_set(&v->by_owner, owner, name);
}

bool cpa_values_owns(const struct cpa_values *v, uint64_t owner, uint64_t name)
{
	return cpa_map_get(&v->by_owner, owner) == name;
}

bool cpa_values_keep(struct cpa_values *v, uint64_t name)
{
	if (cpa_map_get(&v->kept, name))
		return false;
	cpa_map_set(&v->kept, name, 1);
	return true;
}
