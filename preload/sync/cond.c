/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/cond.c - pthread_cond_* and C11 cnd_*
 *
 * The original releases the mutex and takes it again by internal calls. So a wait is two events:
 * going to sleep, which publishes the path as an unlock does, and the return, which depends on the
 * signal and on the last unlock of the mutex. The return may be a cancellation; then the mutex is
 * held, and cleanup handlers of the program run after ours.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "preload/libc/c11.h"
#include "preload/sync/lock.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"
#include "shadow/arch/arch.h"
#include "shadow/graph/component.h"

/*
 * Before glibc 2.3.2 a pthread_cond_t was a pointer to memory that the library allocated. Functions
 * of one version must not be called for a condition of the other, so each wrapper calls its own.
 */
#define VERSION	  CPA_ARCH_GLIBC_COND
#define OLDER	  CPA_ARCH_GLIBC_FIRST
#define EVERYBODY UINT32_MAX

/* Bit of a pthread_cond_t's __wrefs: glibc's __PTHREAD_COND_CLOCK_MONOTONIC_MASK. */
#define ON_MONOTONIC 2u

/* A wait under way. */
struct waiting {
	struct cpa_op op;
	const void *cond, *mutex;
	uint32_t depth; /* depth of the mutex; 0: not known to be held */
	bool slept;	/* the condition's shadow counts the thread as waiting */
	int ret;	/* result of the original; ECANCELED: cancelled */
	clockid_t clock;
	const struct timespec *until; /* deadline on `clock`; NULL: none */
};

static void begin(struct waiting *wait)
{
	struct cpa_worker *w = wait->op.w;
	struct cpa_object *cond, *mutex;

	if (unlikely(!w))
		return;
	cond = cpa_object_of(w, wait->cond, CPA_COND, wait->op.caller);
	mutex = cpa_object_of(w, wait->mutex, CPA_MUTEX, wait->op.caller);
	cpa_op_arrive(&wait->op, CPA_EV_SLEEP, cond ? cond->class : 0);
	if (mutex)
		wait->depth = cpa_section_end(w, mutex, wait->op.arrived);
	if (cond && mutex)
		cond->queue = mutex->queue;
	if (cond)
		cpa_wait_begin(cond);
	wait->slept = cond != NULL;
	cpa_op_block(&wait->op);
}

/*
 * The wait timed out. Until the deadline it was external time (design 4); after it the thread
 * waited for the mutex. Return the clock of the deadline.
 */
static uint64_t timed_out(struct waiting *wait)
{
	struct cpa_op *op = &wait->op;
	uint64_t due = cpa_clock_at(wait->clock, wait->until, op->wait.now);
	uint64_t since = cpa_self_since(&op->w->self, op->arrived);

	if (due < since)
		due = since;
	cpa_op_in_vain(op, CPA_EXT_TIMEOUT);
	cpa_unexplained_first(op->w, CPA_EXT_TIMEOUT, due - since);
	return due;
}

/* A wait for @cond has ended, which lasted for @length ticks in parts. */
static void count(struct cpa_object *cond, uint64_t length)
{
	/* Relaxed: several waiters count; sums only. */
	__atomic_fetch_add(&cond->acquisitions, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&cond->wait, length, __ATOMIC_RELAXED);
}

/* The wait has ended, in one of three ways. @woken: by a signal. @locked: the mutex is held. */
static void end_wait(struct waiting *wait, bool woken, bool locked)
{
	struct cpa_op *op = &wait->op;
	struct cpa_worker *w = op->w;
	/* Up to here: the join may move the end behind that of the part. */
	uint64_t length = cpa_op_waited(op);
	struct cpa_object *cond = cpa_object_of(w, wait->cond, CPA_COND, op->caller);
	struct cpa_object *mutex = cpa_object_of(w, wait->mutex, CPA_MUTEX, op->caller);

	if (wait->ret == ETIMEDOUT && wait->until)
		op->arrived = op->wait.arrived = timed_out(wait);
	if (mutex && locked)
		cpa_lock_taken(w, mutex, op->wait.now);
	if (cond && wait->slept)
		cpa_wait_end(&w->self, cond, woken, locked ? mutex : NULL, &op->wait);
	else
		cpa_acquire_path(&w->self, mutex && locked ? cpa_object_path(mutex) : NULL,
				 &op->wait);
	w->self.row->node = cpa_track_node(w, CPA_EV_WAIT, op->caller, cond ? cond->class : 0);
	w->self.row->path.node = w->self.row->node;
	if (cond)
		count(cond, length);
	if (woken)
		cpa_op_explain_wake(op);
	else
		cpa_op_explain(op, CPA_EXT_TIMEOUT);
	if (mutex && wait->depth)
		cpa_section_begin(w, mutex, wait->depth, op->wait.now);
	cpa_op_done(op);
}

