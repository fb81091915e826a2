/* SPDX-License-Identifier: MIT */
/*
 * preload/rwlock.c - pthread_rwlock_*
 *
 * A writer is the holder, as of a mutex. Readers are remembered by the reading thread, so that an
 * unlock knows what it ends; their releases combine (shadow/merge.h).
 *
 * A lock that a thread has read many times since it was last written is read untimed, as a mutex
 * that it alone uses: see preload/lock.h. The next writer finds the reader's last timed release,
 * which is a sample's time old at most.
 */
#include <errno.h>
#include <pthread.h>

#include "preload/lock.h"
#include "preload/part.h"
#include "preload/real.h"
#include "shadow/epoch.h"

#define LOCK_OP(worker, rwlock)                                                             \
	{                                                                                   \
		.w = (worker), .lock = (rwlock), .kind = CPA_RWLOCK, .caller = CPA_CALLER() \
	}

static struct cpa_read_use *use_of(struct cpa_worker *w, const struct cpa_object *o)
{
	return &w->read_uses[((uintptr_t)o / sizeof(*o)) % CPA_READ_USES];
}

/* A timed read of @o begins. */
static void count_use(struct cpa_worker *w, struct cpa_object *o)
{
	struct cpa_read_use *use = use_of(w, o);
	uint64_t written = cpa_object_path(o)->released;

	if (use->object != o || use->written != written)
		*use = (struct cpa_read_use){ .object = o, .written = written };
	if (cpa_sampler_ticks(&w->sampler) && o->class)
		use->run++;
	use->tick = w->clock.tick;
	if (use->run >= CPA_UNTIMED_RUN - CPA_UNTIMED_LEARN && use->run < CPA_UNTIMED_RUN)
		cpa_untimed_learn(w, &use->mean, use->run);
}

static bool outside(const struct cpa_worker *w)
{
	return likely(w && !cpa_tls.inside && *cpa_alive && !cpa_part_moved(w));
}

static inline void begin_read(struct cpa_worker *w, struct cpa_object *o,
			      const struct cpa_read_use *use)
{
	/* Relaxed: several readers count; sums only. */
	__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&o->hold, use->mean / CPA_UNTIMED_SCALE, __ATOMIC_RELAXED);
	w->reads[w->read_count].object = o;
	w->reads[w->read_count++].since = 0;
	w->open_reads++;
}

/* Whether one of the thread's reads is of @o. */
static bool is_read(const struct cpa_worker *w, const struct cpa_object *o)
{
	unsigned i = 0;

	while (i < w->read_count && w->reads[i].object != o)
		i++;
	return i < w->read_count;
}

/* The thread has read locks already; if one is of the same class, that has all of the time. */
static __attribute__((noinline)) bool note_inside(struct cpa_worker *w, struct cpa_object *o,
						  struct cpa_read_use *use)
{
	uint64_t mean = use->mean;
	bool again = is_read(w, o);

	for (unsigned i = 0; i < w->read_count; i++)
		mean = w->reads[i].object->class == o->class ? 0 : mean;
	if (w->read_count == CPA_READS || !cpa_lock_quiet(w) ||
	    !cpa_untimed_note(w, o->class, mean))
		return false;
	begin_read(w, o, use);
	if (!again)
		cpa_untimed_begin(w, &use->mean);
	return true;
}

static inline bool note_enter(struct cpa_worker *w, const pthread_rwlock_t *l)
{
	unsigned at = cpa_object_cached(l);
	struct cpa_object *o = w->objects[at].object;
	struct cpa_read_use *use;

	if (w->objects[at].address != (uint64_t)l)
		return false;
	use = use_of(w, o);
	/* The path is the last writer's, and no other can come: we hold the lock. */
	if (use->object != o || use->run < CPA_UNTIMED_RUN || use->tick != w->clock.tick ||
	    use->written != cpa_object_path(o)->released || o->kind != CPA_RWLOCK)
		return false;
	if (unlikely(w->read_count))
		return note_inside(w, o, use);
	if (!cpa_lock_quiet(w) || !cpa_untimed_note(w, o->class, use->mean))
		return false;
	begin_read(w, o, use);
	cpa_untimed_begin(w, &use->mean);
	return true;
}

/* The thread has @l for reading: whether that goes untimed. */
static bool enter_untimed(const pthread_rwlock_t *l)
{
	return outside(cpa_tls.worker) && CPA_GUARDED(note_enter(cpa_tls.worker, l));
}

/* A read of @o has ended. One inside another of the same lock was not drawn. */
static __attribute__((noinline)) void end_drawn(struct cpa_worker *w, struct cpa_object *o,
						uint64_t now)
{
	if (!is_read(w, o))
		cpa_untimed_drawn(w, &use_of(w, o)->mean, now);
}

