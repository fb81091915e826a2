/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/sem.c - sem_*
 *
 * sem_post() is async-signal-safe, and so is our part: if it interrupts our own code, the guard
 * passes it through. The wait that it ends then finds one token too few, which is counted and not
 * an error.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <time.h>

#include "preload/libc/deadline.h"
#include "preload/core/object.h"
#include "preload/core/op.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"
#include "shadow/store/epoch.h"
#include "shadow/edge/fifo.h"

CPA_KEEP(sem_trywait);
CPA_KEEP(sem_post);

struct sem_op {
	struct cpa_op op;
	sem_t *sem;
};

#define SEM_OP(worker, s, caller)                            \
	{                                                    \
		.op = CPA_OP((worker), (caller)), .sem = (s) \
	}

/*
 * The first use of the semaphore in a part of the run. Posts before it depend on nothing: some of
 * those in the shadow were taken while profiling was off. @taken: 1 if the thread has just taken
 * one. A use by another thread at the same moment may be counted, too.
 */
static __attribute__((noinline, cold)) void renew(struct cpa_worker *w, struct cpa_object *o,
						  sem_t *s, unsigned taken)
{
	uint32_t part = (uint32_t)w->window.epoch;
	int err = errno, value = 0;

	/* Relaxed: one of several threads does this; the queue orders the posts. */
	if (__atomic_exchange_n(&o->run, part, __ATOMIC_RELAXED) == part)
		return;
	cpa_fifo_clear(&w->self, o);
	REAL(sem_getvalue)(s, &value);
	__atomic_store_n(&o->waiting, taken + (value > 0 ? (unsigned)value : 0), __ATOMIC_RELAXED);
	errno = err;
}

static struct cpa_object *find(struct cpa_worker *w, sem_t *s, uint64_t caller, unsigned taken)
{
	struct cpa_object *o = cpa_object_of(w, s, CPA_SEM, caller);

	if (unlikely(w->window.epoch != CPA_EPOCH_ON) && o && o->run != (uint32_t)w->window.epoch)
		renew(w, o, s, taken);
	return o;
}

static struct cpa_object *object_of(const struct sem_op *s, unsigned taken)
{
	return find(s->op.w, s->sem, s->op.caller, taken);
}

static void arrive(struct sem_op *s, const struct cpa_object *o)
{
	cpa_op_arrive(&s->op, CPA_EV_SEM_WAIT, o ? o->class : 0);
}

/* The thread has decremented the semaphore. Leaves. */
static void taken(struct sem_op *s)
{
	struct cpa_op *op = &s->op;
	struct cpa_object *o = object_of(s, 1);
	uint64_t length;

	if (!op->blocked)
		arrive(s, o);
	length = cpa_op_waited(op); /* the join may move the end behind that of the part */
	if (o) {
		cpa_sem_acquired(&op->w->self, o, &op->wait);
		/* Relaxed: several threads count; sums only. */
		__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
		if (op->blocked || unlikely(op->others))
			__atomic_fetch_add(&o->contended, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->wait, length, __ATOMIC_RELAXED);
	} else {
		cpa_acquire_path(&op->w->self, NULL, &op->wait);
	}
	cpa_op_explain_wake(op);
	cpa_op_done(op);
}

/* The wait has failed, with errno op->err. Leaves. */
static void failed(struct cpa_op *op)
{
	cpa_acquire_path(&op->w->self, NULL, &op->wait);
	cpa_op_end(op, op->err == ETIMEDOUT ? CPA_EXT_TIMEOUT : CPA_EXT_UNSEEN);
}

/*
 * The original has returned @ret. A wait that began while profiling was off counts if it succeeded.
 */
static int finish(struct sem_op *s, int ret)
{
	if (unlikely(ret && !s->op.blocked))
		return ret;
	if (!cpa_op_back(&s->op)) {
		cpa_op_missed(&s->op, s->sem, CPA_SEM);
		return ret;
	}
	if (likely(!ret))
		taken(s);
	else
		failed(&s->op);
	return ret;
}

/*
 * Decrement the semaphore if profiling is on and it is free. False: call the original. errno is
 * kept, as a wait that succeeds does not change it.
 */
static bool try_first(struct sem_op *s)
{
	int err = errno;

	if (unlikely(!s->op.w))
		return false;
	if (likely(!REAL_KEPT(sem_trywait)(s->sem)))
		return true;
	errno = err;
	arrive(s, object_of(s, 0));
	cpa_op_block(&s->op);
	return false;
}

/* sem_wait() is a cancellation point also if it does not block. */
#define WAIT(sem, caller, call)                                          \
	({                                                               \
		struct sem_op op_;                                       \
                                                                         \
		pthread_testcancel();                                    \
		op_ = (struct sem_op)SEM_OP(cpa_enter(), sem, (caller)); \
		finish(&op_, try_first(&op_) ? 0 : (call));              \
	})

