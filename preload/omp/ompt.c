/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/ompt.c - regions, barriers and tasks of libomp (clang), told by OMPT
 *
 * libomp asks for ompt_start_tool() when it starts, and then calls us at each event. It spins, and
 * waits by conditions: what a thread does between two events of a wait is that wait
 * (cpa_op.covers). Of the last barrier of a region the workers hear the end only when the next
 * region begins, or never: there the wait stands until the next part begins.
 *
 * Its locks and critical sections are wrapped, as OMPT tells of a release when another thread may
 * have the lock already: preload/omp/lock.c. One tool can have OMPT. If another wants it, or
 * OMP_TOOL_LIBRARIES is set, it gets it.
 */
#include "preload/omp/ompt.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>

#include "preload/code/unload.h"
#include "preload/core/object.h"
#include "preload/libc/pool.h"
#include "preload/libc/real.h"
#include "preload/libc/symbol.h"
#include "preload/omp/omp.h"
#include "preload/omp/task.h"

#define IMPLICIT UINT64_C(1) /* set in a task's word that names a part: an implicit task */

void cpa_ompt_pass(uint64_t function, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;

	if (omp) {
		omp->passed_function = function;
		omp->passed_caller = caller;
	}
	if (w)
		cpa_leave();
}

/* Take what was passed, if anything was. Return its function; *@caller becomes its caller. */
static uint64_t take_passed(uint64_t *caller)
{
	struct cpa_omp *omp = cpa_tls.worker ? cpa_tls.worker->omp : NULL;
	uint64_t function = omp ? omp->passed_function : 0;

	if (function) {
		*caller = omp->passed_caller;
		omp->passed_function = 0;
	}
	return function;
}

/* The part that the implicit task with @data is; NULL: another task, or none. */
static struct cpa_part *part_of(const union ompt_data *data)
{
	return data && data->value & IMPLICIT ?
		       (struct cpa_part *)(uintptr_t)(data->value - IMPLICIT) :
		       NULL;
}

static struct cpa_task *task_of(const union ompt_data *data)
{
	return data && !(data->value & IMPLICIT) ? data->ptr : NULL;
}

/* The thread, in @part, waits from here on, by an event of @kind. */
static void stand(struct cpa_worker *w, struct cpa_part *part, enum cpa_event_kind kind,
		  uint64_t caller)
{
	struct cpa_op *op = &w->omp->standing;

	*op = (struct cpa_op)CPA_OP(w, caller);
	op->covers = true;
	w->omp->standing_team = part ? part->team : NULL;
	cpa_op_arrive(op, kind, part ? part->region : 0);
	if (part && kind == CPA_EV_TEAM_ARRIVE) {
		cpa_part_arrive(w, part);
		if (w->self.id == part->team->master)
			part->team->last_round = part->round;
	}
	cpa_op_stand(op);
}

/* A worker waits for its first region. */
static void on_thread_begin(int type, union ompt_data *thread)
{
	int err = errno;
	struct cpa_worker *w = type == OMPT_THREAD_WORKER ? cpa_enter() : NULL;

	(void)thread;
	if (w && cpa_omp_of(w))
		stand(w, NULL, CPA_EV_PART_END, CPA_CALLER());
	else if (w)
		cpa_leave();
	errno = err;
}

static void on_parallel_begin(union ompt_data *task, const void *frame, union ompt_data *parallel,
			      unsigned wanted, int flags, const void *caller)
{
	uint64_t from = (uint64_t)caller, function = take_passed(&from);
	struct cpa_team *team = cpa_team_fork(function, from);

	(void)task, (void)frame, (void)wanted, (void)flags;
	if (team)
		team->told = true;
	parallel->ptr = team;
}

static void on_parallel_end(union ompt_data *parallel, union ompt_data *task, int flags,
			    const void *caller)
{
	(void)task, (void)flags, (void)caller;
	cpa_team_join(parallel->ptr);
}

static struct cpa_part *part_new(void)
{
	bool inside = cpa_tls.inside;
	struct cpa_part *part;

	if (!*cpa_alive)
		return NULL;
	cpa_reenter();
	part = cpa_pool_take(CPA_POOL_PARTS, sizeof(*part));
	cpa_tls.inside = inside;
	return part;
}

/* The thread waits, or begins to wait here. All that remains is to leave its part. */
static void end_part(struct cpa_part *part)
{
	struct cpa_worker *w = cpa_tls.worker;
	bool stands = w && w->standing;

	cpa_part_leave(part);
	if (!stands) {
		w = cpa_enter();
		if (!w)
			return;
	}
	if (!stands && w->omp)
		stand(w, part, CPA_EV_PART_END, part->caller);
	if (part->region)
		cpa_unhold(&w->self, part->region);
	cpa_task_drop(w, part->task);
	cpa_pool_give(CPA_POOL_PARTS, part);
	if (!w->standing)
		cpa_leave();
}

