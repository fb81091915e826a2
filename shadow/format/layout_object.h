/* SPDX-License-Identifier: MIT */
/* shadow/format/layout_object.h - synchronization objects; part of shadow/format/layout.h */
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
	CPA_HANDLE = 10,  /* a thread's pthread_t; depth is the thread's row. Internal */
	CPA_SIGNALS = 11, /* signals that threads wait for and send to each other */
	CPA_ALIAS = 12,	  /* refers to an object that processes share; depth is its row. Internal */
	CPA_TASKS = 13,	  /* of a component: a kind of tasks of OpenMP. No object has it */
	CPA_OMP_LOCK = 14, /* of an OpenMP runtime, which knows what is in it */
	CPA_OBJECT_KINDS
};

/*
 * One synchronization object, key: its address. A mutex or spin lock is written by its holder; for
 * the others see the file named. Counters that threads may race for are atomic. An untimed use of a
 * mutex touches only the first cache line, a timed use the first two and the path.
 */
struct cpa_object {
	uint64_t key;
	uint32_t kind;	 /* enum cpa_object_kind; 0 after destruction */
	uint32_t class;	 /* component row, kind CPA_LOCK (also for conditions etc.: their class) */
	uint32_t holder; /* id of the thread that holds it (read-write lock: for writing) */
	uint32_t depth;	 /* recursion depth of a mutex */
	/* Locks that only one thread keeps using: preload/sync/lock.h. */
	uint32_t user; /* id of that thread */
	uint32_t tick; /* `user`'s time of its last timed use */
	/* mean of the first activity in a critical section, see preload/core/untimed.h */
	uint32_t mean;
	/* path of the last release: offset in cache lines, see shadow/edge/object.h; 0: none */
	uint32_t path;
	uint64_t acquisitions;
	uint64_t since; /* clock at the acquisition by the holder, ticks; 0: not timed */
	/*
	 * ticks held; kept apart from `acquisitions`, or gcc adds to both with one vector operation
	 */
	uint64_t hold;
	uint32_t run;  /* consecutive timed uses by one thread */
	uint32_t slot; /* slot of its class */
	uint64_t contended, handoffs;
	uint64_t wait; /* ticks waited */
	/*
	 * token that combines racing releases, see shadow/edge/merge.h; annotations: cell, see
	 * shadow/edge/cell.h
	 */
	uint64_t merged;
	uint32_t lost; /* times that another thread used the lock between untimed uses */
	/* row of the queue that owns it, so that it has no edges in the inherent path */
	uint32_t queue;
	/* internal: acquisitions + 1 when the queue came to own it, or when it got its name */
	uint32_t declared;
	uint32_t next;	 /* row of the next object in the same address space */
	uint32_t linked; /* internal, atomic: 1: `next` is set */
	uint32_t name;	 /* row of the names table: the name of its class; 0: none */
	/* internal, atomic: look-ups since the first answer that processes do not share it; 0: none */
	uint32_t asked;
	/* shadow/edge/fifo.h: tagged row numbers of the oldest and newest token */
	uint64_t head, tail;
	/*
	 * threads waiting, see shadow/edge/acquire.h; semaphores: initial tokens; barriers: count
	 */
	uint64_t waiting;
	uint64_t passes; /* barriers: arrivals so far */
	/* barriers: tokens of the latest rounds, see shadow/edge/acquire.h */
	uint64_t round[CPA_ROUNDS];
} __attribute__((aligned(CPA_CACHE_LINE)));

#endif
