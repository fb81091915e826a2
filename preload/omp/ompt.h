/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/ompt.h - what is used of OpenMP's interface for tools (OMPT, OpenMP 5.0, chapter 4)
 *
 * Names and values are those of omp-tools.h; the library is neither linked nor included.
 */
#ifndef CPA_PRELOAD_OMP_OMPT_H
#define CPA_PRELOAD_OMP_OMPT_H

#include <stdint.h>

union ompt_data {
	uint64_t value;
	void *ptr;
};

struct ompt_dependence {
	union ompt_data variable;
	int type;
};

typedef void (*ompt_lookup(const char *name))(void);

struct ompt_start_tool_result {
	int (*initialize)(ompt_lookup *lookup, int device, union ompt_data *tool);
	void (*finalize)(union ompt_data *tool);
	union ompt_data tool;
};

enum { /* ompt_callbacks_t */
       OMPT_THREAD_BEGIN = 1,
       OMPT_PARALLEL_BEGIN = 3,
       OMPT_PARALLEL_END = 4,
       OMPT_TASK_CREATE = 5,
       OMPT_TASK_SCHEDULE = 6,
       OMPT_IMPLICIT_TASK = 7,
       OMPT_CONTROL_TOOL = 11,
       OMPT_SYNC_REGION_WAIT = 16,
       OMPT_DEPENDENCES = 18,
       OMPT_SYNC_REGION = 23
};

enum { OMPT_BEGIN = 1, OMPT_END = 2 }; /* ompt_scope_endpoint_t */
enum { OMPT_THREAD_WORKER = 2 };       /* ompt_thread_t */
enum { OMPT_NO_TOOL = -2 };	       /* what omp_control_tool() returns */
enum { OMPT_TASK_INITIAL = 1, OMPT_TASK_EXPLICIT = 4 };

enum { /* ompt_sync_region_t; all others are barriers */
       OMPT_SYNC_TASKWAIT = 5,
       OMPT_SYNC_TASKGROUP = 6,
       OMPT_SYNC_REDUCTION = 7
};

enum { /* ompt_task_status_t */
       OMPT_TASK_COMPLETE = 1,
       OMPT_TASK_CANCEL = 3,
       OMPT_TASK_DETACH = 4,
       OMPT_TASK_EARLY_FULFILL = 5,
       OMPT_TASK_LATE_FULFILL = 6
};

enum { /* ompt_dependence_type_t */
       OMPT_DEPENDS_IN = 1,
       OMPT_DEPENDS_OUT = 2,
       OMPT_DEPENDS_INOUT = 3,
       OMPT_DEPENDS_MUTEXINOUTSET = 4,
       OMPT_DEPENDS_SOURCE = 5, /* this and the next one: of iterations, preload/omp/doacross.c */
       OMPT_DEPENDS_SINK = 6,
       OMPT_DEPENDS_INOUTSET = 7
};

#endif
