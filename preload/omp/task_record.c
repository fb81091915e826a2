/* SPDX-License-Identifier: MIT */
#include "preload/omp/task_record.h"

#include <string.h>

#include "preload/libc/pool.h"
#include "shadow/edge/merge.h"
#include "shadow/path/path.h"
#include "shadow/path/token.h"

#define KEEP 8u /* free records that a thread keeps, and that are lost when its process ends */

struct cpa_task *cpa_task_record_new(struct cpa_omp *omp)
{
	struct cpa_task *task = omp->free_tasks;
	uint32_t token = 0;

	if (likely(task)) {
		omp->free_tasks = task->parent;
		omp->free_task_count -= omp->free_task_count >
					0; /* a handler may have ended give() halfway */
		token = cpa_task_is_ours(task) ? task->token : 0;
		memset(task, 0, sizeof(*task));
	} else {
		task = cpa_pool_take(CPA_POOL_TASKS, sizeof(*task));
	}
	if (likely(task)) {
		task->refs = 1;
		task->token = token;
		task->space = cpa_object_space;
	}
	return task;
}

static void give(struct cpa_worker *w, struct cpa_task *task)
{
	struct cpa_omp *omp = w->omp;

	if (unlikely(!omp || omp->free_task_count >= KEEP)) {
		if (task->token && cpa_task_is_ours(task))
			cpa_token_free(&w->self, task->token);
		cpa_pool_give(CPA_POOL_TASKS, task);
		return;
	}
	task->parent = omp->free_tasks;
	omp->free_tasks = task;
	omp->free_task_count++;
}

void cpa_task_record_start(struct cpa_worker *w, struct cpa_task *task, const struct cpa_path *path)
{
	if (likely(task->token))
		cpa_path_publish(&w->self, &cpa_token(task->token)->path, path);
	else
		task->token = cpa_token_new(&w->self, path);
	task->start = task->token;
}

static void free_word(struct cpa_self *self, uint64_t *word)
{
	uint32_t token = cpa_merge_take(word);

	if (token)
		cpa_token_free(self, token);
}

void cpa_task_record_free(struct cpa_worker *w, struct cpa_task *task)
{
	struct cpa_dependence *d;
	bool ours = cpa_task_is_ours(task);

	if (ours)
		free_word(&w->self, &task->ends);
	while ((d = task->dependences)) {
		task->dependences = d->next;
		for (unsigned i = 0; ours && i < CPA_DEPENDS_KINDS; i++)
			free_word(&w->self, &d->ended[i]);
		cpa_pool_give(CPA_POOL_DEPENDENCES, d);
	}
	give(w, task);
}
