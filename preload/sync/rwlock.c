/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/rwlock.c - pthread_rwlock_*
 *
 * A writer is the holder, as of a mutex. Each thread remembers the locks that it reads, so that an
 * unlock knows which section ends; the releases of readers combine (shadow/edge/merge.h).
 *
 * A lock that a thread has read many times since the last write is read untimed, as a mutex that
 * only one thread uses: see preload/sync/lock.h. The next writer finds the reader's last timed
 * release, which is at most as old as a sample.
 */
#include <errno.h>
#include <pthread.h>

#include "preload/libc/deadline.h"
#include "preload/sync/lock.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"
#include "shadow/store/epoch.h"

CPA_KEEP(pthread_rwlock_rdlock);
CPA_KEEP(pthread_rwlock_tryrdlock);
CPA_KEEP(pthread_rwlock_wrlock);
CPA_KEEP(pthread_rwlock_trywrlock);
CPA_KEEP(pthread_rwlock_unlock);

#define LOCK_OP(worker, rwlock, caller) CPA_LOCK_OP(worker, rwlock, CPA_RWLOCK, caller)

static struct cpa_read_use *use_of(struct cpa_worker *w, const struct cpa_object *o)
{
	return &w->reads.uses[((uintptr_t)o / sizeof(*o)) % CPA_READ_USES];
}

/* A timed read section of @o begins. */
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

/* Whether the thread mostly reads @o untimed. */
static bool is_untimed(struct cpa_worker *w, const struct cpa_object *o)
{
	const struct cpa_read_use *use = use_of(w, o);

	return use->object == o && use->run >= CPA_UNTIMED_RUN;
}

static bool outside(const struct cpa_worker *w)
{
	return likely(w && !cpa_tls.inside && *cpa_alive && !cpa_window_moved(w));
}

static inline void begin_read(struct cpa_worker *w, struct cpa_object *o,
			      const struct cpa_read_use *use)
{
	/* Relaxed: several readers count; sums only. */
	__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&o->hold, use->mean / CPA_UNTIMED_SCALE, __ATOMIC_RELAXED);
	w->reads.held[w->reads.count].object = o;
	w->reads.held[w->reads.count++].since = 0;
	w->untimed.open_reads++;
}

/* Whether the thread has a read lock of @o. */
static bool is_read(const struct cpa_worker *w, const struct cpa_object *o)
{
	unsigned i = 0;

	while (i < w->reads.count && w->reads.held[i].object != o)
		i++;
	return i < w->reads.count;
}

/*
 * Begin an untimed read section of @o inside others. If one of those is of the same class, that has
 * all of the time.
 */
static __attribute__((noinline)) bool note_inside(struct cpa_worker *w, struct cpa_object *o,
						  struct cpa_read_use *use)
{
	uint64_t mean = use->mean;
	bool again = is_read(w, o);

