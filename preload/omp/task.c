/* SPDX-License-Identifier: MIT */
#include "preload/omp/task.h"

#include <errno.h>
#include <string.h>

#include "preload/core/event.h"
#include "preload/core/object.h"
#include "preload/libc/pool.h"
#include "preload/omp/task_record.h"
#include "preload/sync/barrier.h"
#include "shadow/edge/merge.h"
#include "shadow/journal/journal.h"
#include "shadow/path/token.h"

/* The record of what the thread runs; made if it is an implicit task without one. NULL: none. */
static struct cpa_task *current(struct cpa_omp *omp)
{
	if (omp->task || !omp->part)
		return omp->task;
	if (!omp->part->task)
		omp->part->task = cpa_task_record_new(omp);
	return omp->part->task;
}

/* @task is a child of what the thread runs. */
static void add_child(struct cpa_omp *omp, struct cpa_task *task)
{
	struct cpa_task *parent = current(omp);

	if (unlikely(!cpa_task_is_ours(parent)))
		return;
	cpa_task_hold(parent);
	task->parent = parent;
	task->group = parent->group;
}

struct cpa_task *cpa_task_new(uint64_t function, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;
	struct cpa_task *task = omp ? cpa_task_record_new(omp) : NULL;

	if (unlikely(!task)) {
		if (w)
			cpa_leave();
		return NULL;
	}
	task->class = cpa_omp_construct(omp, CPA_QUEUE, CPA_TASKS, function, caller);
	task->caller = caller;
	add_child(omp, task);
	cpa_event_usual(w, CPA_EV_TASK, caller, task->class);
	cpa_journal_release(&w->self, NULL, 0, 1);
	cpa_task_record_start(w, task, &w->self.row->path);
	cpa_done_usual(w);
	errno = err;
	return task;
}

struct cpa_task *cpa_task_waiter(uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;
	struct cpa_task *task = omp ? cpa_task_record_new(omp) : NULL;

	if (likely(task)) {
		task->caller = caller;
		add_child(omp, task);
	}
	if (w)
		cpa_leave();
	errno = err;
	return task;
}

void cpa_task_made(uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_wait wait = { 0 };
	int err = errno;

	if (likely(!w || !cpa_clock_switched(&w->clock)))
		return;
	w = cpa_enter();
	if (w &&
	    cpa_event_awaited(w, CPA_EXT_OTHER, CPA_EV_TASK_WAIT, caller, cpa_clock_now(), &wait)) {
		wait.matched = true;
		cpa_acquire_path(&w->self, NULL, &wait);
	}
	if (w)
		cpa_done(w);
	errno = err;
}

/* Give a reference back. Return whether it was the last. */
static bool was_last(struct cpa_task *task)
{
	/* ACQUIRE, ACQ_REL: all that others did with the record is done before it is freed. */
	return __atomic_load_n(&task->refs, __ATOMIC_ACQUIRE) == 1 || /* nobody can add one */
	       !__atomic_sub_fetch(&task->refs, 1, __ATOMIC_ACQ_REL);
}

void cpa_task_drop(struct cpa_worker *w, struct cpa_task *task)
{
	struct cpa_task *parent;

	while (task && was_last(task)) {
		parent = task->parent;
		cpa_task_record_free(w, task);
		task = parent;
	}
}

void cpa_task_let(struct cpa_task *task)
{
	int err = errno;
	/* In a wait that stands and covers, the thread is inside our code already. */
	bool covered = cpa_tls.covered && *cpa_alive;
	struct cpa_worker *w = covered ? cpa_tls.worker : cpa_enter();

	if (likely(w)) /* else it is never used again */
		cpa_task_drop(w, task);
	if (w && !covered)
		cpa_leave();
	errno = err;
}

struct cpa_task *cpa_task_of_loop(struct cpa_task *loop, uint64_t rounds)
{
	int err = errno;
	bool last;
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;
	struct cpa_task *task = omp && cpa_task_is_ours(loop) ? cpa_task_record_new(omp) : NULL;

	if (likely(task)) {
		task->class = loop->class;
		task->caller = loop->caller;
		task->parent = loop->parent;
		task->group = loop->group;
		if (task->parent)
			cpa_task_hold(task->parent);
		if (likely(loop->start))
			cpa_task_record_start(w, task, &cpa_token(loop->start)->path);
	}
	/* ACQ_REL: all that others read of the record is read before it is freed. */
	last = !__atomic_sub_fetch(&loop->rounds, rounds, __ATOMIC_ACQ_REL);
	if (likely(w)) {
		if (last)
			cpa_task_drop(w, loop);
		cpa_leave();
	}
	errno = err;
	return task;
}