/*
 * The wait began while profiling was off, and the mutex is held. The path of the waker comes with the mutex. What the
 * thread waited in parts was for the condition.
 */
static void end_begun(const struct waiting *wait)
{
	uint64_t caller = wait->op.caller;
	uint64_t length = cpa_lock_begun(wait->mutex, CPA_MUTEX, caller, false);
	struct cpa_worker *w = length ? cpa_enter_known() : NULL;
	struct cpa_object *cond;

	if (likely(!w))
		return;
	cond = cpa_object_of(w, wait->cond, CPA_COND, caller);
	if (cond)
		count(cond, length);
	if (wait->ret == ETIMEDOUT && wait->until)
		cpa_unexplained_before(w, CPA_EXT_TIMEOUT, length);
	cpa_leave();
}

static void end(struct waiting *wait)
{
	bool woken = wait->ret == 0 || wait->ret == EOWNERDEAD;
	bool locked = woken || wait->ret == ETIMEDOUT || wait->ret == ECANCELED;

	if (!wait->op.blocked) {
		if (locked)
			end_begun(wait);
	} else if (cpa_op_back(&wait->op)) {
		end_wait(wait, woken, locked);
	}
}

static void cancelled(void *argument)
{
	struct waiting *wait = argument;

	wait->ret = ECANCELED;
	end(wait);
}

/* Call the original, @call, between begin() and end(). Its result is in wait.ret. */
#define WAIT(wait, call)                                  \
	do {                                              \
		begin(&(wait));                           \
		pthread_cleanup_push(cancelled, &(wait)); \
		(wait).ret = (call);                      \
		pthread_cleanup_pop(0);                   \
		end(&(wait));                             \
	} while (0)

#define WAITING(c, m, from)                                                  \
	{                                                                    \
		.op = CPA_OP(cpa_enter(), (from)), .cond = (c), .mutex = (m) \
	}

static inline int wait_by(__typeof__(&pthread_cond_wait) original, pthread_cond_t *c,
			  pthread_mutex_t *m, uint64_t caller)
{
	struct waiting wait = WAITING(c, m, caller);

	WAIT(wait, original(c, m));
	return wait.ret;
}

static inline int timed_wait_by(__typeof__(&pthread_cond_timedwait) original, pthread_cond_t *c,
				pthread_mutex_t *m, clockid_t clock, const struct timespec *until,
				uint64_t caller)
{
	struct waiting wait = WAITING(c, m, caller);

	wait.clock = clock;
	wait.until = until;
	WAIT(wait, original(c, m, until));
	return wait.ret;
}

CPA_EXPORT int pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_by(REAL_VERSION(pthread_cond_wait, VERSION), c, m, CPA_CALLER());
}

CPA_EXPORT int pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m,
				      const struct timespec *until)
{
	clockid_t clock = c->__data.__wrefs & ON_MONOTONIC ? CLOCK_MONOTONIC : CLOCK_REALTIME;

	return timed_wait_by(REAL_VERSION(pthread_cond_timedwait, VERSION), c, m, clock, until,
			     CPA_CALLER());
}

CPA_OLDER(pthread_cond_wait, OLDER);
int pthread_cond_wait_older(pthread_cond_t *c, pthread_mutex_t *m)
{
	return wait_by(REAL_VERSION(pthread_cond_wait, OLDER), c, m, CPA_CALLER());
}

CPA_OLDER(pthread_cond_timedwait, OLDER);
int pthread_cond_timedwait_older(pthread_cond_t *c, pthread_mutex_t *m,
				 const struct timespec *until)
{
	return timed_wait_by(REAL_VERSION(pthread_cond_timedwait, OLDER), c, m, CLOCK_REALTIME,
			     until, CPA_CALLER());
}