	for (unsigned i = 0; i < w->reads.count; i++)
		mean = w->reads.held[i].object->class == o->class ? 0 : mean;
	if (w->reads.count == CPA_READS || !cpa_lock_quiet(w) ||
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
	struct cpa_object *o = w->objects.cache[at].object;
	struct cpa_read_use *use;

	if (w->objects.cache[at].address != (uint64_t)l)
		return false;
	use = use_of(w, o);
	/*
	 * The path is that of the last writer, and no other can write: the thread holds the lock.
	 */
	if (use->object != o || use->run < CPA_UNTIMED_RUN || use->tick != w->clock.tick ||
	    use->written != cpa_object_path(o)->released || o->kind != CPA_RWLOCK)
		return false;
	if (unlikely(w->reads.count))
		return note_inside(w, o, use);
	if (!cpa_lock_quiet(w) || !cpa_untimed_note(w, o->class, use->mean))
		return false;
	begin_read(w, o, use);
	cpa_untimed_begin(w, &use->mean);
	return true;
}

/* The thread has got @l for reading. Return whether the section goes untimed. */
static bool enter_untimed(const pthread_rwlock_t *l)
{
	return outside(cpa_tls.worker) && CPA_GUARDED(note_enter(cpa_tls.worker, l));
}

/*
 * An untimed read section of @o has ended. A section inside another of the same lock is never
 * drawn.
 */
static __attribute__((noinline)) void end_drawn(struct cpa_worker *w, struct cpa_object *o,
						uint64_t now)
{
	if (!is_read(w, o))
		cpa_untimed_drawn(w, &use_of(w, o)->mean, now);
}

static inline bool note_exit(struct cpa_worker *w, const pthread_rwlock_t *l)
{
	uint64_t now = cpa_untimed_look(w);
	unsigned last = w->reads.count - 1;

	if (!w->reads.count || w->reads.held[last].since ||
	    w->reads.held[last].object->key != (uint64_t)l || !cpa_lock_quiet(w))
		return false;
	w->reads.count--;
	w->untimed.open_reads--;
	if (unlikely(now))
		end_drawn(w, w->reads.held[last].object, now);
	return true;
}

/* The thread is about to unlock @l. Return whether that ends an untimed read section. */
static bool exit_untimed(const pthread_rwlock_t *l)
{
	return outside(cpa_tls.worker) && CPA_GUARDED(note_exit(cpa_tls.worker, l));
}

/* Note that the thread holds @o for reading since @now. */
static void hold_read(struct cpa_worker *w, struct cpa_object *o, uint64_t now)
{
	if (w->reads.count == CPA_READS) {
		cpa_diag(CPA_DIAG_HELD_OVERFLOW);
		return;
	}
	w->reads.held[w->reads.count].object = o;
	w->reads.held[w->reads.count++].since = now;
	cpa_hold(&w->self, o->class, o->slot);
}

/* The lock is held for reading. Leaves. */
static void read_enter(struct cpa_lock_op *l)
{
	struct cpa_op *op = &l->op;
	struct cpa_object *o;
	uint64_t length;

	if (!cpa_op_back(op)) {
		cpa_op_missed(op, l->lock, CPA_RWLOCK);
		return;
	}
	o = cpa_object_of(op->w, l->lock, CPA_RWLOCK, op->caller);
	if (!op->blocked) {
		if (o && is_untimed(op->w, o))
			cpa_lock_cuts(op->w);
		cpa_op_arrive(op, CPA_EV_RDLOCK, o ? o->class : 0);
	}
	if (!o) {
		cpa_acquire_path(&op->w->self, NULL, &op->wait);
		cpa_op_end(op, CPA_EXT_UNSEEN);
		return;
	}
	length = cpa_op_waited(op); /* the join may move the end behind that of the part */
	cpa_read_acquired(&op->w->self, o, &op->wait);
	cpa_op_explain(op, CPA_EXT_UNSEEN);
	/* Relaxed: several readers count; sums only. */
	__atomic_fetch_add(&o->acquisitions, 1, __ATOMIC_RELAXED);
	if (op->blocked || unlikely(op->others)) {
		__atomic_fetch_add(&o->contended, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->wait, length, __ATOMIC_RELAXED);
	} else {
		count_use(op->w, o);
	}
	hold_read(op->w, o, op->wait.now);
	cpa_op_done(op);
}

/* End the thread's latest read section of @o, if there is one. Leaves. */
static bool read_exit(struct cpa_worker *w, struct cpa_object *o, uint64_t caller)
{
	for (unsigned i = w->reads.count; i-- > 0;) {
		uint64_t now;

		if (w->reads.held[i].object != o)
			continue;
		if (!w->reads.held[i].since)
			cpa_lock_cuts(w);
		now = cpa_event(w, CPA_EV_UNLOCK, caller, o->class);
		cpa_unhold(&w->self, o->class);
		/* Relaxed: a sum. */
		__atomic_fetch_add(&o->hold, now - w->reads.held[i].since, __ATOMIC_RELAXED);
		cpa_read_release(&w->self, o);
		w->reads.held[i] = w->reads.held[--w->reads.count];
		cpa_done(w);
		return true;
	}
	return false;
}

/* End a read section that began in an earlier part of the run, or in none. Leaves. */
static void read_exit_late(struct cpa_worker *w, struct cpa_object *o, uint64_t caller)
{
	cpa_event(w, CPA_EV_UNLOCK, caller, o->class);
	cpa_diag(CPA_DIAG_PART_UNLOCKS);
	cpa_read_release(&w->self, o);
	cpa_done(w);
}

static int read_finish(struct cpa_lock_op *l, int ret)
{
	if (likely(!ret))
		read_enter(l);
	else
		cpa_lock_failed(l, ret == ETIMEDOUT);
	return ret;
}

static int write_finish(struct cpa_lock_op *l, int ret)
{
	if (likely(!ret))
		cpa_lock_enter(l);
	else
		cpa_lock_failed(l, ret == ETIMEDOUT);
	return ret;
}

/* A call that began while profiling was off has got the lock, and profiling was switched since. */
static __attribute__((noinline)) int read_begun(const pthread_rwlock_t *l, uint64_t caller)
{
	struct cpa_lock_op op = LOCK_OP(NULL, l, caller);

	return read_finish(&op, 0);
}

static __attribute__((noinline)) int write_begun(const pthread_rwlock_t *l, uint64_t caller)
{
	struct cpa_lock_op op = LOCK_OP(NULL, l, caller);

	return write_finish(&op, 0);
}

/* @call while profiling is off. If a part has begun and it got the lock, @begun goes on. */
#define CALL_OFF(rwlock, caller, call, begun)                                    \
	({                                                                       \
		int ret_ = (call);                                               \
                                                                                 \
		likely(ret_ || cpa_is_off()) ? ret_ : begun((rwlock), (caller)); \
	})

/*
 * Take the lock with @try. If it is not free, or profiling is off, use @call. If the try fails for
 * another reason (deadlock, too many readers), @call decides, too.
 */
#define ACQUIRE(rwlock, caller, try, call, finish)                              \
	({                                                                      \
		struct cpa_lock_op l_ = LOCK_OP(cpa_enter(), rwlock, (caller)); \
		int ret_ = l_.op.w ? REAL_KEPT(try)(rwlock) : EBUSY;            \
                                                                                \
		if (unlikely(ret_)) {                                           \
			cpa_lock_arrive(&l_);                                   \
			ret_ = (call);                                          \
		}                                                               \
		finish(&l_, ret_);                                              \
	})

/* After a try of rdlock() that returned @ret: wait for the lock, or count that it was got. */
static __attribute__((noinline)) int read_lock(pthread_rwlock_t *l, int ret, uint64_t caller)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l, caller);

	if (ret) {
		cpa_lock_arrive(&op);
		ret = REAL_KEPT(pthread_rwlock_rdlock)(l);
	} else if (unlikely(!op.op.w)) {
		return 0;
	}
	return read_finish(&op, ret);
}