static struct cpa_dependence *dependence_of(struct cpa_task *parent, const void *address)
{
	struct cpa_dependence *d = parent->dependences;

	while (d && d->address != address)
		d = d->next;
	if (d)
		return d;
	d = cpa_pool_take(CPA_POOL_DEPENDENCES, sizeof(*d));
	if (!d)
		return NULL;
	d->address = address;
	d->next = parent->dependences;
	parent->dependences = d;
	return d;
}

void cpa_task_depends(struct cpa_task *task, const void *address, enum cpa_depends kind)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_dependence *d;

	if (unlikely(!w))
		return;
	d = task->parent && task->count < CPA_TASK_DEPENDENCES ?
		    dependence_of(task->parent, address) :
		    NULL;
	if (d) {
		task->kind[task->count] = (uint8_t)kind;
		task->on[task->count++] = d;
	} else {
		cpa_diag(CPA_DIAG_OMP_UNSEEN);
	}
	cpa_leave();
	errno = err;
}

/* Add the path in @from, which nobody writes now, to the join in @to. */
static void add_word(struct cpa_self *self, uint64_t *to, const uint64_t *from)
{
	/* ACQUIRE pairs with (A) in cpa_merge_release(). */
	uint32_t token = (uint32_t)__atomic_load_n(from, __ATOMIC_ACQUIRE);

	if (token)
		cpa_merge_release_each(self, to, &cpa_token(token)->path);
}

/* Add to *@all the paths of the tasks that the dependences of @task name. See join_start(). */
static void add_dependences(struct cpa_self *self, const struct cpa_task *task, uint64_t *all)
{
	for (uint32_t i = 0; i < task->count; i++)
		for (unsigned k = 0; k < CPA_DEPENDS_KINDS; k++)
			if (k == CPA_DEPENDS_WRITE || k != task->kind[i])
				add_word(self, all, &task->on[i]->ended[k]);
}

/*
 * The start depends on the creation, and on the tasks that its dependences name. The runtime starts
 * it when those have ended, and none that depends on it before it has ended: so nobody else uses
 * the words now.
 */
static void join_start(struct cpa_worker *w, struct cpa_task *task, struct cpa_wait *wait)
{
	uint64_t start = task->start, all = 0;
	uint32_t token;

	add_dependences(&w->self, task, &all);
	if (all)
		add_word(&w->self, &all, &start);
	token = all ? cpa_merge_take(&all) : task->start;
	wait->matched = true; /* also if it was the thread itself that made it */
	cpa_acquire_path(&w->self, token ? &cpa_token(token)->path : NULL, wait);
	if (all)
		cpa_token_free(&w->self, token);
	task->start = 0;
}

/* The wait that the task interrupts is over; if there is none, an operation begins. */
static bool come_back(struct cpa_task_run *run, struct cpa_op *op)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_omp_wait *wait = w && w->omp ? w->omp->wait : NULL;

	if (w && w->omp && w->standing) {
		run->stood = true;
		run->team = w->omp->standing_team;
		run->covers = w->standing->covers;
		cpa_op_resume(w, op);
		return cpa_op_back(op);
	}
	if (wait && wait->op->blocked) {
		run->wait = wait;
		*op = *wait->op;
		return cpa_op_back(op);
	}
	*op = (struct cpa_op)CPA_OP(cpa_enter(), run->task->caller);
	op->err = errno;
	if (op->w)
		cpa_op_arrive(op, CPA_EV_TASK_START, run->task->class);
	return op->w;
}

static void hold(struct cpa_worker *w, const struct cpa_task *task)
{
	if (task && task->class)
		cpa_hold(&w->self, task->class, cpa_component_slot(task->class));
}

static void unhold(struct cpa_worker *w, const struct cpa_task *task)
{
	if (task && task->class)
		cpa_unhold(&w->self, task->class);
}

