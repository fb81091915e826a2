/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker.h - state of a profiled thread, and the guard against reentry
 *
 * Thread-local storage holds two words; the rest is allocated, because thread-local storage comes
 * out of the stacks that the program sized for itself.
 *
 * The guard: `inside` is set while a thread runs our code. A wrapper that finds it set was called
 * by the loader or a signal handler that interrupted us, and passes straight through; so
 * nothing of ours is ever entered twice by one thread, and no lock of ours needs to be recursive.
 * It is not set while an original function blocks.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_H
#define CPA_PRELOAD_CORE_WORKER_H

#include "preload/core/alive.h"
#include "preload/clock/clock.h"
#include "preload/core/sampler.h"
#include "shadow/graph/activity.h"

#define CPA_OBJECT_CACHE 256u
#define CPA_NODE_CACHE	 128u
#define CPA_NODE_WAYS	 8u /* places that one may have there */
#define CPA_READS	 16u
#define CPA_READ_USES	 16u
#define CPA_QUEUE_CACHE	 16u
#define CPA_REGIONS	 64u
#define CPA_REGION_CACHE 16u
#define CPA_CLASS_CACHE	 16u
#define CPA_UNTIMED	 4u
#define CPA_OPEN	 4u

struct cpa_worker {
	struct cpa_self self;
	struct cpa_clock clock;
	/* preload/core/window.h: the part it is in, 0: none; the latest stop that it has met. */
	uint64_t epoch, off;
	struct cpa_sampler sampler;
	/* Found lately, by address. Rows never move. */
	struct {
		uint64_t address;
		struct cpa_object *object;
	} objects[CPA_OBJECT_CACHE];
	/* PAG nodes met lately. */
	struct cpa_node_place {
		uint64_t caller;
		uint32_t event; /* {kind:8, class:24} */
		uint32_t row;
		unsigned edge; /* that led there the last time: see cpa_activity_run() */
	} nodes[CPA_NODE_CACHE];
	uint32_t node_turn; /* which of several gives its place up */
	/* Lock classes by the call that initialized the object, met lately. */
	struct cpa_class_place {
		uint64_t caller;
		uint32_t kind, class;
	} classes[CPA_CLASS_CACHE];
	struct {
		uint64_t address;
		uint32_t row;
	} queues[CPA_QUEUE_CACHE];
	/* Read-write locks held for reading; since: 0 if not timed. */
	struct {
		struct cpa_object *object;
		uint64_t since;
	} reads[CPA_READS];
	unsigned read_count;
	/* Read-write locks that the thread keeps reading: preload/sync/rwlock.c. */
	struct cpa_read_use {
		struct cpa_object *object;
		uint64_t written; /* clock of the last write release when last timed */
		uint32_t run;	  /* timed uses since then */
		uint32_t tick;	  /* the thread's time of the last timed one */
		uint32_t mean;	  /* of the length of timed sections, ticks */
	} read_uses[CPA_READ_USES];
	/* Component rows of the regions it is in; those beyond the limit are only counted. */
	uint32_t regions[CPA_REGIONS];
	unsigned region_count;
	struct {
		const char *text; /* what the program passed */
		uint32_t name;	  /* row of that text, then */
		uint32_t component;
	} region_names[CPA_REGION_CACHE];
	/* Of the last wait, since the last event: a signal handler may have had some in it. */
	uint64_t wait_length;
	uint64_t wait_runqueue; /* ready, without a processor */
	/* preload/core/untimed.h: sections not timed since the last event, by row of the lock class. */
	struct cpa_untimed {
		uint32_t class; /* 0: unused */
		bool open;	/* one of them has not ended */
		uint64_t ticks; /* what they usually take, times CPA_UNTIMED_SCALE */
	} untimed[CPA_UNTIMED];
	uint32_t untimed_count;		   /* of uses */
	struct cpa_object *open[CPA_OPEN]; /* that have not ended, in order */
	uint32_t open_count, open_reads;   /* the latter of w->reads */
	uint32_t *begun; /* where the section that was drawn is to count, until its first activity ends */
	bool learns;	   /* it is one of the first, whose mean there is to be */
	uint64_t begun_at; /* clock at the last look before it, of others */
	int32_t draw;	   /* uses to the next one that is drawn */
	uint32_t random;
	uint64_t slow;	     /* self.slow at the last look at the clock */
	uint32_t loads;	     /* cpa_dlopen_generation that `nodes` and `classes` are of */
	unsigned end_rounds; /* of thread-specific destructors seen */
	/* preload/lib/uv.h: the loop of its work under way, and how much there is. */
	const void *loop;
	const struct cpa_object *loop_lock;
	uint32_t loop_work;
	/* Instrumented builds, see preload/core/instrument.h; NULL until the first call. */
	struct cpa_calls *calls;
	uint64_t light; /* stack pointer on entry to instrumentation code of `calls`; 0 outside it */
	bool watched; /* `calls` or a journal is in use: each end of an activity is reported in full */
	/*
	 * Stack pointer from cpa_event() to cpa_done(), while the thread is in no activity; else
	 * 0.
	 */
	uint64_t between;
	uint64_t suspended; /* caller of pause() or kin, until the next event; 0: none */
	uint32_t vforked;   /* token of the last vfork(), until its child calls exec; 0: none */
};

struct cpa_tls {
	struct cpa_worker *worker;
	bool inside;
	bool ends;	    /* in daemon(): the parent process ends after its fork */
	bool inside_before; /* `inside` at the outermost fork() that the thread is in */
	uint32_t forks;	    /* nested fork() calls: signal handlers may fork, too */
	bool left; /* the thread has ended for the profiler; calls of its last destructors pass through */
	uint32_t row;	  /* its thread row until then */
	uint32_t child;	  /* process row of the child that is being forked; 0: none */
	uint64_t routine; /* function that the thread is for, if it began while profiling was off */
};

extern CPA_HIDDEN __thread struct cpa_tls cpa_tls __attribute__((tls_model("initial-exec")));

/* Profile the calling thread, whose start the profiler did not see. NULL: not possible. */
CPA_HIDDEN struct cpa_worker *cpa_worker_attach(void);

/* cpa_enter() of a thread without worker, or after a start or stop. NULL: as cpa_enter(). */
CPA_HIDDEN struct cpa_worker *cpa_enter_slow(struct cpa_worker *w);

/* Whether the thread is in no part, or in a part that is over. */
static inline bool cpa_window_moved(const struct cpa_worker *w)
{
	/* Relaxed: who finds a change looks again. */
	return __atomic_load_n(&cpa_header()->epoch, __ATOMIC_RELAXED) != w->epoch;
}

/* Whether a thread that is in no part, or in one that is over, has anything to do about it. */
static inline bool cpa_window_begun(const struct cpa_worker *w)
{
	/* Relaxed: as above. */
	return w->off != __atomic_load_n(&cpa_header()->epoch, __ATOMIC_RELAXED);
}

/* Enter instrumentation code. NULL: call the original, and nothing else. */
static inline struct cpa_worker *cpa_enter(void)
{
	struct cpa_worker *w = cpa_tls.worker;

	if (unlikely(!*cpa_alive))
		return NULL;
	if (unlikely(cpa_tls.inside)) {
		cpa_diag(CPA_DIAG_NESTED);
		return NULL;
	}
	if (unlikely(!w || cpa_window_moved(w))) /* the first test: off, and known to be */
		return w && !cpa_window_begun(w) ? NULL : cpa_enter_slow(w);
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
