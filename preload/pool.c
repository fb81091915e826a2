/* SPDX-License-Identifier: MIT */
#include "preload/pool.h"

#include <string.h>
#include <urcu/lfstack.h>

#include "preload/memory.h"

struct pooled {
	struct cpa_worker worker;
	struct cds_lfs_node node;
};

static struct __cds_lfs_stack ended;

/*
 * Atomic: a thread pops, which liburcu asks to happen one at a time or in read-side sections of RCU;
 * its grace periods would wait for threads that are stopped in signal handlers. Not a lock: who finds
 * it taken makes a new worker.
 */
static uint32_t popping;

struct cpa_worker *cpa_pool_take(void)
{
	struct cds_lfs_node *node = NULL;
	struct pooled *p;

	/* ACQUIRE pairs with the RELEASE below. */
	if (!__atomic_exchange_n(&popping, 1, __ATOMIC_ACQUIRE)) {
		node = __cds_lfs_pop(&ended);
		/* RELEASE: the pop is over. */
		__atomic_store_n(&popping, 0, __ATOMIC_RELEASE);
	}
	if (!node) {
		p = cpa_memory_alloc(sizeof(*p));
		return p ? &p->worker : NULL;
	}
	p = caa_container_of(node, struct pooled, node);
	memset(&p->worker, 0, sizeof(p->worker));
	return &p->worker;
}

void cpa_pool_give(struct cpa_worker *w)
{
	cds_lfs_push(&ended, &caa_container_of(w, struct pooled, worker)->node);
}

void cpa_pool_forked(void)
{
	/* Relaxed: there is one thread. */
	__atomic_store_n(&popping, 0, __ATOMIC_RELAXED);
}