void cpa_task_enter(struct cpa_task_run *run, struct cpa_task *task)
{
	struct cpa_omp *omp;
	struct cpa_worker *w;
	struct cpa_op op;

	*run = (struct cpa_task_run){ .task = task };
	if (unlikely(!cpa_task_is_ours(task) || !come_back(run, &op)))
		return;
	w = op.w;
	omp = cpa_omp_of(w);
	if (unlikely(!omp)) {
		cpa_op_done(&op);
		return;
	}
	join_start(w, task, &op.wait);
	if (op.blocked) {
		w->self.row->node = cpa_track_node(w, CPA_EV_TASK_START, task->caller, task->class);
		w->self.row->path.node = w->self.row->node;
	}
	cpa_op_explain(&op, CPA_EXT_UNSEEN);
	run->outer = omp->task;
	run->runs = true;
	unhold(w, run->outer);
	hold(w, task);
	omp->task = task;
	omp->wait = NULL;
	cpa_op_done(&op);
}

/*
 * The path of a task that has ended goes to all that may wait for it, but for barriers. @under: the thread goes on
 * with its parent, and so has what it releases.
 */
static void publish(struct cpa_worker *w, struct cpa_task *task, bool under)
{
	const struct cpa_path *path = &w->self.row->path;

	cpa_journal_release(&w->self, NULL, 0, 1);
	if (!under && cpa_task_is_ours(task->parent))
		cpa_merge_release_each(&w->self, &task->parent->ends, path);
	if (task->group && task->group->space == cpa_object_space)
		cpa_merge_release_each(&w->self, &task->group->ends, path);
	for (uint32_t i = 0; i < task->count; i++)
		cpa_merge_release_each(&w->self, &task->on[i]->ended[task->kind[i]], path);
}

/*
 * Whether the thread goes on with the parent of the task. Not of libomp, where another thread may go on with it. A
 * journal is to have each release: cpa_merge_release_each().
 */
static bool returns_to_parent(const struct cpa_worker *w, const struct cpa_task_run *run)
{
	const struct cpa_task *task = run->task, *next = run->outer;

	if (!next && w->omp->part)
		next = w->omp->part->task;
	return next && next == task->parent && run != &task->run && !w->self.journal;
}

static void publish_end(struct cpa_worker *w, const struct cpa_task_run *run)
{
	struct cpa_barrier_op *b = run->wait ? run->wait->barrier : NULL;

	publish(w, run->task, returns_to_parent(w, run));
	if (b)
		cpa_barrier_arrive_again(&w->self, b->o, b->round, b->members);
	else if (run->stood && run->team)
		cpa_team_offer(w, run->team);
}

/* The thread goes on with what it ran before the task. Profiled or not: @run is gone soon. */
static void go_back(const struct cpa_task_run *run)
{
	struct cpa_omp *omp = cpa_tls.worker ? cpa_tls.worker->omp : NULL;

	if (unlikely(!omp || !run->runs || omp->task != run->task))
		return;
	omp->task = run->outer;
	omp->wait = run->wait;
	omp->standing_team = run->team;
}

void cpa_task_exit(struct cpa_task_run *run)
{
	int err = errno;
	struct cpa_task *task = run->task;
	struct cpa_worker *w = run->runs ? cpa_enter() : NULL;
	struct cpa_op *op = NULL;
	bool stood;

	if (unlikely(!w)) {
		go_back(run);
		if (cpa_task_is_ours(task))
			cpa_task_let(task);
		return;
	}
	if (run->stood)
		op = &w->omp->standing;
	else if (run->wait)
		op = run->wait->op;
	if (op) {
		*op = (struct cpa_op)CPA_OP(w, task->caller);
		op->covers = run->covers;
		cpa_op_arrive(op, CPA_EV_TASK_END, task->class);
	} else {
		cpa_event(w, CPA_EV_TASK_END, task->caller, task->class);
	}
	unhold(w, task);
	hold(w, run->outer);
	publish_end(w, run);
	go_back(run);
	stood = run->stood;
	cpa_task_drop(w, task); /* @run may be in there */
	if (stood)
		cpa_op_stand(op);
	else if (op)
		cpa_op_block(op);
	else
		cpa_done(w);
	errno = err;
}

void cpa_task_fulfill(struct cpa_task *task, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();

	if (unlikely(!w))
		return;
	cpa_event(w, CPA_EV_TASK_END, caller, task->class);
	if (cpa_task_is_ours(task))
		publish(w, task, false);
	if (!w->omp ||
	    !w->omp->part) /* a barrier that waits for the task does not see this thread */
		cpa_diag(CPA_DIAG_OMP_UNSEEN);
	cpa_task_drop(w, task);
	cpa_done(w);
	errno = err;
}