static __attribute__((noinline)) int rdlock_off(pthread_rwlock_t *l, uint64_t caller)
{
	return CALL_OFF(l, caller, REAL_KEPT(pthread_rwlock_rdlock)(l), read_begun);
}

static __attribute__((noinline)) int rdlock_on(pthread_rwlock_t *l, uint64_t caller)
{
	int ret = REAL_KEPT(pthread_rwlock_tryrdlock)(l);

	if (likely(!ret) && enter_untimed(l))
		return 0;
	return read_lock(l, ret, caller);
}

CPA_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *l)
{
	return likely(cpa_is_off()) ? rdlock_off(l, CPA_CALLER()) : rdlock_on(l, CPA_CALLER());
}

CPA_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (unlikely(cpa_deadline_refused(CLOCK_REALTIME, until)))
		return REAL(pthread_rwlock_timedrdlock)(l, until);
	return ACQUIRE(l, CPA_CALLER(), pthread_rwlock_tryrdlock,
		       REAL(pthread_rwlock_timedrdlock)(l, until), read_finish);
}

CPA_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t *l, clockid_t clock,
					  const struct timespec *until)
{
	if (unlikely(cpa_deadline_refused(clock, until)))
		return REAL(pthread_rwlock_clockrdlock)(l, clock, until);
	return ACQUIRE(l, CPA_CALLER(), pthread_rwlock_tryrdlock,
		       REAL(pthread_rwlock_clockrdlock)(l, clock, until), read_finish);
}