static inline bool note_exit(struct cpa_worker *w, const pthread_rwlock_t *l)
{
	uint64_t now = cpa_untimed_look(w);
	unsigned last = w->read_count - 1;

	if (!w->read_count || w->reads[last].since || w->reads[last].object->key != (uint64_t)l ||
	    !cpa_lock_quiet(w))
		return false;
	w->read_count--;
	w->open_reads--;
	if (unlikely(now))
		end_drawn(w, w->reads[last].object, now);
	return true;
}

/* The thread is about to unlock @l: whether that ends an untimed read. */
static bool exit_untimed(const pthread_rwlock_t *l)
{
	return outside(cpa_tls.worker) && CPA_GUARDED(note_exit(cpa_tls.worker, l));
}

/* The lock is held for reading. Leaves. */
static void read_enter(struct cpa_lock_op *op)
{
	struct cpa_worker *w = op->w;
	struct cpa_wait wait = { 0 };
	struct cpa_object *o;

	if (op->contended)
		wait.now = cpa_waited(w, &op->arrived);
	o = cpa_object_of(w, op->lock, CPA_RWLOCK, op->caller);
	if (!op->contended)
		wait.now = op->arrived = cpa_event(w, CPA_EV_RDLOCK, op->caller, o ? o->class : 0);
	wait.arrived = op->arrived;
	if (!o) {
		cpa_acquire_path(&w->self, NULL, &wait);
		if (op->contended)
			cpa_unexplained(w, CPA_EXT_UNSEEN, wait.now - op->arrived);
		cpa_done(w);
		return;
	}
	cpa_read_acquired(&w->self, o, &wait);
	if (wait.from)
		cpa_dependency(&w->self, &wait, wait.now - op->arrived);
	/* Relaxed: several readers count; sums only. */
	__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
	if (op->contended) {
		__atomic_fetch_add(&o->contended, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->wait, wait.now - op->arrived, __ATOMIC_RELAXED);
	}
	if (!op->contended)
		count_use(w, o);
	if (w->read_count < CPA_READS) {
		w->reads[w->read_count].object = o;
		w->reads[w->read_count++].since = wait.now;
		cpa_hold(&w->self, o->class, o->slot);
	} else {
		cpa_diag(CPA_DIAG_HELD_OVERFLOW);
	}
	cpa_done(w);
}

/* End the thread's latest read section of @o, if it has one. Leaves. */
static bool read_exit(struct cpa_worker *w, struct cpa_object *o, uint64_t caller)
{
	for (unsigned i = w->read_count; i-- > 0;) {
		uint64_t now;

		if (w->reads[i].object != o)
			continue;
		now = cpa_event(w, CPA_EV_UNLOCK, caller, o->class);
		cpa_unhold(&w->self, o->class);
		/* Relaxed: a sum. */
		__atomic_fetch_add(&o->hold, now - w->reads[i].since, __ATOMIC_RELAXED);
		cpa_read_release(&w->self, o);
		w->reads[i] = w->reads[--w->read_count];
		cpa_done(w);
		return true;
	}
	return false;
}

/* End a read section that began in no part of the run, or an earlier one. Leaves. */
static void read_exit_late(struct cpa_worker *w, struct cpa_object *o, uint64_t caller)
{
	cpa_event(w, CPA_EV_UNLOCK, caller, o->class);
	cpa_diag(CPA_DIAG_PART_UNLOCKS);
	cpa_read_release(&w->self, o);
	cpa_done(w);
}

static int read_finish(struct cpa_lock_op *op, int ret)
{
	if (likely(!ret))
		read_enter(op);
	else
		cpa_lock_failed(op, ret == ETIMEDOUT);
	return ret;
}

/* glibc refuses such calls even when the lock is free: leave them to it. */
static bool refused(clockid_t clock, const struct timespec *until)
{
	return (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC) || until->tv_nsec < 0 ||
	       until->tv_nsec >= 1000000000;
}

static int write_finish(struct cpa_lock_op *op, int ret)
{
	if (likely(!ret))
		cpa_lock_enter(op);
	else
		cpa_lock_failed(op, ret == ETIMEDOUT);
	return ret;
}

/*
 * Take the lock with @try; if it is not free, begin the wait and take it with @block. A try that
 * fails for another reason (deadlock, too many readers) is left to the blocking call as well.
 */
#define ACQUIRE(op, rwlock, try, block, finish) \
	({                                      \
		int ret_ = REAL(try)(rwlock);   \
                                                \
		if (unlikely(ret_)) {           \
			cpa_lock_arrive(op);    \
			ret_ = block;           \
		}                               \
		finish(op, ret_);               \
	})

