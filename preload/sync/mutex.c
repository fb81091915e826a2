/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/mutex.c - pthread_mutex_* and C11 mtx_*
 *
 * A blocking lock tries first. Where a failing try differs from the blocking call (a recursive or
 * error-checking mutex that the thread holds, a dead owner), the blocking call that follows
 * decides. EOWNERDEAD of a robust mutex is an acquisition, after the last release, whoever made it.
 */
#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "preload/libc/c11.h"
#include "preload/core/computes.h"
#include "preload/libc/deadline.h"
#include "preload/sync/lock.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"
#include "shadow/arch/arch.h"

/* In glibc mtx_t is pthread_mutex_t, and mtx_* call internal functions, which are not wrapped. */
#define MUTEX(m) ((pthread_mutex_t *)(m))

/* Bits of the kind of a pthread_mutex_t: glibc's PTHREAD_MUTEX_ROBUST_NORMAL_NP and so on. */
#define ROBUST	0x10
#define INHERIT 0x20
#define CEILING 0x40

/* pauses between two readings of the clock, see awaited() */
#define PAUSES 4u

/* the longest takeover() that is believed, in usual operations: behind it the thread was switched out */
#define TAKEOVER_MOST 32u

CPA_KEEP(pthread_mutex_lock);
CPA_KEEP(pthread_mutex_trylock);
CPA_KEEP(pthread_mutex_unlock);
CPA_KEEP(mtx_lock);
CPA_KEEP(mtx_trylock);
CPA_KEEP(mtx_unlock);

static bool acquired(int ret)
{
	return ret == 0 || ret == EOWNERDEAD;
}

/*
 * Whether a try has side effects in glibc where it fails for good: a robust mutex that is not
 * recoverable stays locked; a priority ceiling that was refused counts as set afterwards.
 */
static bool must_not_try(const pthread_mutex_t *m)
{
	return m->__data.__kind & (ROBUST | CEILING);
}

/* A hint: may be outdated by the time of the call. The original reads the same cache line first. */
static bool seems_free(const pthread_mutex_t *m)
{
	return !__atomic_load_n(&m->__data.__lock, __ATOMIC_RELAXED);
}

/* The mutex is held by another thread, or must not be tried: the wait begins. Leaves. */
static void arrive(struct cpa_lock_op *l, const pthread_mutex_t *m)
{
	l->free = must_not_try(m) && seems_free(m); /* for the statistics alone */
	cpa_lock_arrive(l);
}

/* The original function, looked up once for all wrappers. */
static inline int try_lock(pthread_mutex_t *m)
{
	return REAL_KEPT(pthread_mutex_trylock)(m);
}

/*
 * Whether profiling is on and a try got the lock, with result *@ret. If not, the wait has begun and
 * the original must be called.
 */
static bool try_first(struct cpa_lock_op *l, pthread_mutex_t *m, int *ret)
{
	if (unlikely(!l->op.w))
		return false;
	if (likely(!must_not_try(m))) {
		*ret = try_lock(m);
		if (likely(acquired(*ret)))
			return true;
	}
	arrive(l, m);
	return false;
}

static int finish(struct cpa_lock_op *l, int ret)
{
	if (likely(acquired(ret)))
		cpa_lock_enter(l);
	else
		cpa_lock_failed(l, ret == ETIMEDOUT);
	return ret;
}

#define LOCK_OP(worker, mutex, caller) CPA_LOCK_OP(worker, mutex, CPA_MUTEX, caller)

/* Lock @mutex by a try, else by @call, the original, which returns an error number. */
#define LOCK(mutex, caller, call)                                           \
	({                                                                  \
		pthread_mutex_t *m_ = (mutex);                              \
		struct cpa_lock_op l_ = LOCK_OP(cpa_enter(), m_, (caller)); \
		int ret_;                                                   \
                                                                            \
		if (unlikely(!try_first(&l_, m_, &ret_)))                   \
			ret_ = (call);                                      \
		finish(&l_, ret_);                                          \
	})

