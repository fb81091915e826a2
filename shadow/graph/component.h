/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/component.h - components and their slots
 *
 * A component is identified by kind and address, within the module loaded there at the time; a function
 * that is divided by its callers, by its calling context. It gets a slot of the paths' vectors for itself
 * while its kind has free ones; after that it shares one of its kind's buckets, selected by its hash. Its
 * time is then less detailed, but not lost, and this is counted. The search (shadow/graph/search.h) may move
 * it to another slot at any time. Any thread may call; lock-free.
 *
 * Code that keeps a slot across calls of cpa also keeps the component, and looks the slot up again
 * when header.moves has changed. Activities remember dozens of functions, so these have an id that
 * never changes, {row:20, slot at first use:12}; with row 0 only the slot is known.
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
	uint32_t context; /* with CPA_BY_CALLERS, as in struct cpa_component */
};

static inline struct cpa_component *cpa_component(uint32_t row)
{
	return cpa_row(CPA_TABLE_COMPONENTS, row);
}

/*
 * Return @address, in module row @module (0: none), as used in keys: it includes the module's
 * layer, to tell it from addresses of modules loaded there before.
 */
static inline uint64_t cpa_address_key(uint64_t address, uint32_t module)
{
	uint64_t layer =
		module ? ((const struct cpa_module *)cpa_row(CPA_TABLE_MODULES, module))->layer : 0;

	return layer << 48 | (address & CPA_ADDRESS_MASK);
}

static inline uint64_t cpa_component_key(const struct cpa_component_name *name)
{
	return (uint64_t)name->kind << 60 | (uint64_t)name->by << 56 |
	       (name->context ? name->context : cpa_address_key(name->address, name->module));
}

/*
 * Divide header.slots among the kinds; called when a session is created. Return 0 or -errno.
 * header.moves counts how often components moved (0: never), written by the search.
 * header.search_due is the clock of the search's next step, ticks; UINT64_MAX while no bucket is
 * shared.
 */
CPA_HIDDEN int cpa_component_init(void);

/* Return the row of component @name; it is made if it is new. 0: no space. */
CPA_HIDDEN uint32_t cpa_component_intern(const struct cpa_component_name *name);

/* Return an upper limit: all slots handed out so far are smaller. */
CPA_HIDDEN uint32_t cpa_component_slots(void);

/* Return the slot of component @row; CPA_SLOT_NONE for row 0. */
static inline uint32_t cpa_component_slot(uint32_t row)
{
	/* Relaxed: code that must not miss a move has loaded header.moves before. */
	return row ? __atomic_load_n(&cpa_component(row)->slot, __ATOMIC_RELAXED) :
		     (uint32_t)CPA_SLOT_NONE;
}

/* ACQUIRE: a seen move implies the slots that came with it. Pairs with cpa_search_step(). */
static inline uint32_t cpa_component_moved(void)
{
	return __atomic_load_n(&cpa_header()->moves, __ATOMIC_ACQUIRE);
}

/* Return the current slot of component @row, which had @slot before any component moved. */
static inline uint32_t cpa_component_now(uint32_t row, uint32_t slot)
{
	return likely(!cpa_component_moved()) ? slot : cpa_component_slot(row);
}

/* Return the id of the function of component @row, not 0. */
static inline uint32_t cpa_function_id(uint32_t row)
{
	uint32_t first = cpa_component(row)->first;

	return row < 1u << (32 - CPA_SLOT_BITS) ? row << CPA_SLOT_BITS | first : first;
}

/* Return the current slot of the function with @id. */
static inline uint32_t cpa_function_slot(uint32_t id)
{
	uint32_t row = id >> CPA_SLOT_BITS;

	return unlikely(row && cpa_component_moved()) ? cpa_component_slot(row) :
							id & CPA_SLOT_MASK;
}

/* Return m for a session of @slots: the search finds the top m components. */
static inline uint32_t cpa_component_top_of(uint32_t slots)
{
	return slots / 64 > 4 ? slots / 64 : 4;
}

static inline uint32_t cpa_component_top(void)
{
	return cpa_component_top_of(cpa_header()->slots);
}

/* Return whether @slot is a bucket. */
CPA_HIDDEN bool cpa_component_is_bucket(uint32_t slot);

/* Return the bucket of @c; CPA_SLOT_NONE: none. */
CPA_HIDDEN uint32_t cpa_component_bucket(const struct cpa_component *c);

/* Return a slot that was never used; CPA_SLOT_NONE: none is left. */
CPA_HIDDEN uint32_t cpa_component_fresh_slot(void);

#endif