static __attribute__((noinline)) int wait_off(sem_t *s, uint64_t caller)
{
	int ret = REAL(sem_wait)(s);
	struct sem_op op = SEM_OP(NULL, s, caller);

	return likely(cpa_is_off()) ? ret : finish(&op, ret);
}

static __attribute__((noinline)) int wait_on(sem_t *s, uint64_t caller)
{
	return WAIT(s, caller, REAL(sem_wait)(s));
}

CPA_EXPORT int sem_wait(sem_t *s)
{
	return likely(cpa_is_off()) ? wait_off(s, CPA_CALLER()) : wait_on(s, CPA_CALLER());
}

CPA_EXPORT int sem_timedwait(sem_t *s, const struct timespec *until)
{
	if (unlikely(cpa_deadline_refused(CLOCK_REALTIME, until)))
		return REAL(sem_timedwait)(s, until);
	return WAIT(s, CPA_CALLER(), REAL(sem_timedwait)(s, until));
}

CPA_EXPORT int sem_clockwait(sem_t *s, clockid_t clock, const struct timespec *until)
{
	if (unlikely(cpa_deadline_refused(clock, until)))
		return REAL(sem_clockwait)(s, clock, until);
	return WAIT(s, CPA_CALLER(), REAL(sem_clockwait)(s, clock, until));
}

static __attribute__((noinline)) int trywait_on(sem_t *s, uint64_t caller)
{
	struct sem_op op = SEM_OP(cpa_enter(), s, caller);
	int ret = REAL_KEPT(sem_trywait)(s);

	if (unlikely(!op.op.w) || !cpa_op_back(&op.op))
		return ret;
	if (likely(!ret)) {
		taken(&op);
	} else {
		const struct cpa_object *o = object_of(&op, 0);

		cpa_event(op.op.w, CPA_EV_TRY_FAILED, caller, o ? o->class : 0);
		cpa_op_done(&op.op);
	}
	return ret;
}

CPA_EXPORT int sem_trywait(sem_t *s)
{
	return CPA_PASSES(cpa_epoch_seen(), sem_trywait) ? KEPT(sem_trywait)(s) :
							   trywait_on(s, CPA_CALLER());
}

/* The thread is about to post. */
static __attribute__((noinline)) void posting(sem_t *s, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = find(w, s, caller, 0);
	cpa_event(w, CPA_EV_POST, caller, o ? o->class : 0);
	if (o)
		cpa_sem_release(&w->self, o);
	cpa_done(w);
}

static __attribute__((noinline)) int post_on(sem_t *s, uint64_t caller)
{
	int ret;

	posting(s, caller);
	ret = REAL_KEPT(sem_post)(s);
	cpa_woke();
	return ret;
}

CPA_EXPORT int sem_post(sem_t *s)
{
	return CPA_PASSES(cpa_epoch_seen(), sem_post) ? KEPT(sem_post)(s) :
							post_on(s, CPA_CALLER());
}

/* The first @value tokens of a semaphore depend on nothing. */
static void created(sem_t *s, unsigned value, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter_any();
	struct cpa_object *o;

	if (!w)
		return;
	o = cpa_object_created(w, s, CPA_SEM, caller);
	if (o)
		o->waiting = value;
	cpa_leave();
}

CPA_EXPORT int sem_init(sem_t *s, int shared, unsigned value)
{
	int ret = REAL(sem_init)(s, shared, value);

	if (!ret)
		created(s, value, CPA_CALLER());
	return ret;
}

/* sem_destroy() is not wrapped, for the reason given in cond.c. */

/* A semaphore that is opened twice is one object: only the first open creates it. */
CPA_EXPORT sem_t *sem_open(const char *name, int flags, ...)
{
	sem_t *s;
	mode_t mode = 0;
	unsigned value = 0;
	int now = 0;
	uint64_t caller = CPA_CALLER();
	struct cpa_worker *w;

	if (flags & O_CREAT) {
		va_list args;

		va_start(args, flags);
		mode = va_arg(args, mode_t);
		value = va_arg(args, unsigned);
		va_end(args);
	}
	s = REAL(sem_open)(name, flags, mode, value);
	if (s == SEM_FAILED)
		return s;
	w = cpa_enter_any();
	if (w) {
		const struct cpa_object *o;

		/* The memory of one that was closed may be that of this one. */
		cpa_object_mapped(w, s);
		o = cpa_object_seen(w, s, CPA_SEM);
		cpa_leave();
		if (o)
			return s;
	}
	REAL(sem_getvalue)(s, &now);
	created(s, now > 0 ? (unsigned)now : 0, caller);
	return s;
}
