/* SPDX-License-Identifier: MIT */
#include "preload/omp/task.h"

#include <errno.h>
#include <string.h>

#include "preload/code/unload.h"
#include "preload/code/module.h"
#include "preload/core/object.h"
#include "preload/libc/pool.h"
#include "shadow/edge/object.h"
#include "shadow/edge/release.h"

/* What a thread that ended had goes to the next one, with its free teams and records. */
static struct cpa_omp *omp_new(void)
{
	bool busy;
	struct cpa_omp *omp = cpa_pool_take_used(CPA_POOL_OMP, sizeof(*omp), &busy);

	if (unlikely(!omp))
		return cpa_pool_take(CPA_POOL_OMP, sizeof(*omp));
	*omp = (struct cpa_omp){ .free = omp->free,
				 .free_tasks = omp->free_tasks,
				 .free_task_count = omp->free_task_count };
	return omp;
}

struct cpa_omp *cpa_omp_of(struct cpa_worker *w)
{
	if (unlikely(!w->omp))
		w->omp = omp_new();
	return w->omp;
}

static struct cpa_team *team_take(struct cpa_omp *omp)
{
	struct cpa_team *team = omp->free;

	if (unlikely(!team))
		return cpa_pool_take(CPA_POOL_TEAMS, sizeof(*team));
	omp->free = team->below;
	return team;
}

static struct cpa_object *object_at(struct cpa_worker *w, const uint64_t *place,
				    enum cpa_object_kind kind)
{
	return cpa_object_of_class(w, place, kind, 0);
}

uint32_t cpa_omp_construct(struct cpa_omp *omp, enum cpa_component_kind kind, uint32_t object_kind,
			   uint64_t function, uint64_t caller)
{
	struct cpa_component_name name = { .kind = kind,
					   .object_kind = object_kind,
					   .by = function ? CPA_BY_ADDRESS : CPA_BY_FIRST_SITE,
					   .address = function ? function : caller };
	const uint64_t address = name.address;
	unsigned at = (unsigned)(cpa_hash(address) >> 40) % CPA_CONSTRUCTS;

	if (!address)
		return 0;
	if (unlikely(cpa_unloads_changed(&omp->loads))) /* other code may be there now */
		memset(omp->constructs, 0, sizeof(omp->constructs));
	if (unlikely(omp->constructs[at].address != address ||
		     omp->constructs[at].kind != (uint32_t)kind)) {
		name.module = cpa_module_place(&name.address);
		omp->constructs[at].component = cpa_component_intern(&name);
		omp->constructs[at].address = address;
		omp->constructs[at].kind = kind;
	}
	return omp->constructs[at].component;
}

/*
 * Make the objects of @team, before there are several threads in it: of two that make one at once, the second
 * would go without, and its arrival or end would be lost.
 */
static void make_objects(struct cpa_worker *w, struct cpa_team *team)
{
	object_at(w, &team->place.fork, CPA_ANNOTATION);
	object_at(w, &team->place.join, CPA_ANNOTATION);
	object_at(w, &team->place.barrier, CPA_BARRIER);
	object_at(w, &team->place.ordered, CPA_ANNOTATION);
	object_at(w, &team->place.cancel, CPA_ANNOTATION);
	team->made = cpa_object_space + 1;
}

struct cpa_team *cpa_team_fork(uint64_t function, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;
	struct cpa_team *team = omp ? team_take(omp) : NULL;
	struct cpa_object *fork;

	if (unlikely(!team)) {
		if (w)
			cpa_leave();
		return NULL;
	}
	if (unlikely(team->made != cpa_object_space + 1))
		make_objects(w, team);
	team->caller = caller;
	team->instance++;
	team->master = w->self.id;
	team->region = cpa_omp_construct(omp, CPA_REGION, 0, function, caller);
	cpa_event(w, CPA_EV_TEAM, caller, team->region);
	fork = object_at(w, &team->place.fork, CPA_ANNOTATION);
	if (likely(fork))
		cpa_lock_release(&w->self, fork);
	cpa_done(w);
	errno = err;
	return team;
}

/* The wait that stands for the thread is over, or if there is none, an operation begins. */
static bool come_back(struct cpa_op *op, const struct cpa_team *team)
{
	struct cpa_worker *w = cpa_tls.worker;

	if (w && w->standing) {
		cpa_op_resume(w, op);
		return cpa_op_back(op);
	}
	*op = (struct cpa_op)CPA_OP(cpa_enter(), team->caller);
	op->err = errno;
	if (op->w)
		cpa_op_arrive(op, CPA_EV_PART, team->region);
	return op->w;
}

/* The next activity begins at an event of @kind, of which the wait was a part. */
static void stand_at(struct cpa_op *op, enum cpa_event_kind kind, const struct cpa_team *team)
{
	struct cpa_thread *row = op->w->self.row;

	if (!op->blocked)
		return;
	row->node = cpa_track_node(op->w, kind, team->caller, team->region);
	row->path.node = row->node;
}

