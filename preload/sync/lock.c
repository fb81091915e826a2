/* SPDX-License-Identifier: MIT */
#include "preload/sync/lock.h"

#include "preload/core/event.h"
#include "preload/process/process.h"
#include "shadow/graph/activity.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/store/epoch.h"
#include "shadow/edge/release.h"

void cpa_lock_taken(const struct cpa_worker *w, struct cpa_object *o, uint64_t now)
{
	uint64_t released = cpa_object_path(o)->released;
	uint64_t bound = now > released ? now - released : 0;

	if (!o->user || o->user == w->self.id)
		return;
	o->user = 0;
	o->lost++;
	/* A release in an earlier part of the run: this part does not depend on it. */
	if (unlikely(released < cpa_epoch_begun(cpa_header(), w->window.epoch)))
		return;
	/*
	 * The user would have timed a use after each sample: what is missing is not older than
	 * that.
	 */
	bound = bound < cpa_sampler_latest() ? bound : cpa_sampler_latest();
	cpa_diag(CPA_DIAG_UNTIMED_HANDOFFS);
	cpa_diag_add(CPA_DIAG_UNTIMED_TICKS, bound);
}

/* @o was used again by the same thread: perhaps often enough for untimed uses. */
static void go_on(struct cpa_worker *w, struct cpa_object *o)
{
	if (o->run >= CPA_UNTIMED_RUN << (o->lost < 16 ? o->lost : 16) &&
	    cpa_sampler_ticks(&w->sampler) && o->class)
		o->user = w->self.id;
	/* Learn the mean only from the last uses before it is needed. */
	if (o->run < CPA_UNTIMED_RUN)
		cpa_untimed_learn(w, &o->mean, o->run);
}

/* A timed use of @o begins. @same: the thread was the last to use it, and did not wait. */
static inline void count_run(struct cpa_worker *w, struct cpa_object *o, bool same, uint64_t now)
{
	if (unlikely(o->user && o->user != w->self.id))
		cpa_lock_taken(w, o, now);
	o->run = same ? o->run + 1 : 1;
	o->tick = w->clock.tick;
	if (unlikely(o->run >= CPA_UNTIMED_RUN - CPA_UNTIMED_LEARN))
		go_on(w, o);
}

static uint32_t class_of(const struct cpa_object *o)
{
	return o ? o->class : 0;
}

static struct cpa_object *object_of(const struct cpa_lock_op *l)
{
	return cpa_object_of(l->op.w, l->lock, l->kind, l->op.caller);
}

void cpa_lock_arrive(struct cpa_lock_op *l)
{
	if (unlikely(!l->op.w))
		return;
	cpa_op_arrive(&l->op, CPA_EV_LOCK, class_of(object_of(l)));
	cpa_op_block(&l->op);
}

void cpa_lock_arrive_untried(struct cpa_lock_op *l)
{
	const struct cpa_object *o = likely(l->op.w) ? object_of(l) : NULL;

	/* Relaxed: a hint. */
	l->free = o && !__atomic_load_n(&o->holder, __ATOMIC_RELAXED);
	cpa_lock_arrive(l);
}

static inline void section_begin(struct cpa_worker *w, struct cpa_object *o, uint32_t depth,
				 uint64_t now)
{
	o->holder = w->self.id;
	o->depth = depth;
	o->since = now;
	o->acquisitions++;
	cpa_hold(&w->self, o->class, o->slot);
}

void cpa_section_begin(struct cpa_worker *w, struct cpa_object *o, uint32_t depth, uint64_t now)
{
	section_begin(w, o, depth, now);
}

/*
 * The operation depends on no release: if it waited, that was external time of kind @otherwise.
 * Leaves.
 */
static void end_alone(struct cpa_lock_op *l, enum cpa_external otherwise)
{
	cpa_acquire_path(&l->op.w->self, NULL, &l->op.wait);
	cpa_op_end(&l->op, otherwise);
}

/* The thread has @o since @wait->now, after another thread, or after none. */
static void take(struct cpa_worker *w, struct cpa_object *o, struct cpa_wait *wait)
{
	uint32_t last = cpa_object_path(o)->owner;
	uint64_t released = cpa_object_path(o)->released;

	if (o->kind == CPA_RWLOCK)
		cpa_write_acquired(&w->self, o, wait);
	else
		cpa_lock_acquired(&w->self, o, wait);
	/* Each thread has another id in each part: what was released in an earlier one tells nothing. */
	if (last && last != w->self.id &&
	    released >= cpa_epoch_begun(cpa_header(), w->window.epoch))
		o->handoffs++;
	if (wait->from)
		cpa_dependency(&w->self, wait, wait->now - wait->arrived);
}

