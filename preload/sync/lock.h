/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/lock.h - locks with one holder: mutexes, spin locks, write locks
 *
 * While only one thread uses a lock (its user), most uses go untimed: such a use is counted, its
 * length is estimated (preload/core/untimed.h), and no path changes. Another thread that takes the
 * lock finds the path of the last timed release. To limit the error of that edge, a use is timed
 * after each sample of the thread's CPU time (1 ms, later 4 ms), and after each time that the
 * thread was off its processor: the last timed release is not older than that. The error at such
 * hand-offs is counted (CPA_DIAG_UNTIMED_*), and one thread must then use the lock twice as often
 * before its uses go untimed again.
 */
#ifndef CPA_PRELOAD_SYNC_LOCK_H
#define CPA_PRELOAD_SYNC_LOCK_H

#include "preload/core/object.h"
#include "preload/core/op.h"
#include "preload/core/untimed.h"
#include "shadow/edge/object.h"

/* A lock operation; lives on the caller's stack. See preload/core/op.h. */
struct cpa_lock_op {
	struct cpa_op op;
	const void *lock;
	enum cpa_object_kind kind;
	bool free; /* the lock seemed to be free when the operation began: it was not waited for */
};

#define CPA_LOCK_OP(worker, address, kind_, caller)                                            \
	{                                                                                      \
		.op = CPA_OP(worker, caller), .lock = (const void *)(address), .kind = (kind_) \
	}

/*
 * Before an original that may block: end the activity and begin a wait. Leaves instrumentation code.
 * Does nothing if the operation is not recorded.
 */
CPA_HIDDEN void cpa_lock_arrive(struct cpa_lock_op *l);

/* The same for a lock that cannot be tried, or was tried without success. */
CPA_HIDDEN void cpa_lock_arrive_untried(struct cpa_lock_op *l);

/*
 * The thread has got the lock, after cpa_lock_arrive() or at once: join the path of the last
 * release and begin the section. Leaves instrumentation code.
 */
CPA_HIDDEN void cpa_lock_enter(struct cpa_lock_op *l);

/* cpa_lock_enter() for a lock that is not a CPA_RWLOCK and was free. Leaves. */
CPA_HIDDEN void cpa_lock_got(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
			     uint64_t caller);

/*
 * cpa_lock_enter() and cpa_lock_exit() for a lock with shadow @o. The caller need not be inside our
 * code.
 */
CPA_HIDDEN void cpa_lock_got_known(struct cpa_object *o, const void *lock, uint64_t caller);
CPA_HIDDEN void cpa_lock_exit_known(struct cpa_object *o, uint64_t caller);

/*
 * cpa_lock_got_known() by the user of @o, which called the original without a try. If another thread
 * had the lock meanwhile, the thread waited for as long as it was blocked.
 */
CPA_HIDDEN void cpa_lock_got_untried(struct cpa_object *o, const void *lock, uint64_t caller);

/* The wait ended without the lock: after @timeout, or with an error. Leaves. */
CPA_HIDDEN void cpa_lock_failed(struct cpa_lock_op *l, bool timeout);

/* A try did not get the lock: an event without an edge. Leaves. */
CPA_HIDDEN void cpa_lock_refused(struct cpa_lock_op *l);

/* The thread is about to unlock. Leaves. After the unlock nobody may touch the object. */
CPA_HIDDEN void cpa_lock_exit(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
			      uint64_t caller);

/*
 * The shadow of @lock, if it is in the calling thread's cache and the thread may enter our code;
 * else NULL. @epoch: as cpa_epoch_seen() has just returned.
 */
static inline struct cpa_object *cpa_lock_known(const void *lock, enum cpa_object_kind kind,
						uint64_t epoch)
{
	const struct cpa_worker *w = cpa_tls.worker;
	struct cpa_object *o;
	unsigned at;

	if (unlikely(!w || epoch != w->window.epoch || cpa_tls.inside || !*cpa_alive))
		return NULL;
	at = cpa_object_cached(lock);
	o = w->objects.cache[at].object;
	return w->objects.cache[at].address == (uint64_t)lock && o->kind == (uint32_t)kind ? o :
											     NULL;
}

/*
 * The thread is about to lock @o. If another thread had it last, fetch now, together with the
 * lock's own cache line, the lines that it wrote: the counts, and the first four of the path.
 */
static inline void cpa_lock_fetch(const struct cpa_object *o)
{
	/* Relaxed: a hint. */
	uint64_t line = __atomic_load_n(&o->path, __ATOMIC_RELAXED);
	const char *path = cpa_at(line * CPA_CACHE_LINE);

	__builtin_prefetch(&o->run);
	if (unlikely(!line))
		return;
	for (unsigned i = 0; i < 4; i++)
		__builtin_prefetch(path + i * CPA_CACHE_LINE);
}