void cpa_part_enter(struct cpa_part *part, struct cpa_team *team)
{
	struct cpa_object *fork;
	struct cpa_omp *omp;
	struct cpa_op op;

	*part = (struct cpa_part){ .team = team, .region = team->region };
	if (unlikely(!come_back(&op, team)))
		return;
	if (op.w->self.id != team->master) {
		fork = object_at(op.w, &team->place.fork, CPA_ANNOTATION);
		if (likely(fork))
			cpa_acquire_object(&op.w->self, cpa_object_path(fork), fork, &op.wait);
		stand_at(&op, CPA_EV_PART, team);
		cpa_op_explain(&op, CPA_EXT_UNSEEN);
	}
	omp = cpa_omp_of(op.w);
	if (likely(omp)) {
		part->outer = omp->part;
		part->outer_task = omp->task;
		part->outer_wait = omp->wait;
		omp->part = part;
		omp->task = NULL;
		omp->wait = NULL;
	}
	if (team->region)
		cpa_hold(&op.w->self, team->region, cpa_component_slot(team->region));
	cpa_op_done(&op);
}

void cpa_part_arrive(struct cpa_worker *w, struct cpa_part *part)
{
	struct cpa_object *o = part ? object_at(w, &part->team->place.barrier, CPA_BARRIER) : NULL;

	if (unlikely(!o))
		return;
	cpa_team_barrier_of(o, part->members);
	cpa_team_uses(&part->team->used_barrier);
	cpa_barrier_arrive_at(&w->self, o, part->round, part->members);
}

void cpa_team_offer(struct cpa_worker *w, struct cpa_team *team)
{
	struct cpa_object *join;

	if (team->told) {
		cpa_part_arrive(w, w->omp->part);
		return;
	}
	if (w->self.id == team->master)
		return;
	join = object_at(w, &team->place.join, CPA_ANNOTATION);
	if (likely(join))
		cpa_join_release(&w->self, join, team->instance);
}

void cpa_part_leave(const struct cpa_part *part)
{
	struct cpa_omp *omp = cpa_tls.worker ? cpa_tls.worker->omp : NULL;

	if (unlikely(!omp || omp->part != part))
		return;
	omp->part = part->outer;
	omp->task = part->outer_task;
	omp->wait = part->outer_wait;
}

void cpa_part_exit(struct cpa_part *part)
{
	int err = errno;
	struct cpa_team *team = part->team;
	struct cpa_worker *w;
	struct cpa_omp *omp;
	struct cpa_op *op;

	cpa_part_leave(part);
	w = cpa_enter();
	if (unlikely(!w))
		return;
	omp = cpa_omp_of(w);
	if (unlikely(!omp)) {
		cpa_leave();
		return;
	}
	cpa_task_drop(w, part->task);
	op = &omp->standing;
	*op = (struct cpa_op)CPA_OP(w, team->caller);
	cpa_op_arrive(op, CPA_EV_PART_END, team->region);
	if (team->region)
		cpa_unhold(&w->self, team->region);
	omp->standing_team = team;
	cpa_team_offer(w, team);
	cpa_op_stand(op);
	errno = err;
}

/* Forget the paths in the object at @place: the next instance must not join them. */
static void clear(struct cpa_worker *w, const uint64_t *place, enum cpa_object_kind kind)
{
	struct cpa_object *o = object_at(w, place, kind);

	if (o)
		cpa_object_clear(&w->self, o);
}

static void reset(struct cpa_worker *w, struct cpa_team *team)
{
	if (unlikely(team->used_barrier))
		clear(w, &team->place.barrier, CPA_BARRIER);
	if (unlikely(team->used_ordered))
		clear(w, &team->place.ordered, CPA_ANNOTATION);
	if (unlikely(team->used_cancel))
		clear(w, &team->place.cancel, CPA_ANNOTATION);
	team->used_barrier = team->used_ordered = team->used_cancel = team->told = false;
	team->alone = false;
}

/* The master's path behind the region depends on those of all parts. */
static void join_parts(struct cpa_worker *w, struct cpa_team *team, struct cpa_wait *wait)
{
	struct cpa_object *o;

	if (team->told && (team->alone || !team->used_barrier)) {
		wait->matched = true;
		cpa_acquire_path(&w->self, NULL, wait);
		return;
	}
	o = object_at(w, team->told ? &team->place.barrier : &team->place.join,
		      team->told ? CPA_BARRIER : CPA_ANNOTATION);
	if (unlikely(!o))
		return;
	if (team->told)
		cpa_barrier_left(&w->self, o, team->last_round, wait);
	else
		cpa_join_acquired(&w->self, o, team->instance, wait);
}

void cpa_team_join(struct cpa_team *team)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_op op;

	if (unlikely(!team))
		return;
	if (unlikely(!w || !w->standing)) { /* forked, or the part of the run ended meanwhile */
		op = (struct cpa_op)CPA_OP(cpa_enter(), team->caller);
		op.err = errno;
		if (!op.w)
			return;
		cpa_op_arrive(&op, CPA_EV_PART, team->region);
	} else {
		cpa_op_resume(w, &op);
		if (!cpa_op_back(&op))
			return;
	}
	w = op.w;
	join_parts(w, team, &op.wait);
	stand_at(&op, CPA_EV_TEAM_END, team);
	cpa_op_explain(&op, CPA_EXT_UNSEEN);
	reset(w, team);
	if (likely(w->omp)) {
		team->below = w->omp->free;
		w->omp->free = team;
	}
	cpa_op_done(&op);
}
