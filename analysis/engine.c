/* SPDX-License-Identifier: MIT */
/* analysis/engine.c - a virtual clock, and processors that are shared fairly */
#include "analysis/engine.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

/* Shares added up: of days at a nanosecond they have more than 64 bits. */
typedef unsigned __int128 shares;

struct entry {
	shares key; /* when it ends */
	uint64_t number;
	uint32_t thread;
};

/* A binary heap, the entry that ends first on top. */
struct heap {
	struct entry *entry;
	uint32_t count, room;
};

/*
 * The share that each of its threads got so far is `clock`. All get the same, so that an amount of
 * work ends when the clock has advanced by it, whatever begins and ends meanwhile.
 */
struct group {
	uint32_t cores;
	shares clock;
	uint64_t share;
	struct heap ready;
};

struct cpa_engine {
	const struct cpa_placement *placement;
	uint64_t now, number;
	uint32_t cores;
	struct group *group;
	struct heap delays;
};

static bool before(const struct entry *a, const struct entry *b)
{
	return a->key != b->key ? a->key < b->key : a->number < b->number;
}

static void heap_push(struct heap *heap, struct entry entry)
{
	uint32_t at = heap->count++;

	if (heap->count > heap->room) {
		heap->room = heap->room ? 2 * heap->room : 16;
		heap->entry = XRESIZEVEC(struct entry, heap->entry, heap->room);
	}
	for (; at && before(&entry, &heap->entry[(at - 1) / 2]); at = (at - 1) / 2)
		heap->entry[at] = heap->entry[(at - 1) / 2];
	heap->entry[at] = entry;
}

static struct entry heap_pop(struct heap *heap)
{
	struct entry top = heap->entry[0], last = heap->entry[--heap->count];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < heap->count) {
		if (child + 1 < heap->count && before(&heap->entry[child + 1], &heap->entry[child]))
			child++;
		if (!before(&heap->entry[child], &last))
			break;
		heap->entry[at] = heap->entry[child];
		at = child;
	}
	heap->entry[at] = last;
	return top;
}

struct cpa_engine *cpa_engine_new(const struct cpa_placement *placement)
{
	struct cpa_engine *engine = XCNEW(struct cpa_engine);

	engine->placement = placement;
	engine->group = XCNEWVEC(struct group, placement->groups);
	for (uint32_t i = 0; i < placement->groups; i++) {
		engine->group[i].cores = placement->cores[i];
		engine->cores += placement->cores[i];
	}
	return engine;
}

void cpa_engine_free(struct cpa_engine *engine)
{
	for (uint32_t i = 0; i < engine->placement->groups; i++)
		free(engine->group[i].ready.entry);
	free(engine->delays.entry);
	free(engine->group);
	free(engine);
}

uint64_t cpa_engine_now(const struct cpa_engine *engine)
{
	return engine->now;
}

uint64_t cpa_engine_share(uint32_t cores, uint32_t all, uint32_t load, uint32_t ready)
{
	/* Of the load, the group's cores have their part: cores / all. */
	uint64_t sharing = (uint64_t)ready * all + (uint64_t)load * cores;
	uint64_t capacity = (uint64_t)cores * all;

	return sharing <= capacity ? CPA_ENGINE_ONE : CPA_ENGINE_ONE * capacity / sharing;
}

static void share_out(const struct cpa_engine *engine, struct group *group)
{
	if (group->ready.count)
		group->share = cpa_engine_share(group->cores, engine->cores,
						engine->placement->load, group->ready.count);
}

void cpa_engine_work(struct cpa_engine *engine, uint32_t thread, uint64_t ticks)
{
	struct group *group = &engine->group[engine->placement->group[thread]];

	heap_push(&group->ready, (struct entry){ group->clock + (shares)ticks * CPA_ENGINE_ONE,
						 engine->number++, thread });
	share_out(engine, group);
}

void cpa_engine_delay(struct cpa_engine *engine, uint32_t thread, uint64_t ticks)
{
	heap_push(&engine->delays, (struct entry){ engine->now + ticks, engine->number++, thread });
}

/* Ticks until the first work of @group ends. */
static uint64_t remaining(const struct group *group)
{
	shares key = group->ready.entry[0].key;

	if (key <= group->clock)
		return 0;
	return (uint64_t)((key - group->clock + group->share - 1) / group->share);
}

static void advance(struct cpa_engine *engine, uint64_t ticks)
{
	engine->now += ticks;
	for (uint32_t i = 0; i < engine->placement->groups; i++)
		if (engine->group[i].ready.count)
			engine->group[i].clock += (shares)ticks * engine->group[i].share;
}

bool cpa_engine_next(struct cpa_engine *engine, uint32_t *thread)
{
	struct heap *first = NULL;
	struct group *of = NULL;
	uint64_t soonest = UINT64_MAX;

	if (engine->delays.count) {
		first = &engine->delays;
		soonest = (uint64_t)first->entry[0].key - engine->now;
	}
	for (uint32_t i = 0; i < engine->placement->groups; i++) {
		struct group *group = &engine->group[i];

		if (group->ready.count && remaining(group) < soonest) {
			of = group;
			first = &group->ready;
			soonest = remaining(group);
		}
	}
	if (!first)
		return false;
	if (soonest)
		advance(engine, soonest);
	*thread = heap_pop(first).thread;
	if (of)
		share_out(engine, of);
	return true;
}