/* The rest of a lock call after the mutex was locked. */
static __attribute__((noinline)) int locked(pthread_mutex_t *m, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();

	if (likely(w))
		cpa_lock_got(w, m, CPA_MUTEX, caller);
	return 0;
}

/*
 * For how long cpa makes a critical section longer that begins behind that of another thread, ticks:
 * an operation of ours at its begin, which fetches what the other thread's processor wrote, and a
 * usual one at its end.
 */
static uint64_t lengthened(const struct cpa_worker *w)
{
	uint64_t usual = cpa_clock_operation(&w->clock), takeover = w->takeover / 16;

	return usual + (takeover > usual ? takeover : usual);
}

/* finish() for a mutex that awaited() locked: the operation at the begin of the section is measured. */
static void take_over(struct cpa_lock_op *l)
{
	struct cpa_worker *w = l->op.w;
	uint64_t most = TAKEOVER_MOST * cpa_clock_operation(&w->clock), begun = cpa_clock_now(),
		 took;

	finish(l, 0);
	took = cpa_clock_now() - begun;
	if (took > most)
		return;
	if (w->takeover)
		w->takeover += (uint32_t)took - w->takeover / 16;
	else
		w->takeover = 16 * (uint32_t)took;
}

/*
 * Look on for as long as cpa makes the section longer. Return whether the mutex became free in that
 * time, and is now locked. A thread that would not have met the section natively need not block for
 * it; looking on for longer would help the program.
 *
 * Not if both the holder and this thread do little but lock: there one that runs on while the
 * others sleep takes less time than two that take turns. Not if the kernel hands the mutex to the
 * first waiter in its queue.
 */
static bool awaited(const struct cpa_op *op, pthread_mutex_t *m)
{
	const struct cpa_thread *row = op->w->self.row;
	uint64_t limit = lengthened(op->w);
	/* Relaxed: a hint. 0: no owner. */
	int owner = __atomic_load_n(&m->__data.__owner, __ATOMIC_RELAXED);

	if (!cpa_looks_on || must_not_try(m) || m->__data.__kind & INHERIT ||
	    owner == (int)row->tid || !(cpa_computes(op->w) || cpa_computes_other(owner)))
		return false;
	do {
		for (unsigned i = 0; i < PAUSES; i++)
			cpa_arch_pause();
		/* Relaxed: the try decides. */
		if (seems_free(m) && !try_lock(m))
			return true;
	} while (cpa_clock_now() - op->arrived < limit);
	return false;
}

/* The rest of a lock call that has to wait. */
static __attribute__((noinline)) int wait_for(struct cpa_worker *w, pthread_mutex_t *m,
					      uint64_t caller)
{
	struct cpa_lock_op l = LOCK_OP(w, m, caller);

	arrive(&l, m);
	if (!awaited(&l.op, m))
		return finish(&l, REAL_KEPT(pthread_mutex_lock)(m));
	take_over(&l);
	return 0;
}

/* A lock call that began while profiling was off has returned @ret. */
static __attribute__((noinline)) int lock_begun(pthread_mutex_t *m, int ret, uint64_t caller)
{
	if (acquired(ret))
		cpa_lock_begun(m, CPA_MUTEX, caller, true);
	return ret;
}

/* pthread_mutex_lock() while profiling is off. KEPT(pthread_mutex_lock) is not NULL. */
static __attribute__((noinline)) int lock_off(pthread_mutex_t *m, uint64_t caller)
{
	int ret = KEPT(pthread_mutex_lock)(m);

	return likely(cpa_is_off()) ? ret : lock_begun(m, ret, caller);
}

/* pthread_mutex_lock() of a thread that cannot enter our code. */
static int lock_outside(pthread_mutex_t *m, uint64_t caller)
{
	return lock_begun(m, REAL_KEPT(pthread_mutex_lock)(m), caller);
}

static __attribute__((noinline)) int lock(pthread_mutex_t *m, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();

	if (unlikely(!w))
		return lock_outside(m, caller);
	if (unlikely(must_not_try(m)) || unlikely(try_lock(m)))
		return wait_for(w, m, caller);
	cpa_lock_got(w, m, CPA_MUTEX, caller);
	return 0;
}

