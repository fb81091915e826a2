/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/task_record.h - records of tasks, of which each thread keeps some for the next ones
 *
 * A kept record takes no atomic operation, and its token names the versions that the next path is likely to name.
 * All calls are inside our code.
 */
#ifndef CPA_PRELOAD_OMP_TASK_RECORD_H
#define CPA_PRELOAD_OMP_TASK_RECORD_H

#include "preload/core/object.h"
#include "preload/omp/task.h"

/* Whether the tokens that @task names are this process's. */
static inline bool cpa_task_is_ours(const struct cpa_task *task)
{
	return task && task->space == cpa_object_space;
}

/* A record with one reference, zeros otherwise. NULL: no memory. */
CPA_HIDDEN struct cpa_task *cpa_task_record_new(struct cpa_omp *omp);

/* The task is created with @path. Without memory it has no start. */
CPA_HIDDEN void cpa_task_record_start(struct cpa_worker *w, struct cpa_task *task,
				      const struct cpa_path *path);

/* Free a record without references, and what it names; not its parent. */
CPA_HIDDEN void cpa_task_record_free(struct cpa_worker *w, struct cpa_task *task);

#endif
