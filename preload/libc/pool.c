/* SPDX-License-Identifier: MIT */
#include "preload/libc/pool.h"

#include <string.h>
#include <urcu/lfstack.h>

#include "preload/libc/memory.h"

/* Link in front of the caller's memory, in a cache line of its own. */
struct pooled {
	struct cds_lfs_node node;
	char block[] __attribute__((aligned(CPA_CACHE_LINE)));
};

static struct pool {
	struct __cds_lfs_stack free;
	/*
	 * Atomic. 1: a thread pops. liburcu allows one pop at a time, or several in RCU read
	 * sections; RCU is out, as its grace periods would wait for threads stopped in signal
	 * handlers. Not a lock: a thread that finds it set allocates a new block.
	 */
	uint32_t popping;
} pools[CPA_POOLS];

/* A block that was given; NULL: there is none, or, with *@busy set, another thread pops. */
static struct pooled *pop(enum cpa_pool pool, bool *busy)
{
	struct cds_lfs_node *node;

	/* ACQUIRE pairs with the RELEASE below. */
	*busy = __atomic_exchange_n(&pools[pool].popping, 1, __ATOMIC_ACQUIRE);
	if (*busy)
		return NULL;
	node = __cds_lfs_pop(&pools[pool].free);
	/* RELEASE: the pop is over. */
	__atomic_store_n(&pools[pool].popping, 0, __ATOMIC_RELEASE);
	return node ? caa_container_of(node, struct pooled, node) : NULL;
}

static void *clear(struct pooled *p, size_t size)
{
	if (!p)
		return NULL;
	/*
	 * Write to new memory at once. A page that is read first is the kernel's shared page of
	 * zeros; the first write to it then interrupts all processors that run the process.
	 */
	memset(p->block, 0, size);
	return p->block;
}

void *cpa_pool_take(enum cpa_pool pool, size_t size)
{
	bool busy;
	struct pooled *p = pop(pool, &busy);

	return clear(p ? p : cpa_memory_alloc(sizeof(*p) + size), size);
}

void *cpa_pool_take_used(enum cpa_pool pool, size_t size, bool *busy)
{
	struct pooled *p = pop(pool, busy);

	if (p)
		return p->block;
	return *busy ? NULL : clear(cpa_memory_alloc(sizeof(*p) + size), size);
}

void cpa_pool_give(enum cpa_pool pool, void *block)
{
	struct pooled *p = (struct pooled *)((char *)block - offsetof(struct pooled, block));

	cds_lfs_push(&pools[pool].free, &p->node);
}

void cpa_pool_forked(void)
{
	/* Relaxed: there is only one thread. */
	for (unsigned i = 0; i < CPA_POOLS; i++)
		__atomic_store_n(&pools[i].popping, 0, __ATOMIC_RELAXED);
}