/* rdlock() has failed to get the lock at once with @ret, or has it and must count that. */
static __attribute__((noinline)) int read_lock(pthread_rwlock_t *l, int ret, uint64_t caller)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);

	op.caller = caller;
	if (unlikely(!op.w))
		return ret ? REAL(pthread_rwlock_rdlock)(l) : 0;
	if (ret) {
		cpa_lock_arrive(&op);
		ret = REAL(pthread_rwlock_rdlock)(l);
	}
	return read_finish(&op, ret);
}

CPA_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	int ret = REAL(pthread_rwlock_tryrdlock)(l);

	if (likely(!ret) && enter_untimed(l))
		return 0;
	return read_lock(l, ret, CPA_CALLER());
}

CPA_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_timedrdlock)(l, until);
	if (unlikely(refused(CLOCK_REALTIME, until))) {
		cpa_leave();
		return REAL(pthread_rwlock_timedrdlock)(l, until);
	}
	return ACQUIRE(&op, l, pthread_rwlock_tryrdlock, REAL(pthread_rwlock_timedrdlock)(l, until),
		       read_finish);
}

CPA_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					  const struct timespec *until)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_clockrdlock)(l, clock, until);
	if (unlikely(refused(clock, until))) {
		cpa_leave();
		return REAL(pthread_rwlock_clockrdlock)(l, clock, until);
	}
	return ACQUIRE(&op, l, pthread_rwlock_tryrdlock,
		       REAL(pthread_rwlock_clockrdlock)(l, clock, until), read_finish);
}

CPA_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);
	int ret;

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_tryrdlock)(l);
	ret = REAL(pthread_rwlock_tryrdlock)(l);
	if (likely(!ret))
		read_enter(&op);
	else
		cpa_lock_refused(&op);
	return ret;
}

CPA_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_wrlock)(l);
	return ACQUIRE(&op, l, pthread_rwlock_trywrlock, REAL(pthread_rwlock_wrlock)(l),
		       write_finish);
}

CPA_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_timedwrlock)(l, until);
	if (unlikely(refused(CLOCK_REALTIME, until))) {
		cpa_leave();
		return REAL(pthread_rwlock_timedwrlock)(l, until);
	}
	return ACQUIRE(&op, l, pthread_rwlock_trywrlock, REAL(pthread_rwlock_timedwrlock)(l, until),
		       write_finish);
}

CPA_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					  const struct timespec *until)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_clockwrlock)(l, clock, until);
	if (unlikely(refused(clock, until))) {
		cpa_leave();
		return REAL(pthread_rwlock_clockwrlock)(l, clock, until);
	}
	return ACQUIRE(&op, l, pthread_rwlock_trywrlock,
		       REAL(pthread_rwlock_clockwrlock)(l, clock, until), write_finish);
}

CPA_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l);
	int ret;

	if (unlikely(!op.w))
		return REAL(pthread_rwlock_trywrlock)(l);
	ret = REAL(pthread_rwlock_trywrlock)(l);
	if (likely(!ret))
		cpa_lock_enter(&op);
	else
		cpa_lock_refused(&op);
	return ret;
}

static __attribute__((noinline)) void unlocking(pthread_rwlock_t *l, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;

	if (unlikely(!w))
		return;
	o = cpa_object_of(w, l, CPA_RWLOCK, caller);
	if (o && o->holder != w->self.id && read_exit(w, o, caller))
		return;
	if (o && w->epoch != CPA_EPOCH_ON && l->__data.__cur_writer != (int)w->self.row->tid)
		read_exit_late(w, o, caller);
	else
		cpa_lock_exit(w, l, CPA_RWLOCK, caller);
}

CPA_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	if (!exit_untimed(l))
		unlocking(l, CPA_CALLER());
	return REAL(pthread_rwlock_unlock)(l);
}

CPA_EXPORT int pthread_rwlock_init(pthread_rwlock_t *l, const pthread_rwlockattr_t *attr)
{
	struct cpa_worker *w = cpa_enter_known();
	int ret = REAL(pthread_rwlock_init)(l, attr);

	if (w) {
		if (!ret)
			cpa_object_created(w, l, CPA_RWLOCK, CPA_CALLER());
		cpa_leave();
	}
	return ret;
}

CPA_EXPORT int pthread_rwlock_destroy(pthread_rwlock_t *l)
{
	struct cpa_worker *w = cpa_enter_known();

	if (w) {
		cpa_object_destroyed(w, l);
		cpa_leave();
	}
	return REAL(pthread_rwlock_destroy)(l);
}