/* The thread has @o, and the event of the operation was made. Leaves. */
static void enter(struct cpa_lock_op *l, struct cpa_object *o)
{
	struct cpa_op *op = &l->op;
	bool waited = (op->blocked || op->others) && !l->free;
	uint64_t length = cpa_op_waited(op); /* the join may move the end behind that of the part */

	if (l->kind == CPA_MUTEX || l->kind == CPA_SPIN || l->kind == CPA_OMP_LOCK)
		count_run(op->w, o, cpa_object_path(o)->owner == op->w->self.id && !waited,
			  op->wait.now);
	take(op->w, o, &op->wait);
	if (op->blocked)
		cpa_op_callers(op);
	if (waited) {
		o->contended++;
		o->wait += length;
	}
	section_begin(op->w, o, 1, op->wait.now);
	cpa_op_done(op);
}

/*
 * cpa_lock_enter() for a lock that has no shadow, that the thread holds already, or that it waited
 * for.
 */
static __attribute__((noinline)) void enter_slow(struct cpa_lock_op *l)
{
	struct cpa_op *op = &l->op;
	struct cpa_object *o;

	if (!cpa_op_back(op)) {
		op->others = cpa_op_missed(op, l->free ? NULL : l->lock, l->kind);
		return;
	}
	o = object_of(l);
	if (o && o->holder == op->w->self.id) { /* recursive: only the outermost lock is an event */
		o->depth++;
		if (unlikely(op->blocked))
			end_alone(l, CPA_EXT_UNSEEN);
		else
			cpa_leave();
		return;
	}
	if (!op->blocked)
		cpa_op_arrive(op, CPA_EV_LOCK, class_of(o));
	if (!o) {
		end_alone(l, CPA_EXT_UNSEEN);
		return;
	}
	enter(l, o);
}

void cpa_lock_enter(struct cpa_lock_op *l)
{
	if (l->op.blocked || !l->op.w || l->kind == CPA_RWLOCK)
		enter_slow(l);
	else
		cpa_lock_got(l->op.w, l->lock, l->kind, l->op.caller);
}

/* A lock without shadow, or one that the thread holds already. */
static __attribute__((noinline)) void got_slow(const void *lock, enum cpa_object_kind kind,
					       uint64_t caller)
{
	struct cpa_lock_op l = CPA_LOCK_OP(cpa_tls.worker, lock, kind, caller);

	enter_slow(&l);
}

void cpa_lock_got_known(struct cpa_object *o, const void *lock, uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;
	uint64_t now;
	bool same;

	cpa_reenter();
	if (unlikely(o->holder == w->self.id)) {
		got_slow(lock, (enum cpa_object_kind)o->kind, caller);
		return;
	}
	if (unlikely(o->user == w->self.id))
		cpa_lock_cuts(w);
	now = cpa_event_usual(w, CPA_EV_LOCK, caller, o->class);
	same = cpa_object_path(o)->owner == w->self.id;
	if (likely(o->kind != CPA_ONCE))
		count_run(w, o, same, now);
	/* Otherwise the path that was released last has been this thread's since then. */
	if (unlikely(!same || w->self.journal)) {
		struct cpa_wait wait = { .arrived = now, .now = now };

		take(w, o, &wait);
		now = wait.now;
	}
	section_begin(w, o, 1, now);
	cpa_done_usual(w);
}

void cpa_lock_got(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
		  uint64_t caller)
{
	struct cpa_object *o = cpa_object_of(w, lock, kind, caller);

	if (likely(o))
		cpa_lock_got_known(o, lock, caller);
	else
		got_slow(lock, kind, caller);
}

void cpa_lock_got_untried(struct cpa_object *o, const void *lock, uint64_t caller)
{
	struct cpa_lock_op l =
		CPA_LOCK_OP(cpa_tls.worker, lock, (enum cpa_object_kind)o->kind, caller);

	if (likely(cpa_lock_is_used(o))) {
		cpa_lock_got_known(o, lock, caller);
		return;
	}
	l.op.err = errno;
	cpa_reenter();
	l.op.blocked = cpa_event_waited(l.op.w, CPA_EV_LOCK, caller, 0, &l.op.wait);
	l.op.arrived = l.op.wait.arrived;
	enter(&l, o);
}

