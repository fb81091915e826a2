/* SPDX-License-Identifier: MIT */
#include "preload/core/computes.h"

bool cpa_looks_on;

void cpa_looks_on_init(bool look_on)
{
	cpa_looks_on = look_on && cpa_header()->cores > 1;
}

#define SLOTS 256u

/*
 * cpa_computes() of the thread with the kernel id of the index, modulo the size. Threads may share a
 * slot; a slot stays as it is when its thread ends. Atomic. A thread writes its slot only when the
 * value changes, so that all processors can keep the table in their caches; it has cache lines of
 * its own.
 */
static bool told[SLOTS] __attribute__((aligned(CPA_CACHE_LINE)));

bool cpa_computes(const struct cpa_worker *w)
{
	const struct cpa_thread *row = w->self.row;

	return row->process >= row->events * 2 * cpa_clock_operation(&w->clock);
}

void cpa_computes_note(const struct cpa_worker *w)
{
	bool *own = &told[w->self.row->tid % SLOTS], now = cpa_computes(w);

	/* Relaxed: a hint. */
	if (__atomic_load_n(own, __ATOMIC_RELAXED) != now)
		__atomic_store_n(own, now, __ATOMIC_RELAXED);
}

bool cpa_computes_other(int tid)
{
	/* Relaxed: a hint. */
	return tid && __atomic_load_n(&told[(unsigned)tid % SLOTS], __ATOMIC_RELAXED);
}