/* lock() of a mutex of which a try has just failed. */
static __attribute__((noinline)) int lock_contended(pthread_mutex_t *m, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();

	return likely(w) ? wait_for(w, m, caller) : lock_outside(m, caller);
}

/* lock() of a mutex with shadow @o. */
static __attribute__((noinline)) int lock_known(struct cpa_object *o, pthread_mutex_t *m,
						uint64_t caller)
{
	cpa_lock_fetch(o);
	if (unlikely(try_lock(m)))
		return lock_contended(m, caller);
	cpa_lock_got_known(o, m, caller);
	return 0;
}

/* pthread_mutex_lock(), unless profiling is off and the original is known. */
static __attribute__((noinline)) int lock_on(pthread_mutex_t *m, uint64_t epoch, uint64_t caller)
{
	struct cpa_object *o = cpa_lock_known(m, CPA_MUTEX, epoch);

	if (unlikely(!o || must_not_try(m)))
		return lock(m, caller);
	if (!cpa_lock_is_used(o))
		return lock_known(o, m, caller);
	if (likely(!try_lock(m)))
		return likely(cpa_lock_enter_untimed(o)) ? 0 : locked(m, caller);
	return lock_contended(m, caller);
}

/*
 * While profiling is off a lock that seems to be free is left to the original, and so not looked at behind it: if
 * another thread is faster, the next part does not know what this one waits for.
 */
CPA_EXPORT int pthread_mutex_lock(pthread_mutex_t *m)
{
	uint64_t epoch = cpa_epoch_seen();

	if (!CPA_PASSES(epoch, pthread_mutex_lock))
		return lock_on(m, epoch, CPA_CALLER());
	return likely(seems_free(m)) ? KEPT(pthread_mutex_lock)(m) : lock_off(m, CPA_CALLER());
}

/* A try has returned @ret. */
static __attribute__((noinline)) void tried(pthread_mutex_t *m, int ret, uint64_t caller)
{
	struct cpa_lock_op l = LOCK_OP(cpa_enter(), m, caller);

	if (unlikely(!l.op.w))
		return;
	if (likely(acquired(ret)))
		cpa_lock_enter(&l);
	else
		cpa_lock_refused(&l);
}

CPA_EXPORT int pthread_mutex_timedlock(pthread_mutex_t *m, const struct timespec *until)
{
	return LOCK(m, CPA_CALLER(), REAL(pthread_mutex_timedlock)(m, until));
}

CPA_EXPORT int pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
				       const struct timespec *until)
{
	if (unlikely(cpa_deadline_clock_refused(clock)))
		return REAL(pthread_mutex_clocklock)(m, clock, until);
	return LOCK(m, CPA_CALLER(), REAL(pthread_mutex_clocklock)(m, clock, until));
}

static __attribute__((noinline)) int trylock_on(pthread_mutex_t *m, uint64_t epoch, uint64_t caller)
{
	struct cpa_object *mine = cpa_lock_used(m, CPA_MUTEX, epoch);
	int ret = try_lock(m);

	if (likely(mine && !ret) && likely(cpa_lock_enter_untimed(mine)))
		return 0;
	tried(m, ret, caller);
	return ret;
}

CPA_EXPORT int pthread_mutex_trylock(pthread_mutex_t *m)
{
	uint64_t epoch = cpa_epoch_seen();

	return CPA_PASSES(epoch, pthread_mutex_trylock) ? KEPT(pthread_mutex_trylock)(m) :
							  trylock_on(m, epoch, CPA_CALLER());
}

static __attribute__((noinline)) void unlocking(pthread_mutex_t *m, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();

	if (likely(w))
		cpa_lock_exit(w, m, CPA_MUTEX, caller);
}

static __attribute__((noinline)) int unlock_on(pthread_mutex_t *m, uint64_t epoch, uint64_t caller)
{
	struct cpa_object *o = cpa_lock_known(m, CPA_MUTEX, epoch);

	if (unlikely(!o))
		unlocking(m, caller);
	else if (!cpa_lock_is_used(o) || !cpa_lock_exit_untimed(o))
		cpa_lock_exit_known(o, caller);
	return REAL_KEPT(pthread_mutex_unlock)(m);
}