/* Whether the calling thread is the user of @o, which cpa_lock_known() returned. A hint. */
static inline bool cpa_lock_is_used(const struct cpa_object *o)
{
	/* Relaxed: another thread may be taking the lock; the holder checks again. */
	return __atomic_load_n(&o->user, __ATOMIC_RELAXED) == cpa_tls.worker->self.id;
}

/*
 * The shadow of @lock if cpa_lock_known() returns it and the calling thread is its user, else NULL.
 * A hint.
 */
static inline struct cpa_object *cpa_lock_used(const void *lock, enum cpa_object_kind kind,
					       uint64_t epoch)
{
	struct cpa_object *o = cpa_lock_known(lock, kind, epoch);

	return o && cpa_lock_is_used(o) ? o : NULL;
}

/* Whether since the last event the thread was neither switched out nor sampled. */
static inline bool cpa_lock_quiet(const struct cpa_worker *w)
{
	return !cpa_clock_switched(&w->clock) && !cpa_sampler_waiting(&w->sampler);
}

/*
 * The thread is about to make the event of a use that would otherwise go untimed. If that is for a sample or switch, the
 * activity that ends is cut short.
 */
static inline void cpa_lock_cuts(struct cpa_worker *w)
{
	w->untimed.cut = !cpa_lock_quiet(w);
}

/* Evaluate @call as our code, which signal handlers do not enter: one could end an open section. */
#define CPA_GUARDED(call)       \
	({                      \
		bool done_;     \
                                \
		cpa_reenter();  \
		done_ = (call); \
		cpa_leave();    \
		done_;          \
	})

static inline __attribute__((always_inline)) bool cpa_lock_note_enter(struct cpa_worker *w,
								      struct cpa_object *o)
{
	if (unlikely(o->user != w->self.id || o->tick != w->clock.tick || o->holder ||
		     w->untimed.open_count == CPA_OPEN || !cpa_lock_quiet(w) ||
		     !cpa_untimed_note(w, o->class, o->mean)))
		return false;
	o->holder = w->self.id;
	o->depth = 1;
	o->since = 0;
	o->acquisitions++;
	o->hold += o->mean / CPA_UNTIMED_SCALE;
	w->untimed.open[w->untimed.open_count++] = o;
	cpa_untimed_begin(w, &o->mean);
	return true;
}

/*
 * The thread has just got @o, which cpa_lock_used() returned. Return whether this use goes untimed.
 */
static inline __attribute__((always_inline)) bool cpa_lock_enter_untimed(struct cpa_object *o)
{
	return CPA_GUARDED(cpa_lock_note_enter(cpa_tls.worker, o));
}

static inline bool cpa_lock_note_exit(struct cpa_worker *w, struct cpa_object *o)
{
	uint64_t now = cpa_untimed_look(w);

	if (unlikely(!w->untimed.open_count || w->untimed.open[w->untimed.open_count - 1] != o ||
		     o->since || o->holder != w->self.id || o->depth != 1 || !cpa_lock_quiet(w)))
		return false;
	w->untimed.open_count--;
	o->holder = 0;
	o->depth = 0;
	if (unlikely(now))
		cpa_untimed_drawn(w, &o->mean, now);
	return true;
}

/*
 * The thread is about to unlock @o, which cpa_lock_used() returned. Return whether the use ends
 * untimed.
 */
static inline bool cpa_lock_exit_untimed(struct cpa_object *o)
{
	return CPA_GUARDED(cpa_lock_note_exit(cpa_tls.worker, o));
}

/*
 * The lock was taken by a call that began while profiling was off. If a part of the run has begun
 * in the meantime, the section begins here. @waited: the call was for the lock alone, and so was what it
 * waited in parts. Return for how many ticks it did.
 */
CPA_HIDDEN uint64_t cpa_lock_begun_slow(const void *lock, enum cpa_object_kind kind,
					uint64_t caller, bool waited);

static inline uint64_t cpa_lock_begun(const void *lock, enum cpa_object_kind kind, uint64_t caller,
				      bool waited)
{
	return unlikely(*cpa_alive && !cpa_is_off()) ?
		       cpa_lock_begun_slow(lock, kind, caller, waited) :
		       0;
}

/* Another thread may have used @o untimed: count the possible error of the edge to this thread. */
CPA_HIDDEN void cpa_lock_taken(const struct cpa_worker *w, struct cpa_object *o, uint64_t now);

/*
 * For condition waits, which release and take the mutex inside the original: end or begin @o's
 * section at clock @now. cpa_section_end() returns the depth of a recursive mutex, to be given to
 * cpa_section_begin(); 0 if the thread does not hold the mutex.
 */
CPA_HIDDEN void cpa_section_begin(struct cpa_worker *w, struct cpa_object *o, uint32_t depth,
				  uint64_t now);
CPA_HIDDEN uint32_t cpa_section_end(struct cpa_worker *w, struct cpa_object *o, uint64_t now);

#endif
