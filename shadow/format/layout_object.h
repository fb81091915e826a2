/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_object.h - a part of shadow/format/layout.h: synchronization objects
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_OBJECT_H
#define CPA_SHADOW_FORMAT_LAYOUT_OBJECT_H

#include <stdint.h>

enum cpa_object_kind {
	CPA_MUTEX = 1,
	CPA_SPIN = 2,
	CPA_RWLOCK = 3,
	CPA_COND = 4,
	CPA_BARRIER = 5,
	CPA_SEM = 6,
	CPA_ONCE = 7,
	CPA_FUTEX = 8,
	CPA_ANNOTATION = 9,
	CPA_HANDLE = 10,  /* a thread's pthread_t; depth is its row. Not for users */
	CPA_SIGNALS = 11, /* threads that wait for signals from each other */
	CPA_ALIAS = 12,	  /* of one that processes share; depth is its row. Not for users */
	CPA_OBJECT_KINDS
};

/*
 * One synchronization object, key: its address. Who writes: for a mutex or spin lock its holder;
 * for the others see the file named. Counters of racing objects are atomic. The first cache line is
 * all that an untimed use of a mutex needs, the first two and the path are what a timed use does.
 */
struct cpa_object {
	uint64_t key;
	uint32_t kind;	 /* enum cpa_object_kind; 0 after destruction */
	uint32_t class;	 /* component row, kind CPA_LOCK (for conditions etc. too: their class) */
	uint32_t holder; /* thread id; of a lock held for writing */
	uint32_t depth;	 /* of a recursive mutex */
	/* Locks that one thread alone keeps using: preload/sync/lock.h. */
	uint32_t user; /* id of that thread */
	uint32_t tick; /* its time of the last timed one */
	uint32_t mean; /* of the first activity of sections, see preload/core/untimed.h */
	uint32_t path; /* of the last release: offset in cache lines, see shadow/edge/object.h; 0: none */
	uint64_t acquisitions;
	uint64_t since; /* clock at the acquisition by the holder; 0: not timed */
	uint64_t hold;	/* ticks; apart from `acquisitions`, or gcc adds to both as to a vector */
	uint32_t run;	/* timed uses in a row of one thread */
	uint32_t slot;	/* of its class */
	uint64_t contended, handoffs;
	uint64_t wait;	   /* ticks */
	uint64_t merged;   /* shadow/edge/merge.h: token that combines racing releases; annotations:
			      their cell, shadow/edge/cell.h */
	uint32_t lost;	   /* times that another thread came in between untimed uses */
	uint32_t queue;	   /* row of the queue whose own it is: no edges in the inherent path */
	uint32_t declared; /* acquisitions + 1 when it became that; of no meaning to readers */
	uint32_t next;	   /* row of the next one in the address space */
	uint64_t linked;
	/* shadow/edge/fifo.h: tagged row numbers of the oldest and newest token */
	uint64_t head, tail;
	uint64_t waiting; /* shadow/edge/acquire.h: waiters; semaphores: initial tokens; barriers: count */
	uint64_t passes;	    /* barriers: arrivals so far */
	uint64_t round[CPA_ROUNDS]; /* barriers: tokens of the latest, see shadow/edge/acquire.h */
} __attribute__((aligned(CPA_CACHE_LINE)));

#endif
