/* SPDX-License-Identifier: MIT */
/*
 * preload/core/guard.h - enter and leave instrumentation code: the guard against reentry
 *
 * cpa_tls.inside is set while a thread runs our code. A wrapper that finds it set was called by the
 * loader, or by a signal handler that interrupted our code: it calls the original and does nothing
 * else. So no code of ours is entered twice by one thread, and no lock of ours needs to be recursive.
 * `inside` is clear while an original function blocks.
 */
#ifndef CPA_PRELOAD_CORE_GUARD_H
#define CPA_PRELOAD_CORE_GUARD_H

#include "preload/core/alive.h"
#include "preload/core/worker.h"
#include "preload/libc/real.h"

#define CPA_NAME_WORDS 2u /* 16 bytes, as the kernel has, the last one 0 */

/* Thread-local: small, because it comes out of the stacks that the program sized for itself. */
struct cpa_tls {
	struct cpa_worker *worker; /* NULL: the thread has no row (yet, or any more) */
	bool inside;
	bool covered;	    /* `inside` is set because the thread is in a wait: cpa_op_stand() */
	bool spins;	    /* in a call that waits by spinning and began while profiling was off */
	bool ends;	    /* in daemon(): the parent process ends after its fork */
	bool inside_before; /* `inside` at the outermost fork() that the thread is in */
	uint32_t forks;	    /* nested fork() calls: signal handlers may fork, too */
	uint32_t unloads;   /* nested dlclose() calls: destructors of libraries may call it, too */
	bool left; /* the thread has ended for the profiler; calls of its last destructors pass through */
	uint32_t row;	  /* its thread row until then */
	uint32_t child;	  /* process row of the child that is being forked; 0: none */
	uint64_t routine; /* function that the thread is for, if it began while profiling was off */
	uint64_t code;	  /* the program's function that a function of ours calls; 0: none */
	uint64_t stack;	  /* bytes of its stack at least; 0: not known */
	uint64_t off;	  /* epoch of the latest stop that the thread has met; 0: none */
	/* preload/core/name.h: a name it was given while profiling was off; all 0: none */
	uint64_t name[CPA_NAME_WORDS];
};

extern CPA_HIDDEN __thread struct cpa_tls cpa_tls __attribute__((tls_model("initial-exec")));

/*
 * Profile the calling thread: its start was not seen, or was while profiling was off. @row: the thread row
 * claimed for it; 0: claim one. @created: clock at its creation, ticks; 0: not known. @mask: the signal mask of the
 * program, if cpa holds signals; NULL: cpa does not. Returns NULL without memory.
 */
CPA_HIDDEN struct cpa_worker *cpa_worker_attach(uint32_t row, uint64_t created,
						const sigset_t *mask);

/* cpa_enter() of a thread without worker, or after a start or stop. NULL: as cpa_enter(). */
CPA_HIDDEN struct cpa_worker *cpa_enter_slow(struct cpa_worker *w);

/* Whether the thread is in no part, or in a part that is over. */
static inline bool cpa_window_moved(const struct cpa_worker *w)
{
	/* Relaxed: a thread that finds a change looks again in cpa_enter_slow(). */
	return __atomic_load_n(&cpa_header()->epoch, __ATOMIC_RELAXED) != w->window.epoch;
}

/* The session's epoch; 0 before profiling begins. A hint. */
static inline uint64_t cpa_epoch_seen(void)
{
	/* Relaxed, both: a thread that finds a change looks again in cpa_enter_slow(). */
	return __atomic_load_n(__atomic_load_n(&cpa_epoch_word, __ATOMIC_RELAXED),
			       __ATOMIC_RELAXED);
}

/*
 * Whether profiling is off since @epoch, which cpa_epoch_seen() returned, and the thread has met
 * that. Then a wrapper calls the original, and does nothing else; if that may block, it looks again
 * behind it. Also before profiling has begun.
 */
static inline bool cpa_is_off_in(uint64_t epoch)
{
	return epoch == cpa_tls.off;
}

static inline bool cpa_is_off(void)
{
	return cpa_is_off_in(cpa_epoch_seen());
}

/* Whether to call KEPT(@function) and do nothing else, as profiling is off in @epoch. */
#define CPA_PASSES(epoch, function) likely(cpa_is_off_in(epoch) && KEPT(function))

/* Enter instrumentation code. NULL: call the original, and nothing else. */
static inline struct cpa_worker *cpa_enter(void)
{
	struct cpa_worker *w = cpa_tls.worker;

	if (unlikely(!*cpa_alive))
		return NULL;
	if (unlikely(cpa_tls.inside)) {
		if (!cpa_tls.covered)
			cpa_diag(CPA_DIAG_NESTED);
		return NULL;
	}
	if (unlikely(!w || cpa_window_moved(w)))
		return cpa_is_off() ? NULL : cpa_enter_slow(w);
	cpa_tls.inside = true;
	/* The store is seen by our own signal handlers before anything else we do. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return w;
}

/*
 * Send the next event through cpa_event_slow(): the activity that it ends is more than CPU time
 * without samples, or the kernel's clock must be read. cpa_event_slow() reopens the fast lane, up to
 * the next boundary (shadow/graph/checkpoint.h) or comparison with the kernel's clock.
 */
static inline void cpa_force_slow(struct cpa_worker *w)
{
	w->self.window = 0;
}

/* Enter instrumentation code again after an original function that blocked. */
static inline void cpa_reenter(void)
{
	cpa_tls.inside = true;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* as in cpa_enter() */
}

static inline void cpa_leave(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* as in cpa_enter() */
	cpa_tls.inside = false;
}

#endif