CPA_EXPORT int pthread_mutex_unlock(pthread_mutex_t *m)
{
	uint64_t epoch = cpa_epoch_seen();

	return CPA_PASSES(epoch, pthread_mutex_unlock) ? KEPT(pthread_mutex_unlock)(m) :
							 unlock_on(m, epoch, CPA_CALLER());
}

CPA_EXPORT int pthread_mutex_init(pthread_mutex_t *m, const pthread_mutexattr_t *attr)
{
	struct cpa_worker *w = cpa_enter_known();
	int ret = REAL(pthread_mutex_init)(m, attr);

	if (w) {
		if (!ret)
			cpa_object_created(w, m, CPA_MUTEX, CPA_CALLER());
		cpa_leave();
	}
	return ret;
}

CPA_EXPORT int pthread_mutex_destroy(pthread_mutex_t *m)
{
	struct cpa_worker *w = cpa_enter_known();
	int ret = REAL(pthread_mutex_destroy)(m);

	if (w) {
		if (!ret)
			cpa_object_destroyed(w, m);
		cpa_leave();
	}
	return ret;
}

static __attribute__((noinline)) int c11_lock_on(mtx_t *m, uint64_t caller)
{
	int ret = thrd_success;

	if (cpa_is_off()) {
		ret = REAL_KEPT(mtx_lock)(m);
		if (unlikely(!cpa_is_off()))
			lock_begun(MUTEX(m), cpa_c11_posix(ret), caller);
		return ret;
	}
	LOCK(MUTEX(m), caller, cpa_c11_posix(ret = REAL_KEPT(mtx_lock)(m)));
	return ret;
}

CPA_EXPORT int mtx_lock(mtx_t *m)
{
	return CPA_PASSES(cpa_epoch_seen(), mtx_lock) && likely(seems_free(MUTEX(m))) ?
		       KEPT(mtx_lock)(m) :
		       c11_lock_on(m, CPA_CALLER());
}

CPA_EXPORT int mtx_timedlock(mtx_t *restrict m, const struct timespec *restrict until)
{
	int ret = thrd_success;

	LOCK(MUTEX(m), CPA_CALLER(), cpa_c11_posix(ret = REAL(mtx_timedlock)(m, until)));
	return ret;
}

static __attribute__((noinline)) int c11_trylock_on(mtx_t *m, uint64_t caller)
{
	bool off = cpa_is_off();
	int ret = REAL_KEPT(mtx_trylock)(m);

	if (!off)
		tried(MUTEX(m), cpa_c11_posix(ret), caller);
	return ret;
}

CPA_EXPORT int mtx_trylock(mtx_t *m)
{
	return CPA_PASSES(cpa_epoch_seen(), mtx_trylock) ? KEPT(mtx_trylock)(m) :
							   c11_trylock_on(m, CPA_CALLER());
}

static __attribute__((noinline)) int c11_unlock_on(mtx_t *m, uint64_t caller)
{
	if (!cpa_is_off())
		unlocking(MUTEX(m), caller);
	return REAL_KEPT(mtx_unlock)(m);
}

CPA_EXPORT int mtx_unlock(mtx_t *m)
{
	return CPA_PASSES(cpa_epoch_seen(), mtx_unlock) ? KEPT(mtx_unlock)(m) :
							  c11_unlock_on(m, CPA_CALLER());
}

CPA_EXPORT int mtx_init(mtx_t *m, int type)
{
	struct cpa_worker *w = cpa_enter_known();
	int ret = REAL(mtx_init)(m, type);

	if (w) {
		if (ret == thrd_success)
			cpa_object_created(w, m, CPA_MUTEX, CPA_CALLER());
		cpa_leave();
	}
	return ret;
}

CPA_EXPORT void mtx_destroy(mtx_t *m)
{
	struct cpa_worker *w = cpa_enter_known();

	if (w) {
		cpa_object_destroyed(w, m);
		cpa_leave();
	}
	REAL(mtx_destroy)(m);
}
