/* SPDX-License-Identifier: MIT */
#include "shadow/store/name.h"

#include <string.h>

/* FNV-1a hash; never 0, because 0 is no key. */
static uint64_t hash_of(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

static void fill(void *row, const void *argument)
{
	memcpy(((struct cpa_name *)row)->text, argument, CPA_NAME_SIZE);
}

static uint32_t row_of(const char *text, bool make)
{
	char cut[CPA_NAME_SIZE] = "";
	uint64_t key;
	uint32_t row;

	if (text)
		memcpy(cut, text, strnlen(text, sizeof(cut) - 1));
	/* Another text with the same hash: try the next key. */
	for (key = hash_of(cut); key; key++) {
		row = make ? cpa_table_intern(CPA_TABLE_NAMES, key, fill, cut) :
			     cpa_table_find(CPA_TABLE_NAMES, key);
		if (!row || !strcmp(((struct cpa_name *)cpa_row(CPA_TABLE_NAMES, row))->text, cut))
			return row;
	}
	return 0;
}

uint32_t cpa_name(const char *text)
{
	return row_of(text, true);
}

uint32_t cpa_name_seen(const char *text)
{
	return row_of(text, false);
}

void cpa_mark(uint32_t name, uint32_t thread, uint64_t len, uint64_t now)
{
	struct cpa_mark *mark;
	uint32_t row = 0;

	/* Relaxed: a bound. Threads that race past it leave a few rows unused. */
	if (__atomic_load_n(&cpa_table(CPA_TABLE_MARKS)->used, __ATOMIC_RELAXED) < CPA_MARKS_MAX)
		row = cpa_table_append(CPA_TABLE_MARKS);
	if (!row || row > CPA_MARKS_MAX) {
		cpa_diag(CPA_DIAG_MARKS_REFUSED);
		return;
	}
	mark = cpa_row(CPA_TABLE_MARKS, row);
	mark->ticks = now;
	mark->len = len;
	mark->name = name;
	mark->thread = thread;
	/* RELEASE: readers of a live session take a row with a key as complete. */
	__atomic_store_n(&mark->key, row, __ATOMIC_RELEASE);
}
