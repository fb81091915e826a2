/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_process.h - a part of shadow/format/layout.h: the processes of a session
 *
 * The session is that of its first process, row 1, and ends with it. Children of fork and what they
 * become by exec join it. Rows of threads name the row of their process; while that is in use it is
 * the address space, too: keys of objects have the row's number - 1 in the bits of CPA_SPACE_MASK.
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_PROCESS_H
#define CPA_SHADOW_FORMAT_LAYOUT_PROCESS_H

#include <stdint.h>

#define CPA_PROCESSES_KEPT 256u
#define CPA_PROCESSES_MOST 16383u
#define CPA_SPACE_SHIFT	   48u
#define CPA_SPACE_MASK	   (UINT64_C(0x3fff) << CPA_SPACE_SHIFT)
/* Set in the key of an object that processes share: a hash of device, inode and offset. */
#define CPA_SHARED_OBJECT (UINT64_C(1) << 62)
#define CPA_OFFERS	  8u
#define CPA_TOKEN_NONE	  UINT32_MAX /* the row gets none */

enum cpa_process_state {
	CPA_PROCESS_FREE = 0,
	CPA_PROCESS_CLAIMED = 1, /* it is being made */
	CPA_PROCESS_RUNNING = 2,
	CPA_PROCESS_EXECED = 3, /* what it became has not joined, not yet or never */
	CPA_PROCESS_ENDED = 4,
	CPA_PROCESS_GONE = 5, /* it ended without a word: killed, or after CPA_PROCESS_EXECED */
	CPA_PROCESS_SUM = 6   /* of processes of one command whose rows were used again */
};

/* As the fields of a struct cpa_thread from `before` to `off`. */
struct cpa_process_sums {
	uint64_t before, process, external, runqueue, wait, wait_cpu, probe, events, off;
};

/*
 * A process; key: its number, from 1, never used again. Written by itself, by its parent while it
 * is CLAIMED and when it is waited for; what is atomic by others, too.
 */
struct cpa_process_row {
	uint64_t key;
	uint32_t state;	 /* atomic */
	uint32_t below;	 /* row below this one on header.processes */
	uint32_t pid;	 /* as its parent knows it */
	uint32_t parent; /* row, 0: not known */
	uint64_t parent_key;
	uint64_t start_ticks, end_ticks; /* end: 0 while running */
	uint64_t cpu_ns;		 /* CLOCK_PROCESS_CPUTIME_ID at the end */
	uint32_t name;			 /* row of the names table: the command; 0: the parent's */
	uint32_t images;		 /* programs that it was: 1 and how often it was replaced */
	uint32_t exit_thread;		 /* row of the thread that ended it */
	uint32_t waited;		 /* 1: its parent has waited for it */
	uint32_t threads;		 /* atomic: that were profiled */
	int32_t status;			 /* as wait() tells it, if `waited` */
	uint64_t count;			 /* of a sum: processes */
	struct cpa_process_sums sums;	 /* atomic: of threads that have ended */
	/* Of no meaning to readers. */
	uint32_t token;		      /* atomic: path of the fork, or of exec; 0: none yet */
	uint32_t objects;	      /* atomic: the first of the objects in its space */
	uint64_t epoch;		      /* of the thread that made it */
	uint64_t exec_cpu;	      /* CPU time at exec, ticks */
	uint32_t object_count;	      /* atomic */
	uint32_t spawning;	      /* atomic: who may be about to put a token into `pending` */
	uint32_t pending[CPA_OFFERS]; /* atomic: tokens for children whose pid is not known yet */
	uint64_t owner; /* atomic: low half of key, and its pid as it knows itself; 0: not known, or as above */
	uint32_t space;	     /* inode of the pid namespace of that; 0: not known */
	uint32_t parent_pid; /* while its parent's row is not known: who that is to it */
	uint64_t seen_ns;    /* CLOCK_BOOTTIME when its pid was known; 0: it is not */
};

#endif
