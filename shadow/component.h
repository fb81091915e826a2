/* SPDX-License-Identifier: MIT */
/*
 * shadow/component.h - components and their slots
 *
 * A component is named by kind and address. It gets a slot of the paths' vectors while its kind
 * has some left; then it shares the slot that its hash names with others of its kind: coarser,
 * not lost, and counted. Any thread may call; lock-free.
 */
#ifndef CPA_SHADOW_COMPONENT_H
#define CPA_SHADOW_COMPONENT_H

#include "shadow/table.h"

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

static inline uint64_t cpa_component_key(enum cpa_component_kind kind, enum cpa_class_by by,
					 uint64_t address)
{
	return (uint64_t)kind << 56 | (uint64_t)by << 48 | (address & ((UINT64_C(1) << 48) - 1));
}

/* Divide header.slots among the kinds; at creation of a session. */
CPA_HIDDEN void cpa_component_init(void);

/* The row of the component @name, made if it is new. 0: no space. */
CPA_HIDDEN uint32_t cpa_component_intern(const struct cpa_component_name *name);

/* All slots handed out so far are below. */
CPA_HIDDEN uint32_t cpa_component_slots(void);

/* The slot of component @row; CPA_SLOT_NONE for row 0. */
CPA_HIDDEN uint32_t cpa_component_slot(uint32_t row);

#endif
