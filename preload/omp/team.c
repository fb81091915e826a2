/* SPDX-License-Identifier: MIT */
#include "preload/omp/task.h"

#include <errno.h>
#include <string.h>

#include "preload/core/dlopen.h"
#include "preload/core/function.h"
#include "preload/core/object.h"
#include "preload/libc/pool.h"
#include "shadow/edge/object.h"
#include "shadow/edge/release.h"
#include "shadow/path/object_path.h"

struct cpa_omp *cpa_omp_of(struct cpa_worker *w)
{
	if (unlikely(!w->omp))
		w->omp = cpa_pool_take(CPA_POOL_OMP, sizeof(*w->omp));
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
	unsigned at = (unsigned)(cpa_hash(name.address) >> 40) % CPA_CONSTRUCTS;

	if (!name.address)
		return 0;
	if (unlikely(cpa_dlopen_changed(&omp->loads))) /* other code may be there now */
		memset(omp->constructs, 0, sizeof(omp->constructs));
	if (unlikely(omp->constructs[at].address != name.address ||
		     omp->constructs[at].kind != (uint32_t)kind)) {
		name.module = cpa_module_of(name.address);
		omp->constructs[at].component = cpa_component_intern(&name);
		omp->constructs[at].address = name.address;
		omp->constructs[at].kind = kind;
	}
	return omp->constructs[at].component;
}

/* As *@to = @value, but does not take the cache line from the workers without need. */
#define SET(to, value)                         \
	do {                                   \
		if (unlikely((to) != (value))) \
			(to) = (value);        \
	} while (0)

/* In a child of fork(), the paths in the seats are the parent's. */
static void clear_seats(struct cpa_team *team)
{
	for (struct cpa_seats *s = &team->seats; s; s = s->next)
		memset(s->seat, 0, sizeof(s->seat));
	team->space = cpa_object_space;
}

struct cpa_team *cpa_team_fork(uint64_t function, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_omp *omp = w ? cpa_omp_of(w) : NULL;
	struct cpa_team *team = omp ? team_take(omp) : NULL;
	struct cpa_object *fork;
	uint32_t region;

	if (unlikely(!team)) {
		if (w)
			cpa_leave();
		return NULL;
	}
	if (unlikely(team->space != cpa_object_space))
		clear_seats(team);
	region = cpa_omp_construct(omp, CPA_REGION, 0, function, caller);
	SET(team->caller, caller);
	SET(team->region, region);
	team->members = 0;
	cpa_event(w, CPA_EV_TEAM, caller, region);
	fork = object_at(w, &team->place.fork, CPA_ANNOTATION);
	if (likely(fork))
		cpa_lock_release(&w->self, fork);
	SET(team->forked, likely(fork && fork->path) ? cpa_object_place(fork) : NULL);
	cpa_done(w);
	errno = err;
	return team;
}

/* The seat of thread @index of @team. NULL: no memory. Inside our code. */
static uint32_t *seat_of(struct cpa_team *team, uint32_t index)
{
	struct cpa_seats *s = &team->seats, *more, *other;

	for (; unlikely(index >= CPA_SEATS); index -= CPA_SEATS, s = more) {
		/* ACQUIRE pairs with the RELEASE below. */
		more = __atomic_load_n(&s->next, __ATOMIC_ACQUIRE);
		if (more)
			continue;
		more = cpa_pool_take(CPA_POOL_SEATS, sizeof(*more));
		if (!more)
			return NULL;
		other = NULL;
		/* RELEASE: it is empty. */
		if (!__atomic_compare_exchange_n(&s->next, &other, more, false, __ATOMIC_ACQ_REL,
						 __ATOMIC_ACQUIRE)) {
			cpa_pool_give(CPA_POOL_SEATS, more);
			more = other;
		}
	}
	return s->seat[index];
}

static void acquire(struct cpa_worker *w, const struct cpa_team *team, enum cpa_meeting which,
		    uint32_t members, uint32_t own, struct cpa_wait *wait)
{
	bool ours = team->space == cpa_object_space;

	if (members <= 1) {
		wait->matched = true;
		cpa_acquire_path(&w->self, NULL, wait);
		return;
	}
	cpa_seats_acquired(&w->self, ours ? &team->seats : NULL, which, members, own, wait);
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

/* A worker begins. */
static void join_fork(struct cpa_op *op, struct cpa_team *team)
{
	const struct cpa_object *fork = object_at(op->w, &team->place.fork, CPA_ANNOTATION);

	if (likely(fork))
		cpa_acquire_object(&op->w->self, cpa_object_path(fork), fork, &op->wait);
	stand_at(op, CPA_EV_PART, team);
	cpa_op_explain(op, CPA_EXT_UNSEEN);
}

void cpa_part_enter(struct cpa_part *part, struct cpa_team *team, uint32_t index, uint32_t members)
{
	struct cpa_omp *omp;
	struct cpa_op op;

	*part = (struct cpa_part){
		.team = team, .region = team->region, .members = members, .index = index
	};
	if (!index)
		team->members = members;
	if (unlikely(!come_back(&op, team)))
		return;
	part->seat = seat_of(team, index);
	if (index)
		join_fork(&op, team);
	if (index && part->seat && part->seat[CPA_MEET_END]) /* by the end it has come */
		cpa_seat_fetch(cpa_seat_path(part->seat[CPA_MEET_END]), true);
	omp = cpa_omp_of(op.w);
	if (likely(omp)) {
		if (index)
			omp->forked = team->forked;
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

void cpa_part_arrive(struct cpa_worker *w, const struct cpa_part *part)
{
	uint32_t *seat = cpa_part_seat(part, cpa_part_meeting(part));

	if (likely(seat))
		cpa_seat_release(&w->self, seat, part->members - 1);
}

void cpa_part_depart(struct cpa_worker *w, const struct cpa_part *part, struct cpa_wait *wait)
{
	enum cpa_meeting now = cpa_part_meeting(part),
			 next = now == CPA_MEET_EVEN ? CPA_MEET_ODD : CPA_MEET_EVEN;

	acquire(w, part->team, now, part->members, part->index, wait);
	if (likely(part->seat && part->seat[next])) /* all have left that one */
		cpa_seat_fetch(cpa_seat_path(part->seat[next]), true);
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
	omp->standing_seat = part->index ? cpa_part_seat(part, CPA_MEET_END) : NULL;
	omp->standing_readers = 1;
	if (omp->standing_seat)
		cpa_seat_release(&w->self, omp->standing_seat, 1);
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
	if (unlikely(team->used_ordered))
		clear(w, &team->place.ordered, CPA_ANNOTATION);
	if (unlikely(team->used_cancel))
		clear(w, &team->place.cancel, CPA_ANNOTATION);
	if (unlikely(team->used_ordered || team->used_cancel))
		team->used_ordered = team->used_cancel = false;
	SET(team->told, false);
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
	/* The master's path behind the region depends on those of all parts. */
	acquire(w, team, team->told ? team->last : CPA_MEET_END, team->members, 0, &op.wait);
	stand_at(&op, CPA_EV_TEAM_END, team);
	cpa_op_explain(&op, CPA_EXT_UNSEEN);
	reset(w, team);
	if (likely(w->omp)) {
		team->below = w->omp->free;
		w->omp->free = team;
	}
	if (likely(team->forked && team->members > 1)) /* the workers have read it */
		cpa_seat_fetch(team->forked, true);
	cpa_op_done(&op);
}
