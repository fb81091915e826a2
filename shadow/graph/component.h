/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/component.h - components and their slots
 *
 * A component is named by kind and address, in the module that was there then. It gets a slot of
 * the paths' vectors for itself while its kind has some left; then it shares one of its kind's
 * buckets, the one that its hash names: coarser, not lost, and counted. The search
 * (shadow/graph/search.h) may give it another slot at any time. Any thread may call; lock-free.
 *
 * Who keeps a slot for longer than it is inside our code keeps the component with it, and asks
 * again when header.moves has changed. Functions, which activities remember by the dozen,
 * go by an id that never changes, {row:20, slot at first use:12}; row 0: a slot is all that is
 * known of it.
 */
#ifndef CPA_SHADOW_GRAPH_COMPONENT_H
#define CPA_SHADOW_GRAPH_COMPONENT_H

#include "shadow/store/self.h"
#include "shadow/store/table.h"

#define CPA_SLOT_BITS 12
#define CPA_SLOT_MASK (CPA_MOST_SLOTS - 1)

struct cpa_component_name {
	enum cpa_component_kind kind;
	enum cpa_class_by by;
	uint64_t address;
	uint32_t module;
	uint32_t object_kind;
};

static inline struct cpa_component *cpa_component(uint32_t row)
{
	return cpa_row(CPA_TABLE_COMPONENTS, row);
}

/* @address, of module row @module or 0, as it is in keys: not as that of a module before it. */
static inline uint64_t cpa_address_key(uint64_t address, uint32_t module)
{
	uint64_t layer =
		module ? ((const struct cpa_module *)cpa_row(CPA_TABLE_MODULES, module))->layer : 0;

	return layer << 48 | (address & CPA_ADDRESS_MASK);
}

static inline uint64_t cpa_component_key(const struct cpa_component_name *name)
{
	return (uint64_t)name->kind << 60 | (uint64_t)name->by << 56 |
	       cpa_address_key(name->address, name->module);
}

/*
 * Divide header.slots among the kinds; at creation of a session. Return 0 or -errno. header.moves:
 * how often components got other slots, 0: never; written by the search. header.search_due: the
 * clock at which that takes its next step; UINT64_MAX: nobody shares a bucket yet.
 */
CPA_HIDDEN int cpa_component_init(void);

/* The row of the component @name, made if it is new. 0: no space. */
CPA_HIDDEN uint32_t cpa_component_intern(const struct cpa_component_name *name);

/* All slots handed out so far are below. */
CPA_HIDDEN uint32_t cpa_component_slots(void);

/* The slot of component @row; CPA_SLOT_NONE for row 0. */
static inline uint32_t cpa_component_slot(uint32_t row)
{
	/* Relaxed: who must not miss a move has read header.moves before. */
	return row ? __atomic_load_n(&cpa_component(row)->slot, __ATOMIC_RELAXED) :
		     (uint32_t)CPA_SLOT_NONE;
}

/* ACQUIRE: who sees a move sees the slots that came with it. Pairs with cpa_search_step(). */
static inline uint32_t cpa_component_moved(void)
{
	return __atomic_load_n(&cpa_header()->moves, __ATOMIC_ACQUIRE);
}

/* The slot of component @row, which had @slot when nothing had moved yet. */
static inline uint32_t cpa_component_now(uint32_t row, uint32_t slot)
{
	return likely(!cpa_component_moved()) ? slot : cpa_component_slot(row);
}

/* The id of the function of component @row, not 0. */
static inline uint32_t cpa_function_id(uint32_t row)
{
	uint32_t first = cpa_component(row)->first;

	return row < 1u << (32 - CPA_SLOT_BITS) ? row << CPA_SLOT_BITS | first : first;
}

/* The slot of the function with @id. */
static inline uint32_t cpa_function_slot(uint32_t id)
{
	uint32_t row = id >> CPA_SLOT_BITS;

	return unlikely(row && cpa_component_moved()) ? cpa_component_slot(row) :
							id & CPA_SLOT_MASK;
}

/* For the search, in a session of @slots: the m whose top m it finds. */
static inline uint32_t cpa_component_top_of(uint32_t slots)
{
	return slots / 64 > 4 ? slots / 64 : 4;
}

static inline uint32_t cpa_component_top(void)
{
	return cpa_component_top_of(cpa_header()->slots);
}

/* Whether @slot is a bucket. */
CPA_HIDDEN bool cpa_component_is_bucket(uint32_t slot);

/* The bucket of @c; CPA_SLOT_NONE if there is none. */
CPA_HIDDEN uint32_t cpa_component_bucket(const struct cpa_component *c);

/* A slot that nobody had; CPA_SLOT_NONE: there are none left. */
CPA_HIDDEN uint32_t cpa_component_fresh_slot(void);

#endif