static __attribute__((noinline)) int tryrdlock_on(pthread_rwlock_t *l, uint64_t caller)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l, caller);
	int ret = REAL_KEPT(pthread_rwlock_tryrdlock)(l);

	if (unlikely(!op.op.w))
		return ret;
	if (likely(!ret))
		read_enter(&op);
	else
		cpa_lock_refused(&op);
	return ret;
}

CPA_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t *l)
{
	return CPA_PASSES(cpa_epoch_seen(), pthread_rwlock_tryrdlock) ?
		       KEPT(pthread_rwlock_tryrdlock)(l) :
		       tryrdlock_on(l, CPA_CALLER());
}

static __attribute__((noinline)) int wrlock_off(pthread_rwlock_t *l, uint64_t caller)
{
	return CALL_OFF(l, caller, REAL_KEPT(pthread_rwlock_wrlock)(l), write_begun);
}

static __attribute__((noinline)) int wrlock_on(pthread_rwlock_t *l, uint64_t caller)
{
	return ACQUIRE(l, caller, pthread_rwlock_trywrlock, REAL_KEPT(pthread_rwlock_wrlock)(l),
		       write_finish);
}

CPA_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *l)
{
	return likely(cpa_is_off()) ? wrlock_off(l, CPA_CALLER()) : wrlock_on(l, CPA_CALLER());
}

CPA_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t *l, const struct timespec *until)
{
	if (unlikely(cpa_deadline_refused(CLOCK_REALTIME, until)))
		return REAL(pthread_rwlock_timedwrlock)(l, until);
	return ACQUIRE(l, CPA_CALLER(), pthread_rwlock_trywrlock,
		       REAL(pthread_rwlock_timedwrlock)(l, until), write_finish);
}

CPA_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t *l, clockid_t clock,
					  const struct timespec *until)
{
	if (unlikely(cpa_deadline_refused(clock, until)))
		return REAL(pthread_rwlock_clockwrlock)(l, clock, until);
	return ACQUIRE(l, CPA_CALLER(), pthread_rwlock_trywrlock,
		       REAL(pthread_rwlock_clockwrlock)(l, clock, until), write_finish);
}

static __attribute__((noinline)) int trywrlock_on(pthread_rwlock_t *l, uint64_t caller)
{
	struct cpa_lock_op op = LOCK_OP(cpa_enter(), l, caller);
	int ret = REAL_KEPT(pthread_rwlock_trywrlock)(l);

	if (unlikely(!op.op.w))
		return ret;
	if (likely(!ret))
		cpa_lock_enter(&op);
	else
		cpa_lock_refused(&op);
	return ret;
}

CPA_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t *l)
{
	return CPA_PASSES(cpa_epoch_seen(), pthread_rwlock_trywrlock) ?
		       KEPT(pthread_rwlock_trywrlock)(l) :
		       trywrlock_on(l, CPA_CALLER());
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
	if (o && w->window.epoch != CPA_EPOCH_ON && l->__data.__cur_writer != (int)w->self.row->tid)
		read_exit_late(w, o, caller);
	else
		cpa_lock_exit(w, l, CPA_RWLOCK, caller);
}

static __attribute__((noinline)) int unlock_on(pthread_rwlock_t *l, uint64_t caller)
{
	if (!cpa_is_off() && !exit_untimed(l))
		unlocking(l, caller);
	return REAL_KEPT(pthread_rwlock_unlock)(l);
}

CPA_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *l)
{
	return CPA_PASSES(cpa_epoch_seen(), pthread_rwlock_unlock) ?
		       KEPT(pthread_rwlock_unlock)(l) :
		       unlock_on(l, CPA_CALLER());
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
