/* SPDX-License-Identifier: MIT */
#include "preload/core/computes.h"

#include "preload/clock/clock.h"

bool cpa_looks_on;

void cpa_looks_on_init(bool look_on)
{
	cpa_looks_on = look_on && cpa_header()->cores > 1;
}

#define MEAN  150u /* ns: of activities */
#define SLOTS 256u

/*
 * By kernel thread id, modulo the size: threads may share a slot, and what one told stays when it
 * ends. Atomic. A thread writes its slot when that changes, no more: so all processors can have the
 * table in their caches, and nothing else lies beside it.
 */
static bool told[SLOTS] __attribute__((aligned(CPA_CACHE_LINE)));

bool cpa_computes(const struct cpa_thread *row)
{
	return row->process >= row->events * cpa_clock_ticks(MEAN);
}

void cpa_computes_note(const struct cpa_thread *row)
{
	bool *own = &told[row->tid % SLOTS], now = cpa_computes(row);

	/* Relaxed: a hint, here and below. */
	if (__atomic_load_n(own, __ATOMIC_RELAXED) != now)
		__atomic_store_n(own, now, __ATOMIC_RELAXED);
}

bool cpa_computes_other(int tid)
{
	/* Relaxed: as above. */
	return tid && __atomic_load_n(&told[(unsigned)tid % SLOTS], __ATOMIC_RELAXED);
}
