/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_process.h - the processes of a session; part of shadow/format/layout.h
 *
 * A session belongs to its first process, row 1, and ends with it. Children made by fork, and the
 * programs they exec, join it. A thread row names the row of its process. A process row in use also
 * stands for an address space: bits CPA_SPACE_MASK of an object's key are the row's number - 1.
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_PROCESS_H
#define CPA_SHADOW_FORMAT_LAYOUT_PROCESS_H

#include <stdint.h>

#define CPA_PROCESSES_KEPT 256u
#define CPA_PROCESSES_MOST 16383u
#define CPA_SPACE_SHIFT	   48u
#define CPA_SPACE_MASK	   (UINT64_C(0x3fff) << CPA_SPACE_SHIFT)
/*
 * Set in the key of an object that processes share; the key is a hash of device, inode and offset.
 */
#define CPA_SHARED_OBJECT  (UINT64_C(1) << 62)
#define CPA_OFFERS	   8u
#define CPA_ARGUMENT	   32u	      /* bytes */
#define CPA_TOKEN_NONE	   UINT32_MAX /* the process of the row gets no token */
#define CPA_STATUS_UNKNOWN (-1)

enum cpa_process_state {
	CPA_PROCESS_FREE = 0,
	CPA_PROCESS_CLAIMED = 1, /* being made */
	CPA_PROCESS_RUNNING = 2,
	CPA_PROCESS_EXECED = 3, /* it called exec; the new program has not joined, and may never */
	CPA_PROCESS_ENDED = 4,
	/* ended without reporting it: killed, or ended after CPA_PROCESS_EXECED */
	CPA_PROCESS_GONE = 5,
	/* sum of the processes of one command whose rows were used again; it may have none */
	CPA_PROCESS_SUM = 6
};

/* Same meaning as the fields of struct cpa_thread from `before` to `off`. */
struct cpa_process_sums {
	uint64_t before, process, external, runqueue, wait, wait_cpu, probe, events, off;
};

/*
 * A process; key: its number, from 1, never used again. Written by the process, and by its parent
 * while the row is CLAIMED and when the parent waits for it; atomic fields also by others.
 */
struct cpa_process_row {
	uint64_t key;
	uint32_t state;	 /* atomic */
	uint32_t below;	 /* row below this one on header.processes */
	uint32_t pid;	 /* pid as the parent sees it */
	uint32_t parent; /* row, 0: not known */
	uint64_t parent_key;
	uint64_t start_ticks, end_ticks; /* end: 0 while running */
	uint64_t cpu_ns;		 /* CLOCK_PROCESS_CPUTIME_ID at the end */
	/* row of the names table: the command; 0: same as the parent's */
	uint32_t name;
	uint32_t images;	      /* programs it has run: 1 + number of exec calls */
	uint32_t exit_thread;	      /* row of the thread that ended it */
	uint32_t waited;	      /* 1: its parent has waited for it */
	uint32_t threads;	      /* atomic: profiled threads */
	int32_t status;		      /* status from wait(), if `waited`, or CPA_STATUS_UNKNOWN */
	uint64_t count;		      /* number of processes in a CPA_PROCESS_SUM */
	struct cpa_process_sums sums; /* atomic: sums of the threads that have ended */
	/* first argument of the command, such as "clone", or the file that it makes; or empty */
	char argument[CPA_ARGUMENT];
	/* All below is internal. */
	/* atomic: token with the path of the fork or exec; 0: none yet */
	uint32_t token;
	uint32_t objects;      /* atomic: row of the first object in its address space */
	uint64_t epoch;	       /* epoch of the thread that made it */
	uint64_t exec_cpu;     /* CPU time at exec, ticks */
	uint32_t object_count; /* atomic: objects in its address space */
	/* atomic: threads that may be about to put a token into `pending` */
	uint32_t spawning;
	uint32_t pending[CPA_OFFERS]; /* atomic: tokens for children whose pid is not known yet */
	/*
	 * atomic: {low half of key:32, pid as the process sees itself:32}; pid 0: not known, or
	 * equal to `pid`
	 */
	uint64_t owner;
	uint32_t space; /* inode of the pid namespace of the pid in `owner`; 0: not known */
	/* pid of its parent as the process sees it, while the parent's row is not known */
	uint32_t parent_pid;
	uint64_t seen_ns; /* CLOCK_BOOTTIME when its pid became known, ns; 0: not known yet */
	/* atomic: 1: the call that made it told its parent the pid, as system() and popen() do not */
	uint32_t told;
	/* internal: 1: its parent has waited for a process that is this one or another, and does not know which */
	uint32_t doubtful;
	/*
	 * internal, atomic: of a CPA_PROCESS_SUM: rows of the process that was waited for last, and of the one before
	 * it with most process time, which are not in the sum; 0: none
	 */
	uint32_t latest, busiest;
};

#endif