CPA_EXPORT int pthread_cond_clockwait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
				      const struct timespec *until)
{
	struct waiting wait = WAITING(c, m, CPA_CALLER());

	wait.clock = clock;
	wait.until = until;
	WAIT(wait, REAL(pthread_cond_clockwait)(c, m, clock, until));
	return wait.ret;
}

CPA_EXPORT int cnd_wait(cnd_t *c, mtx_t *m)
{
	struct waiting wait = WAITING(c, m, CPA_CALLER());
	int ret = thrd_error;

	WAIT(wait, cpa_c11_posix(ret = REAL(cnd_wait)(c, m)));
	return ret;
}

CPA_EXPORT int cnd_timedwait(cnd_t *restrict c, mtx_t *restrict m,
			     const struct timespec *restrict until)
{
	struct waiting wait = WAITING(c, m, CPA_CALLER());
	int ret = thrd_error;

	wait.clock = CLOCK_REALTIME;
	wait.until = until;
	WAIT(wait, cpa_c11_posix(ret = REAL(cnd_timedwait)(c, m, until)));
	return ret;
}

/* The thread is about to wake @most waiters at most. */
static __attribute__((noinline)) void waking(const void *cond, uint32_t most, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = cpa_object_of(w, cond, CPA_COND, caller);
	cpa_event(w, most == 1 ? CPA_EV_SIGNAL : CPA_EV_BROADCAST, caller, o ? o->class : 0);
	if (o)
		__atomic_fetch_add(&o->handoffs, cpa_wake(&w->self, o, most), __ATOMIC_RELAXED);
	cpa_done(w);
}

static inline void wake(const void *cond, uint32_t most, uint64_t caller)
{
	if (!cpa_is_off())
		waking(cond, most, caller);
}

CPA_EXPORT int pthread_cond_signal(pthread_cond_t *c)
{
	wake(c, 1, CPA_CALLER());
	return REAL_VERSION(pthread_cond_signal, VERSION)(c);
}

CPA_OLDER(pthread_cond_signal, OLDER);
int pthread_cond_signal_older(pthread_cond_t *c)
{
	wake(c, 1, CPA_CALLER());
	return REAL_VERSION(pthread_cond_signal, OLDER)(c);
}

CPA_EXPORT int pthread_cond_broadcast(pthread_cond_t *c)
{
	wake(c, EVERYBODY, CPA_CALLER());
	return REAL_VERSION(pthread_cond_broadcast, VERSION)(c);
}

CPA_OLDER(pthread_cond_broadcast, OLDER);
int pthread_cond_broadcast_older(pthread_cond_t *c)
{
	wake(c, EVERYBODY, CPA_CALLER());
	return REAL_VERSION(pthread_cond_broadcast, OLDER)(c);
}

CPA_EXPORT int cnd_signal(cnd_t *c)
{
	wake(c, 1, CPA_CALLER());
	return REAL(cnd_signal)(c);
}

CPA_EXPORT int cnd_broadcast(cnd_t *c)
{
	wake(c, EVERYBODY, CPA_CALLER());
	return REAL(cnd_broadcast)(c);
}

static void created(const void *cond, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter_known();

	if (!w)
		return;
	cpa_object_created(w, cond, CPA_COND, caller);
	cpa_leave();
}

CPA_EXPORT int pthread_cond_init(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	int ret = REAL_VERSION(pthread_cond_init, VERSION)(c, attr);

	if (!ret)
		created(c, CPA_CALLER());
	return ret;
}

CPA_OLDER(pthread_cond_init, OLDER);
int pthread_cond_init_older(pthread_cond_t *c, const pthread_condattr_t *attr)
{
	created(c, CPA_CALLER());
	return REAL_VERSION(pthread_cond_init, OLDER)(c, attr);
}

/*
 * The destroy functions are not wrapped: a program may call them while woken waiters have left the
 * original and have not read the shadow yet. The next object at the address takes the shadow over.
 */

CPA_EXPORT int cnd_init(cnd_t *c)
{
	int ret = REAL(cnd_init)(c);

	if (ret == thrd_success)
		created(c, CPA_CALLER());
	return ret;
}
