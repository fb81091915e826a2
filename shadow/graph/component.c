/* SPDX-License-Identifier: MIT */
#include "shadow/arch/arch.h"
#include "shadow/graph/component.h"

#include <errno.h>

#include "shadow/store/hash.h"

#define MOST_BUCKETS (2 * CPA_MOST_SLOTS / 64)
#define PATIENCE     1000u /* times that each of them is looked at */

/* Families share a quota of slots: the kinds, functions including callees (CPA_BY_CALL), and */
#define CALLS	 (CPA_ACTIVITY + 1)
#define SEARCH	 (CPA_ACTIVITY + 2) /* slots handed out by the search */
#define FAMILIES (CPA_ACTIVITY + 3)

/*
 * Slots are handed out in order of need, whatever the kind, so that vectors are as short as
 * possible; quotas keep one family from taking all. Atomic; relaxed order suffices, because a slot
 * number publishes no data.
 */
struct slots {
	uint32_t next;
	uint32_t own[FAMILIES], own_used[FAMILIES]; /* slots for one component each */
	uint32_t buckets[FAMILIES], buckets_used[FAMILIES];
	uint16_t bucket[FAMILIES][MOST_BUCKETS]; /* slot by hash; 0: not handed out */
	bool is_bucket[CPA_MOST_SLOTS];
};

static struct slots *slots(void)
{
	return cpa_at(cpa_header()->slot_state);
}

/* At most a quarter of a family's slots are buckets: 2m, as the search requires. */
static void set_quota(uint32_t family, uint32_t quota)
{
	uint32_t buckets = quota / 4 < 2 * cpa_component_top() ? (quota + 3) / 4 :
								 2 * cpa_component_top();

	/* Calls nest: two functions in one slot would both count the time of the inner one. */
	if (family == CPA_ACTIVITY || family == CALLS || family == SEARCH)
		buckets = 0;
	slots()->buckets[family] = buckets;
	slots()->own[family] = quota - buckets;
}

int cpa_component_init(void)
{
	static const uint32_t percent[FAMILIES] = {
		[CPA_FUNCTION] = 29, [CPA_LOCK] = 20,	  [CPA_REGION] = 6, [CPA_THREAD] = 5,
		[CPA_QUEUE] = 4,     [CPA_ACTIVITY] = 20, [CALLS] = 10,	    [SEARCH] = 6,
	};
	uint32_t total = cpa_header()->slots, external;

	if (total > CPA_MOST_SLOTS)
		total = cpa_header()->slots = CPA_MOST_SLOTS;
	cpa_header()->slot_state = cpa_session_alloc(sizeof(struct slots), CPA_CACHE_LINE);
	if (!cpa_header()->slot_state)
		return -ENOMEM;
	cpa_header()->moves = 0;
	cpa_header()->search_due = UINT64_MAX;
	slots()->next = CPA_SLOT_FIRST;
	total -= CPA_SLOT_FIRST;
	/*
	 * A slot for each kind of external time and, if there are too few slots for that, a bucket
	 * for each class: what weighs in the inherent path shares none with what does not.
	 */
	external = total / 8 < CPA_EXTERNALS ? total / 8 : CPA_EXTERNALS;
	slots()->own[CPA_EXTERNAL] = external;
	slots()->buckets[CPA_EXTERNAL] = total >= 4 * CPA_EXT_CLASSES ? CPA_EXT_CLASSES : 0;
	total -= external + slots()->buckets[CPA_EXTERNAL];
	for (uint32_t k = 0; k < FAMILIES; k++)
		if (k != CPA_EXTERNAL)
			set_quota(k, total * percent[k] / 100);
	return 0;
}

static uint32_t next_slot(void)
{
	return __atomic_fetch_add(&slots()->next, 1, __ATOMIC_RELAXED);
}

/* Take one of @quota. Return false if none is left. */
static bool take(uint32_t *used, uint32_t quota)
{
	if (__atomic_load_n(used, __ATOMIC_RELAXED) < quota &&
	    __atomic_fetch_add(used, 1, __ATOMIC_RELAXED) < quota)
		return true;
	return false;
}

static uint32_t family_of(const struct cpa_component *c)
{
	return c->by == CPA_BY_CALL ? (uint32_t)CALLS : c->kind;
}

uint32_t cpa_component_bucket(const struct cpa_component *c)
{
	uint32_t family = family_of(c), count = slots()->buckets[family];
	uint64_t hash = c->kind == CPA_EXTERNAL ? cpa_external_class(c->address) :
						  cpa_hash(c->address + c->context) >> 40;

	for (uint32_t i = 0; i < count; i++) {
		uint16_t *at = &slots()->bucket[family][(hash + i) % count], none = 0;
		uint32_t slot = __atomic_load_n(at, __ATOMIC_RELAXED);

		if (slot)
			return slot;
		/*
		 * Racing threads may use up the slot of a bucket; some components then share the
		 * next bucket.
		 */
		if (!take(&slots()->buckets_used[family], count))
			continue;
		slot = next_slot();
		__atomic_store_n(&slots()->is_bucket[slot], true, __ATOMIC_RELAXED);
		return __atomic_compare_exchange_n(at, &none, (uint16_t)slot, false,
						   __ATOMIC_RELAXED, __ATOMIC_RELAXED) ?
			       slot :
			       none;
	}
	/* The thread that was faster is about to store the slot that it took. */
	for (uint32_t i = 0; i < PATIENCE * count; i++) {
		uint32_t slot =
			__atomic_load_n(&slots()->bucket[family][i % count], __ATOMIC_RELAXED);

		if (slot)
			return slot;
		cpa_arch_pause();
	}
	return CPA_SLOT_NONE;
}

bool cpa_component_is_bucket(uint32_t slot)
{
	return __atomic_load_n(&slots()->is_bucket[slot], __ATOMIC_RELAXED);
}

uint32_t cpa_component_fresh_slot(void)
{
	return take(&slots()->own_used[SEARCH], slots()->own[SEARCH]) ? next_slot() :
									(uint32_t)CPA_SLOT_NONE;
}

static uint32_t take_slot(struct cpa_component *c)
{
	uint32_t family = family_of(c), slot;
	uint64_t never = UINT64_MAX;

	if (take(&slots()->own_used[family], slots()->own[family]))
		return next_slot();
	slot = cpa_component_bucket(c);
	/* An activity without a slot of its own has no weight on the path; the report says so. */
	if (slot) {
		c->shared = 1;
		cpa_diag(CPA_DIAG_ALIASED_CLASSES);
		__atomic_compare_exchange_n(&cpa_header()->search_due, &never, 0, false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	}
	return slot;
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
	c->context = name->context;
	c->slot = take_slot(c);
	c->first = c->slot;
}

uint32_t cpa_component_intern(const struct cpa_component_name *name)
{
	return cpa_table_intern(CPA_TABLE_COMPONENTS, cpa_component_key(name), fill, name);
}

uint32_t cpa_component_slots(void)
{
	uint32_t next = __atomic_load_n(&slots()->next, __ATOMIC_RELAXED);

	return next < cpa_header()->slots ? next : cpa_header()->slots;
}
