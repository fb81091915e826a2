/* SPDX-License-Identifier: MIT */
/* analysis/profile/lock_arrays.c - locks in arrays: "bank.m[0..63]" as a whole */
#include "analysis/profile/lock_arrays.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/profile/objects.h"

/* An object, and its name without the numbers in brackets. */
struct member {
	const struct cpa_object_figures *object;
	char *key;
};

/* The length of the index "[12" at @text; 0: there is none. */
static size_t index_length(const char *text)
{
	size_t digits = *text == '[' ? strspn(text + 1, "0123456789") : 0;

	return digits && text[1 + digits] == ']' ? 1 + digits : 0;
}

/* "bank.m[]" of "bank.m[7]", which the caller frees; NULL: no index. */
static char *key_of(const char *name)
{
	char *key = xstrdup(name), *to = key;
	bool found = false;

	while (*name) {
		size_t length = index_length(name);

		found |= length > 0;
		*to++ = *name;
		name += length ? length : 1;
	}
	*to = '\0';
	if (found)
		return key;
	free(key);
	return NULL;
}

static int compare_members(const void *a, const void *b)
{
	const struct member *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	order = order ? order : strcmp(x->object->kind, y->object->kind);
	return order ? order : strcmp(x->object->class, y->object->class);
}

static bool same_array(const struct member *a, const struct member *b)
{
	return strcmp(a->key, b->key) == 0 && strcmp(a->object->kind, b->object->kind) == 0;
}

/* The @number-th index in @name; 0: it has fewer, as "m[]" has. */
static uint64_t index_in(const char *name, size_t number)
{
	for (; *name; name++)
		if (index_length(name) && number-- == 0)
			return strtoull(name + 1, NULL, 10);
	return 0;
}

/* "bank.m[0..63]" for the @count @members; the caller frees it. */
static char *name_of(const struct member *members, size_t count)
{
	char *name = xstrdup(""), *longer;
	size_t number = 0;

	for (const char *at = members[0].object->class; *at;) {
		size_t length = index_length(at);
		uint64_t low = UINT64_MAX, high = 0;

		for (size_t i = 0; i < count && length; i++) {
			uint64_t index = index_in(members[i].object->class, number);

			low = index < low ? index : low;
			high = index > high ? index : high;
		}
		number += length > 0;
		longer = low < high ? cpa_format_text("%s[%" PRIu64 "..%" PRIu64, name, low, high) :
				      cpa_format_text("%s%.*s", name, length ? (int)length : 1, at);
		at += length ? length : 1;
		free(name);
		name = longer;
	}
	return name;
}

static struct cpa_lock_array sum(const struct member *members, size_t count)
{
	struct cpa_lock_array array = {
		.name = name_of(members, count),
		.kind = members[0].object->kind,
		.locks = count,
		.row = xcalloc(count, sizeof(*array.row)),
		.wait_margin_s = NAN,
		.hold_margin_s = NAN,
		.busiest = members[0].object,
	};

	for (size_t i = 0; i < count; i++) {
		const struct cpa_object_figures *object = members[i].object;

		array.row[i] = object->row;
		array.acquisitions += object->acquisitions;
		array.contended += object->contended;
		array.handoffs += object->handoffs;
		array.wait_s += object->wait_s;
		array.hold_s += object->hold_s;
		if (object->wait_s > array.busiest->wait_s ||
		    (object->wait_s >= array.busiest->wait_s &&
		     object->acquisitions > array.busiest->acquisitions))
			array.busiest = object;
	}
	return array;
}

static int compare_arrays(const void *a, const void *b)
{
	const struct cpa_lock_array *x = a, *y = b;

	if (x->wait_s != y->wait_s)
		return x->wait_s > y->wait_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct cpa_lock_arrays *cpa_lock_arrays_build(const struct cpa_profile *profile)
{
	struct cpa_lock_arrays *arrays = xcalloc(1, sizeof(*arrays));
	struct member *members = xcalloc(profile->objects + 1, sizeof(*members));
	size_t count = 0, next;

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];
		char *key = object->by == CPA_BY_VARIABLE ? key_of(object->class) : NULL;

		if (key)
			members[count++] = (struct member){ object, key };
	}
	qsort(members, count, sizeof(*members), compare_members);
	arrays->array = xcalloc(count + 1, sizeof(*arrays->array));
	for (size_t i = 0; i < count; i = next) {
		for (next = i + 1; next < count && same_array(&members[i], &members[next]); next++)
			;
		if (next - i > 1)
			arrays->array[arrays->arrays++] = sum(&members[i], next - i);
	}
	qsort(arrays->array, arrays->arrays, sizeof(*arrays->array), compare_arrays);
	for (size_t i = 0; i < count; i++)
		free(members[i].key);
	free(members);
	return arrays;
}

void cpa_lock_arrays_free(struct cpa_lock_arrays *arrays)
{
	for (size_t i = 0; arrays && i < arrays->arrays; i++) {
		free(arrays->array[i].name);
		free(arrays->array[i].row);
	}
	if (arrays)
		free(arrays->array);
	free(arrays);
}