static void on_implicit_task(int end, union ompt_data *parallel, union ompt_data *task,
			     unsigned members, unsigned index, int flags)
{
	struct cpa_team *team = parallel ? parallel->ptr : NULL;
	struct cpa_part *part;
	int err = errno;

	(void)index;
	if (flags & OMPT_TASK_INITIAL)
		return;
	if (end == OMPT_END) {
		part = part_of(task);
		task->value = 0;
		if (part)
			end_part(part);
		errno = err;
		return;
	}
	part = team ? part_new() : NULL;
	task->value = 0;
	if (!part)
		return;
	cpa_part_enter(part, team);
	part->members = members;
	if (members == 1)
		team->alone = true;
	part->caller = team->caller;
	task->value = (uint64_t)(uintptr_t)part | IMPLICIT;
}

static void barrier_begin(struct cpa_part *part, uint64_t caller)
{
	struct cpa_worker *w = part ? cpa_enter() : NULL;

	if (!w)
		return;
	if (w->omp)
		stand(w, part, CPA_EV_TEAM_ARRIVE, caller);
	else
		cpa_leave();
}

/* All have come to a barrier within the region. */
static void barrier_end(struct cpa_part *part, uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_object *o;
	struct cpa_op op;

	if (!part)
		return;
	if (!w || !w->standing) {
		part->round++;
		return;
	}
	cpa_op_resume(w, &op);
	if (!cpa_op_back(&op))
		return;
	o = cpa_object_of_class(w, &part->team->place.barrier, CPA_BARRIER, 0);
	if (likely(o))
		cpa_barrier_left(&w->self, o, part->round, &op.wait);
	part->round++;
	w->self.row->node = cpa_track_node(w, CPA_EV_TEAM_LEAVE, caller, part->region);
	w->self.row->path.node = w->self.row->node;
	cpa_op_end(&op, CPA_EXT_UNSEEN);
}

/* @parallel is NULL where the region is over for the thread. */
static void on_sync_region(int kind, int end, union ompt_data *parallel, union ompt_data *task,
			   const void *caller)
{
	int err = errno;

	switch (kind) {
	case OMPT_SYNC_TASKWAIT:
		if (end == OMPT_END)
			cpa_task_stood(CPA_WAIT_CHILDREN, (uint64_t)caller);
		else
			cpa_task_stand((uint64_t)caller);
		break;
	case OMPT_SYNC_TASKGROUP: /* its wait: on_sync_wait() */
		if (end == OMPT_END)
			cpa_task_stood(CPA_WAIT_GROUP, (uint64_t)caller);
		else
			cpa_task_group_begin();
		break;
	case OMPT_SYNC_REDUCTION:
		break;
	default:
		if (end != OMPT_END)
			barrier_begin(part_of(task), (uint64_t)caller);
		else if (parallel && parallel->ptr)
			barrier_end(part_of(task), (uint64_t)caller);
		break;
	}
	errno = err;
}

static void on_sync_wait(int kind, int end, union ompt_data *parallel, union ompt_data *task,
			 const void *caller)
{
	(void)parallel, (void)task;
	if (kind == OMPT_SYNC_TASKGROUP && end != OMPT_END)
		cpa_task_stand((uint64_t)caller);
}

static void on_task_create(union ompt_data *task, const void *frame, union ompt_data *made,
			   int flags, int depends, const void *caller)
{
	uint64_t from = (uint64_t)caller, function;

	(void)task, (void)frame, (void)depends;
	if (!(flags & OMPT_TASK_EXPLICIT))
		return;
	function = take_passed(&from);
	made->ptr = cpa_task_new(function, from);
}

static void on_dependences(union ompt_data *task, const struct ompt_dependence *depends, int count)
{
	struct cpa_task *record = task_of(task);

	for (int i = 0; record && i < count; i++) {
		switch (depends[i].type) {
		case OMPT_DEPENDS_IN:
			cpa_task_depends(record, depends[i].variable.ptr, CPA_DEPENDS_READ);
			break;
		case OMPT_DEPENDS_OUT:
		case OMPT_DEPENDS_INOUT:
		case OMPT_DEPENDS_MUTEXINOUTSET:
			cpa_task_depends(record, depends[i].variable.ptr, CPA_DEPENDS_WRITE);
			break;
		case OMPT_DEPENDS_INOUTSET:
			cpa_task_depends(record, depends[i].variable.ptr, CPA_DEPENDS_SET);
			break;
		case OMPT_DEPENDS_SOURCE:
		case OMPT_DEPENDS_SINK:
			break;
		default:
			if (*cpa_alive)
				cpa_diag(CPA_DIAG_OMP_UNSEEN);
		}
	}
}

/* The calling thread fulfills the event of @task, whose code has ended or, if @early, has not. */
static void on_fulfill(union ompt_data *task, bool early)
{
	struct cpa_task *record = task_of(task);

	if (!record)
		return;
	if (early)
		cpa_task_hold(record);
	else
		task->ptr = NULL;
	cpa_task_fulfill(record, record->caller);
}

