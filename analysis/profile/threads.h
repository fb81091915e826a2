/* SPDX-License-Identifier: MIT */
/* analysis/profile/threads.h - figures of threads */
#ifndef CPA_ANALYSIS_PROFILE_THREADS_H
#define CPA_ANALYSIS_PROFILE_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_SPENDS 12

/* A function in which a thread worked, or an external in which it was blocked. */
struct cpa_spend_figures {
	uint32_t slot;
	enum cpa_component_kind kind;
	double seconds;
};

struct cpa_thread_figures {
	uint64_t id; /* no other thread of the session ever has it */
	enum cpa_thread_state state;
	uint32_t row;
	uint32_t node; /* of its last event; 0: none */
	uint32_t tid;
	uint64_t process; /* its number in the session; 0: not known */
	uint32_t earlier; /* other threads whose sums are in this row */
	bool mixed;	  /* these threads were of several classes: the row has none */
	char *name; /* if several threads used the row: the common part of their names, as "worker-*", or "" */
	char *start_routine;
	char *last_name, *last_routine; /* of the thread with @id, which had the row last */
	uint64_t events;
	double cpu_s, wait_s, external_s, runqueue_s, probe_s;
	double process_s;  /* the activities' part of cpu_s */
	double wait_cpu_s; /* that of waits: it spun */
	double profiled_s; /* time since its start, in profiled parts of the run */
	uint64_t bytes_read, bytes_written;
	double cpu_margin_s, wait_margin_s; /* see margins.h; NAN: not known */
	double critical_path_s;	 /* length of the longest inherent path to its last event */
	uint32_t slot;		 /* of its class; 0: none */
	double begun_s, lived_s; /* since the program's start; up to its last event */
	uint32_t holds;		 /* classes of locks that it held at its last event */
	uint32_t held_slot[CPA_HELD_MAX]; /* [holds]: slots of these classes */
	uint32_t spends;		  /* what it spent most in, most first */
	struct cpa_spend_figures spend[CPA_SPENDS];
};

#endif