void cpa_task_wait_begin(struct cpa_task_wait *t, enum cpa_task_wait_kind kind, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_task *task = w && w->omp ? (w->omp->task ? w->omp->task :
					       w->omp->part ? w->omp->part->task :
							      NULL) :
					      NULL;

	*t = (struct cpa_task_wait){ .op = CPA_OP(w, caller), .kind = kind };
	if (!cpa_task_is_ours(task)) { /* no children that we know of */
		if (w)
			cpa_leave();
		return;
	}
	t->seen = true;
	cpa_op_arrive(&t->op, CPA_EV_TASK_WAIT, w->omp->part ? w->omp->part->team->region : 0);
	cpa_omp_wait(&t->wait, &t->op);
	cpa_op_block(&t->op);
	errno = err;
}

/* Take the join of the paths that a wait of @kind was for. 0: none. */
static uint32_t take_ends(struct cpa_self *self, struct cpa_task *task,
			  enum cpa_task_wait_kind kind, const struct cpa_task *named)
{
	struct cpa_group *group = task ? task->group : NULL;
	uint64_t all = 0;

	if (kind == CPA_WAIT_OTHER || !cpa_task_is_ours(task))
		return 0;
	if (kind == CPA_WAIT_NAMED) {
		if (named)
			add_dependences(self, named, &all);
		return cpa_merge_take(&all);
	}
	if (kind == CPA_WAIT_CHILDREN || !group)
		return cpa_merge_take(&task->ends);
	return group->space == task->space ? cpa_merge_take(&group->ends) : 0;
}

static void join_ends(struct cpa_worker *w, struct cpa_wait *wait, enum cpa_task_wait_kind kind,
		      const struct cpa_task *named)
{
	struct cpa_task *task = current(w->omp);
	struct cpa_group *group = kind == CPA_WAIT_GROUP && task ? task->group : NULL;
	uint32_t token = take_ends(&w->self, task, kind, named);

	/* Also without one: it ran them itself, or had none. Nobody released it. */
	wait->matched = kind != CPA_WAIT_OTHER;
	cpa_acquire_path(&w->self, token ? &cpa_token(token)->path : NULL, wait);
	if (token)
		cpa_token_free(&w->self, token);
	if (group) {
		task->group = group->outer;
		cpa_pool_give(CPA_POOL_GROUPS, group);
	}
}

void cpa_task_wait_for(struct cpa_task_wait *t, struct cpa_task *named, uint64_t caller)
{
	cpa_task_wait_begin(t, CPA_WAIT_NAMED, caller);
	t->named = named;
}

void cpa_task_wait_end(struct cpa_task_wait *t)
{
	if (!t->seen)
		return;
	cpa_omp_waited(&t->wait);
	if (!cpa_op_back(&t->op))
		return;
	join_ends(t->op.w, &t->op.wait, t->kind, t->named);
	cpa_op_end(&t->op, CPA_EXT_UNSEEN);
}

void cpa_task_stand(uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;

	if (omp) {
		omp->standing = (struct cpa_op)CPA_OP(w, caller);
		omp->standing.covers = true;
		omp->standing_team = NULL;
		cpa_op_arrive(&omp->standing, CPA_EV_TASK_WAIT, omp->part ? omp->part->region : 0);
		cpa_op_stand(&omp->standing);
	} else if (w) {
		cpa_leave();
	}
	errno = err;
}

void cpa_task_stood(enum cpa_task_wait_kind kind, uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_op op = CPA_OP(NULL, caller);

	if (w && w->standing) {
		cpa_op_resume(w, &op);
		if (!cpa_op_back(&op))
			return;
	} else { /* it did not wait */
		op.err = errno;
		op.w = cpa_enter();
		if (!op.w)
			return;
		cpa_op_arrive(&op, CPA_EV_TASK_WAIT, 0);
	}
	if (op.w->omp)
		join_ends(op.w, &op.wait, kind, NULL);
	cpa_op_end(&op, CPA_EXT_UNSEEN);
}

void cpa_task_group_begin(void)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_task *task = w && w->omp ? current(w->omp) : NULL;
	struct cpa_group *group = task ? cpa_pool_take(CPA_POOL_GROUPS, sizeof(*group)) : NULL;

	if (group) {
		group->outer = task->group;
		group->space = cpa_object_space;
		task->group = group;
	}
	if (w)
		cpa_leave();
	errno = err;
}
