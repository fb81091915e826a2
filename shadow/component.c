/* SPDX-License-Identifier: MIT */
#include "shadow/component.h"

#define MOST_SLOTS 4096u /* the slot field of a delta has room for more, a vector should not */

/* Kinds of components as far as slots go: functions with what they call (CPA_BY_CALL) are one. */
#define CALLS	 (CPA_ACTIVITY + 1)
#define FAMILIES (CPA_ACTIVITY + 2)

/*
 * Slots are handed out in the order of need, whatever the kind, so that vectors stay as short as
 * what is in use. of[family][i] is the i-th slot of a family; its quota keeps one from taking
 * all. Atomic; relaxed order suffices, as a slot number brings no data with it.
 */
static struct {
	uint32_t next;
	uint32_t quota[FAMILIES];
	uint32_t used[FAMILIES];
	uint16_t of[FAMILIES][MOST_SLOTS];
} slots;

void cpa_component_init(void)
{
	static const uint32_t percent[FAMILIES] = {
		[CPA_FUNCTION] = 31, [CPA_LOCK] = 21,	 [CPA_REGION] = 4,    [CPA_THREAD] = 6,
		[CPA_QUEUE] = 4,     [CPA_EXTERNAL] = 4, [CPA_ACTIVITY] = 21, [CALLS] = 9,
	};
	uint32_t total = cpa_header()->slots;

	if (total > MOST_SLOTS)
		total = cpa_header()->slots = MOST_SLOTS;
	slots.next = CPA_SLOT_FIRST;
	for (int k = 0; k < FAMILIES; k++) {
		slots.quota[k] = (total - CPA_SLOT_FIRST) * percent[k] / 100;
		slots.used[k] = 0;
	}
}

static uint32_t take_slot(const struct cpa_component *c, uint32_t *shared)
{
	uint32_t family = c->by == CPA_BY_CALL ? (uint32_t)CALLS : c->kind, slot;
	uint32_t n = __atomic_fetch_add(&slots.used[family], 1, __ATOMIC_RELAXED);

	if (n < slots.quota[family]) {
		slot = __atomic_fetch_add(&slots.next, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&slots.of[family][n], (uint16_t)slot, __ATOMIC_RELAXED);
		return slot;
	}
	__atomic_fetch_sub(&slots.used[family], 1, __ATOMIC_RELAXED);
	/*
	 * An activity without a slot of its own has no on-path weight; the report says so. Calls
	 * nest: two that shared a slot would both count the time of the inner one.
	 */
	if (family == CPA_ACTIVITY || family == CALLS || !slots.quota[family])
		return CPA_SLOT_NONE;
	*shared = 1;
	cpa_diag(CPA_DIAG_ALIASED_CLASSES);
	n = (uint32_t)((c->address * UINT64_C(0x9e3779b97f4a7c15)) >> 40) % slots.quota[family];
	return __atomic_load_n(&slots.of[family][n], __ATOMIC_RELAXED);
}

static void fill(void *row, const void *argument)
{
	const struct cpa_component_name *name = argument;
	struct cpa_component *c = row;

	c->kind = name->kind;
	c->by = name->by;
	c->address = name->address;
	c->module = name->module;
	c->object_kind = name->object_kind;
	c->slot = take_slot(c, &c->shared);
}

uint32_t cpa_component_intern(const struct cpa_component_name *name)
{
	uint64_t key = cpa_component_key(name->kind, name->by, name->address);

	return cpa_table_intern(CPA_TABLE_COMPONENTS, key, fill, name);
}

uint32_t cpa_component_slot(uint32_t row)
{
	return row ? cpa_component(row)->slot : (uint32_t)CPA_SLOT_NONE;
}

uint32_t cpa_component_slots(void)
{
	uint32_t next = __atomic_load_n(&slots.next, __ATOMIC_RELAXED);

	return next < cpa_header()->slots ? next : cpa_header()->slots;
}