uint64_t cpa_lock_begun_slow(const void *lock, enum cpa_object_kind kind, uint64_t caller,
			     bool waited)
{
	struct cpa_lock_op l = CPA_LOCK_OP(NULL, lock, kind, caller);

	l.free = !waited;
	enter_slow(&l);
	return l.op.others;
}

void cpa_lock_failed(struct cpa_lock_op *l, bool timeout)
{
	if (l->op.w && cpa_op_back(&l->op))
		end_alone(l, timeout ? CPA_EXT_TIMEOUT : CPA_EXT_UNSEEN);
}

void cpa_lock_refused(struct cpa_lock_op *l)
{
	cpa_event(l->op.w, CPA_EV_TRY_FAILED, l->op.caller, class_of(object_of(l)));
	cpa_done(l->op.w);
}

static inline __attribute__((always_inline)) uint32_t
section_end(struct cpa_worker *w, struct cpa_object *o, uint64_t now)
{
	uint32_t depth = o->depth;
	uint64_t length;

	if (unlikely(o->holder != w->self.id)) {
		if (w->window.epoch == CPA_EPOCH_ON) {
			/*
			 * A child of fork() unlocks what was locked before, by the thread that it
			 * is a copy of.
			 */
			if (o->acquisitions || !cpa_process_is_child())
				cpa_diag(CPA_DIAG_FOREIGN_UNLOCKS);
			return 0;
		}
		/* As below, but the event of this operation was made already. */
		cpa_diag(CPA_DIAG_PART_UNLOCKS);
		o->since = now;
		depth = 1;
	} else {
		cpa_unhold(&w->self, o->class);
	}
	length = now > o->since ? now - o->since : 0;
	o->hold += length;
	o->holder = 0;
	o->depth = 0;
	cpa_lock_release(&w->self, o);
	return depth;
}

uint32_t cpa_section_end(struct cpa_worker *w, struct cpa_object *o, uint64_t now)
{
	return section_end(w, o, now);
}

void cpa_lock_exit(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
		   uint64_t caller)
{
	struct cpa_object *o = cpa_object_of(w, lock, kind, caller);

	if (likely(o)) {
		cpa_lock_exit_known(o, caller);
		return;
	}
	cpa_event(w, CPA_EV_UNLOCK, caller, 0);
	cpa_done(w);
}

/*
 * The thread unlocks @o, which it locked while profiling was off or in an earlier part. It has held @o
 * since it began this part, so its work since its last event counts for the lock. If that event is where
 * it began the part, its work in the part before that event counts, too. Leaves cpa's code.
 */
static void exit_learnt(struct cpa_worker *w, struct cpa_object *o, uint64_t caller)
{
	struct cpa_thread *row = w->self.row;
	uint64_t begun = cpa_epoch_begun(cpa_header(), w->window.epoch), now;
	bool first = row->path.released == w->window.met;

	cpa_diag(CPA_DIAG_PART_UNLOCKS);
	o->holder = w->self.id;
	o->depth = 1;
	/* A child of fork() may have begun later. */
	o->since = begun > row->start_ticks ? begun : row->start_ticks;
	cpa_hold(&w->self, o->class, o->slot);
	now = cpa_event_usual(w, CPA_EV_UNLOCK, caller, o->class);
	/* Not into a journal, where what is charged belongs to the activity before its event. */
	if (first && w->window.head && o->class && !w->self.journal) {
		cpa_writing(row);
		cpa_activity_charge(&w->self, cpa_component_slot(o->class), w->window.head,
				    w->window.head);
		cpa_written(row);
	}
	w->window.head = 0;
	section_end(w, o, now);
	cpa_done_usual(w);
}

/* Not the end of a section that the thread began in this part. Return whether it was done; then leaves. */
static __attribute__((noinline)) bool exit_odd(struct cpa_worker *w, struct cpa_object *o,
					       uint64_t caller)
{
	if (o->holder == w->self.id) {
		o->depth--;
		cpa_leave();
		return true;
	}
	/* Another thread may have locked it, in this part. */
	if (w->window.epoch == CPA_EPOCH_ON ||
	    (o->holder && o->since >= cpa_epoch_begun(cpa_header(), w->window.epoch)))
		return false;
	exit_learnt(w, o, caller);
	return true;
}

void cpa_lock_exit_known(struct cpa_object *o, uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;

	cpa_reenter();
	if (unlikely(o->holder != w->self.id || o->depth > 1) && exit_odd(w, o, caller))
		return;
	if (unlikely(!o->since))
		cpa_lock_cuts(w);
	section_end(w, o, cpa_event_usual(w, CPA_EV_UNLOCK, caller, o->class));
	cpa_done_usual(w);
}
