/* SPDX-License-Identifier: MIT */
/*
 * analysis/util/thread_heap.h - a binary heap of threads that knows the place of each
 *
 * The entry with the smallest key is on top; ties: the one pushed first. Heaps that share an array
 * of places never contain the same thread at the same time.
 */
#ifndef CPA_ANALYSIS_UTIL_THREAD_HEAP_H
#define CPA_ANALYSIS_UTIL_THREAD_HEAP_H

#include <libiberty/libiberty.h>
#include <stdbool.h>
#include <stdint.h>

/* Sums over many threads of times in ns, for days, exceed 64 bits. */
typedef __int128 cpa_long;

struct heap_entry {
	cpa_long key;
	uint64_t number; /* sequence number of the push */
	uint32_t thread;
};

struct heap {
	struct heap_entry *entry;
	uint32_t count, room;
};

static inline bool heap_before(const struct heap_entry *a, const struct heap_entry *b)
{
	return a->key != b->key ? a->key < b->key : a->number < b->number;
}

/* Put @entry at @at, or move it up to its place. */
static inline void heap_rise(struct heap *heap, uint32_t *place, uint32_t at,
			     struct heap_entry entry)
{
	for (; at && heap_before(&entry, &heap->entry[(at - 1) / 2]); at = (at - 1) / 2) {
		heap->entry[at] = heap->entry[(at - 1) / 2];
		place[heap->entry[at].thread] = at;
	}
	heap->entry[at] = entry;
	place[entry.thread] = at;
}

static inline void heap_push(struct heap *heap, uint32_t *place, struct heap_entry entry)
{
	if (heap->count == heap->room) {
		heap->room = heap->room ? 2 * heap->room : 16;
		heap->entry = XRESIZEVEC(struct heap_entry, heap->entry, heap->room);
	}
	heap_rise(heap, place, heap->count++, entry);
}

static inline void heap_remove(struct heap *heap, uint32_t *place, uint32_t thread)
{
	struct heap_entry last = heap->entry[--heap->count];
	uint32_t at = place[thread], child;

	if (last.thread == thread)
		return;
	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count &&
		    heap_before(&heap->entry[child + 1], &heap->entry[child]))
			child++;
		if (!heap_before(&heap->entry[child], &last))
			break;
		heap->entry[at] = heap->entry[child];
		place[heap->entry[at].thread] = at;
		at = child;
	}
	heap_rise(heap, place, at, last);
}

#endif