/* The thread goes from task @prior, which has ended or not, to @next. */
static void on_task_schedule(union ompt_data *prior, int status, union ompt_data *next)
{
	struct cpa_task *from = task_of(prior), *to = task_of(next);

	if (status == OMPT_TASK_EARLY_FULFILL || status == OMPT_TASK_LATE_FULFILL) {
		on_fulfill(prior, status == OMPT_TASK_EARLY_FULFILL);
		return;
	}
	if (from && status == OMPT_TASK_DETACH) { /* it ends when its event is fulfilled, too */
		cpa_task_hold(from);
		cpa_task_exit(&from->run);
		return;
	}
	if (from && (status == OMPT_TASK_COMPLETE || status == OMPT_TASK_CANCEL)) {
		prior->ptr = NULL;
		if (likely(from->run.task))
			cpa_task_exit(&from->run);
		else
			cpa_task_let(from); /* cancelled before it began */
		return;			    /* @next goes on where it waits, or made it */
	}
	if (to && !to->run.task)
		cpa_task_enter(&to->run, to);
}

/* The program gets the answer that it gets without us. */
static int on_control_tool(uint64_t command, uint64_t modifier, void *argument, const void *caller)
{
	(void)command, (void)modifier, (void)argument, (void)caller;
	return OMPT_NO_TOOL;
}

static const struct {
	int which;
	void (*call)(void);
} callbacks[] = {
	{ OMPT_THREAD_BEGIN, (void (*)(void))on_thread_begin },
	{ OMPT_PARALLEL_BEGIN, (void (*)(void))on_parallel_begin },
	{ OMPT_PARALLEL_END, (void (*)(void))on_parallel_end },
	{ OMPT_IMPLICIT_TASK, (void (*)(void))on_implicit_task },
	{ OMPT_SYNC_REGION, (void (*)(void))on_sync_region },
	{ OMPT_SYNC_REGION_WAIT, (void (*)(void))on_sync_wait },
	{ OMPT_TASK_CREATE, (void (*)(void))on_task_create },
	{ OMPT_DEPENDENCES, (void (*)(void))on_dependences },
	{ OMPT_TASK_SCHEDULE, (void (*)(void))on_task_schedule },
	{ OMPT_CONTROL_TOOL, (void (*)(void))on_control_tool },
};

/* OMPT's: not 0 if the tool goes on. */
static int initialize(ompt_lookup *lookup, int device, union ompt_data *tool)
{
	int (*set)(int which, void (*call)(void)) =
		(int (*)(int, void (*)(void)))lookup("ompt_set_callback");

	(void)device, (void)tool;
	for (size_t i = 0; set && i < sizeof(callbacks) / sizeof(*callbacks); i++)
		set(callbacks[i].which, callbacks[i].call);
	return set != NULL;
}

static void finalize(union ompt_data *tool)
{
	(void)tool;
}

struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime);

CPA_EXPORT struct ompt_start_tool_result *ompt_start_tool(unsigned version, const char *runtime)
{
	static struct ompt_start_tool_result ours = { initialize, finalize, { 0 } };
	struct ompt_start_tool_result *(*next)(unsigned version, const char *runtime) =
		(__typeof__(next))cpa_symbol_next("ompt_start_tool", NULL);
	struct ompt_start_tool_result *others = NULL;
	const char *wanted = getenv("OMP_TOOL_LIBRARIES");

	/* libomp has one, too, which looks for a tool behind itself, and returns NULL if there is none. */
	if (next)
		others = next(version, runtime);
	if (!*cpa_alive)
		return others;
	if (others || (wanted && *wanted)) {
		cpa_diag(CPA_DIAG_OMP_UNSEEN);
		return others;
	}
	return &ours;
}

/* What was asked last, and the answer: {start, end} of the module, atomic; 0: nothing yet. */
static struct {
	uint64_t start, end;
	uint32_t generation;
} not_libomp;

bool cpa_ompt_has(const void *address)
{
	uint64_t at = (uint64_t)address;
	/* Relaxed, all but one: written once, unless libraries come and go. */
	uint32_t now = __atomic_load_n(&cpa_unloads, __ATOMIC_RELAXED);
	struct dl_find_object o;
	struct cpa_image image;

	/* ACQUIRE pairs with the RELEASE below. */
	if (likely(at < __atomic_load_n(&not_libomp.end, __ATOMIC_ACQUIRE) &&
		   at >= __atomic_load_n(&not_libomp.start, __ATOMIC_RELAXED) &&
		   now == __atomic_load_n(&not_libomp.generation, __ATOMIC_RELAXED)))
		return false;
	if (!at || _dl_find_object((void *)at, &o))
		return false;
	image.base = o.dlfo_link_map->l_addr;
	image.dynamic = o.dlfo_link_map->l_ld;
	if (cpa_symbol_in(&image, "__kmpc_fork_call", NULL))
		return true;
	__atomic_store_n(&not_libomp.end, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&not_libomp.generation, now, __ATOMIC_RELAXED);
	__atomic_store_n(&not_libomp.start, (uint64_t)o.dlfo_map_start, __ATOMIC_RELAXED);
	/* RELEASE: who finds the end finds the start. */
	__atomic_store_n(&not_libomp.end, (uint64_t)o.dlfo_map_end, __ATOMIC_RELEASE);
	return false;
}
