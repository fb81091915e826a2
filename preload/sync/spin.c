/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/spin.c - pthread_spin_*
 */
#include <pthread.h>

#include "preload/sync/lock.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"

CPA_KEEP(pthread_spin_trylock);
CPA_KEEP(pthread_spin_unlock);

#define LOCK_OP(worker, spin, caller) CPA_LOCK_OP(worker, spin, CPA_SPIN, caller)

/* The wait of pthread_spin_lock() while profiling is off: a sample of it must not be taken for work in a part. */
static __attribute__((noinline)) int spin_off(pthread_spinlock_t *s)
{
	int ret;

	cpa_tls.spins = true;
	/* The stores are seen by the sampler's handler in this order. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	ret = REAL(pthread_spin_lock)(s);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	cpa_tls.spins = false;
	return ret;
}

/* The rest of a lock call. @has: the thread got the lock at once. */
static __attribute__((noinline)) int lock(pthread_spinlock_t *s, bool has, uint64_t caller)
{
	struct cpa_lock_op l = LOCK_OP(cpa_enter(), s, caller);
	int ret = 0;

	if (!has) {
		cpa_lock_arrive(&l);
		ret = l.op.w ? REAL(pthread_spin_lock)(s) : spin_off(s);
	} else if (unlikely(!l.op.w)) {
		return 0;
	}
	if (likely(!ret))
		cpa_lock_enter(&l);
	else
		cpa_lock_failed(&l, false);
	return ret;
}

/* pthread_spin_lock() while profiling is off, of a lock of which a try has just failed. */
static __attribute__((noinline)) int wait_off(pthread_spinlock_t *s, uint64_t caller)
{
	int ret = spin_off(s);

	if (!ret)
		cpa_lock_begun((const void *)s, CPA_SPIN, caller, true);
	return ret;
}

/* pthread_spin_lock(), unless profiling is off and its original is known. */
static __attribute__((noinline)) int lock_on(pthread_spinlock_t *s, uint64_t epoch, uint64_t caller)
{
	struct cpa_object *o = cpa_lock_known((const void *)s, CPA_SPIN, epoch);
	bool used = o && cpa_lock_is_used(o), has;

	if (o && !used)
		cpa_lock_fetch(o);
	has = !REAL_KEPT(pthread_spin_trylock)(s);
	if (unlikely(!o || !has))
		return lock(s, has, caller);
	if (!used || unlikely(!cpa_lock_enter_untimed(o)))
		cpa_lock_got_known(o, (const void *)s, caller);
	return 0;
}

CPA_EXPORT int pthread_spin_lock(pthread_spinlock_t *s)
{
	uint64_t epoch = cpa_epoch_seen();

	if (!CPA_PASSES(epoch, pthread_spin_trylock))
		return lock_on(s, epoch, CPA_CALLER());
	return likely(!KEPT(pthread_spin_trylock)(s)) ? 0 : wait_off(s, CPA_CALLER());
}

static __attribute__((noinline)) int trylock_on(pthread_spinlock_t *s, uint64_t caller)
{
	struct cpa_lock_op l = LOCK_OP(cpa_enter(), s, caller);
	int ret = REAL_KEPT(pthread_spin_trylock)(s);

	if (unlikely(!l.op.w))
		return ret;
	if (likely(!ret))
		cpa_lock_enter(&l);
	else
		cpa_lock_refused(&l);
	return ret;
}

CPA_EXPORT int pthread_spin_trylock(pthread_spinlock_t *s)
{
	return CPA_PASSES(cpa_epoch_seen(), pthread_spin_trylock) ? KEPT(pthread_spin_trylock)(s) :
								    trylock_on(s, CPA_CALLER());
}

static __attribute__((noinline)) void unlocking(pthread_spinlock_t *s, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();

	if (likely(w))
		cpa_lock_exit(w, (const void *)s, CPA_SPIN, caller);
}

static __attribute__((noinline)) int unlock_on(pthread_spinlock_t *s, uint64_t epoch,
					       uint64_t caller)
{
	struct cpa_object *o = cpa_lock_known((const void *)s, CPA_SPIN, epoch);

	if (unlikely(!o))
		unlocking(s, caller);
	else if (!cpa_lock_is_used(o) || !cpa_lock_exit_untimed(o))
		cpa_lock_exit_known(o, caller);
	return REAL_KEPT(pthread_spin_unlock)(s);
}

CPA_EXPORT int pthread_spin_unlock(pthread_spinlock_t *s)
{
	uint64_t epoch = cpa_epoch_seen();

	return CPA_PASSES(epoch, pthread_spin_unlock) ? KEPT(pthread_spin_unlock)(s) :
							unlock_on(s, epoch, CPA_CALLER());
}

CPA_EXPORT int pthread_spin_init(pthread_spinlock_t *s, int shared)
{
	struct cpa_worker *w = cpa_enter_known();

	if (w) {
		cpa_object_created(w, (const void *)s, CPA_SPIN, CPA_CALLER());
		cpa_leave();
	}
	return REAL(pthread_spin_init)(s, shared);
}

CPA_EXPORT int pthread_spin_destroy(pthread_spinlock_t *s)
{
	struct cpa_worker *w = cpa_enter_known();

	if (w) {
		cpa_object_destroyed(w, (const void *)s);
		cpa_leave();
	}
	return REAL(pthread_spin_destroy)(s);
}
