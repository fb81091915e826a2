/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/lock.h - shared by mutexes, spin locks and write locks
 *
 * While one thread alone uses a lock (its user), most uses go untimed: such a use is counted, its
 * section estimated (preload/core/untimed.h), and no path changes. Another thread that takes the lock
 * finds the path of the last timed release. To bound what that edge lacks, a use is timed after each
 * sample of the thread's CPU time (1 ms, later 4 ms), and each time the thread was off its processor:
 * the last timed release is no older than that. The loss at such hand-offs is counted
 * (CPA_DIAG_UNTIMED_*), and one thread must then use the lock twice as often before its uses go
 * untimed again.
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
	bool free; /* the lock seemed free when the operation arrived */
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

/*
 * The thread has the lock, after cpa_lock_arrive() or at once. Joins the path of the last release,
 * begins the section. Publishes nothing. Leaves instrumentation code.
 */
CPA_HIDDEN void cpa_lock_enter(struct cpa_lock_op *l);

/* As cpa_lock_enter(), of a lock that is not a CPA_RWLOCK and was free. Leaves. */
CPA_HIDDEN void cpa_lock_got(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
			     uint64_t caller);

/* The same, and cpa_lock_exit(), of a lock with shadow @o, inside our code or not. */
CPA_HIDDEN void cpa_lock_got_known(struct cpa_object *o, const void *lock, uint64_t caller);
CPA_HIDDEN void cpa_lock_exit_known(struct cpa_object *o, uint64_t caller);

/* The wait ended without the lock: @timeout, or an error. Leaves. */
CPA_HIDDEN void cpa_lock_failed(struct cpa_lock_op *l, bool timeout);

/* A try that did not get the lock: an event, no edge. Leaves. */
CPA_HIDDEN void cpa_lock_refused(struct cpa_lock_op *l);

/* About to unlock. Leaves; the object must not be touched afterwards. */
CPA_HIDDEN void cpa_lock_exit(struct cpa_worker *w, const void *lock, enum cpa_object_kind kind,
			      uint64_t caller);

/* The shadow of @lock if the calling thread has met it lately and may enter our code, else NULL. */
static inline struct cpa_object *cpa_lock_known(const void *lock, enum cpa_object_kind kind)
{
	const struct cpa_worker *w = cpa_tls.worker;
	struct cpa_object *o;
	unsigned at;

	if (unlikely(!w || cpa_tls.inside || !*cpa_alive || cpa_window_moved(w)))
		return NULL;
	at = cpa_object_cached(lock);
	o = w->objects.cache[at].object;
	return w->objects.cache[at].address == (uint64_t)lock && o->kind == (uint32_t)kind ? o :
											     NULL;
}

/*
 * @o is about to be locked. If another thread had it last, let what it left come while the lock's
 * own line does: the counts, and of the path what most have.
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

/* Whether the calling thread is the user (see above) of @o, of cpa_lock_known(). A hint. */
static inline bool cpa_lock_is_used(const struct cpa_object *o)
{
	/* Relaxed: another thread may be taking it from us. Who holds the lock looks again. */
	return __atomic_load_n(&o->user, __ATOMIC_RELAXED) == cpa_tls.worker->self.id;
}

/* The shadow of @lock if it is known and used, else NULL. A hint. */
static inline struct cpa_object *cpa_lock_used(const void *lock, enum cpa_object_kind kind)
{
	struct cpa_object *o = cpa_lock_known(lock, kind);

	return o && cpa_lock_is_used(o) ? o : NULL;
}

/* Nothing happened since the last event that a path must not miss. */
static inline bool cpa_lock_quiet(const struct cpa_worker *w)
{
	return !cpa_clock_switched(&w->clock) && !cpa_sampler_waiting(&w->sampler);
}

/* Let @call be our code, which a signal handler does not enter: that could end what is open. */
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

/* The thread has just got @o, of cpa_lock_used(): whether this use goes untimed. */
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

/* The thread is about to unlock @o, of cpa_lock_used(): whether that goes untimed. */
static inline bool cpa_lock_exit_untimed(struct cpa_object *o)
{
	return CPA_GUARDED(cpa_lock_note_exit(cpa_tls.worker, o));
}

/*
 * The lock was taken by a call that began while profiling was off: if a part of the run has begun
 * meanwhile, the section begins here.
 */
CPA_HIDDEN void cpa_lock_begun_slow(const void *lock, enum cpa_object_kind kind, uint64_t caller);

static inline void cpa_lock_begun(const void *lock, enum cpa_object_kind kind, uint64_t caller)
{
	if (unlikely(*cpa_alive && cpa_header()->epoch & 1))
		cpa_lock_begun_slow(lock, kind, caller);
}

/* Another thread may have used @o untimed: what the edge to us may be short of is counted. */
CPA_HIDDEN void cpa_lock_taken(const struct cpa_worker *w, struct cpa_object *o, uint64_t now);

/*
 * The two halves for condition waits, which release and take the mutex inside the original:
 * begin or end @o's section at clock @now. cpa_section_end() returns the depth of a recursive
 * mutex, for cpa_section_begin(); 0 if the thread does not hold it.
 */
CPA_HIDDEN void cpa_section_begin(struct cpa_worker *w, struct cpa_object *o, uint32_t depth,
				  uint64_t now);
CPA_HIDDEN uint32_t cpa_section_end(struct cpa_worker *w, struct cpa_object *o, uint64_t now);

#endif
