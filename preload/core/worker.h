/* SPDX-License-Identifier: MIT */
/*
 * preload/core/worker.h - state of a profiled thread
 *
 * Thread-local storage (preload/core/guard.h) holds a pointer to it: a worker is allocated, because
 * thread-local storage comes out of the stacks that the program sized for itself.
 *
 * Only the thread itself reads and writes it, in instrumentation code or in the sampler's signal
 * handler. Each member belongs to the module that its comment or its header names.
 */
#ifndef CPA_PRELOAD_CORE_WORKER_H
#define CPA_PRELOAD_CORE_WORKER_H

#include "preload/clock/clock.h"
#include "preload/core/sampler.h"
#include "preload/core/sleeps.h"
#include "preload/core/worker_lib.h"
#include "preload/core/worker_nodes.h"
#include "preload/core/worker_objects.h"
#include "preload/core/worker_reads.h"
#include "preload/core/worker_regions.h"
#include "preload/core/worker_untimed.h"
#include "shadow/graph/activity.h"

struct cpa_worker {
	struct cpa_self self;
	struct cpa_clock clock;
	/* preload/core/window.c, read by preload/core/guard.h. */
	struct {
		uint64_t epoch; /* of the part that the thread is in; 0: none */
		/* Its work, ticks, from the part's begin to its first event, at clock `met`. */
		uint64_t head, met;
		/*
		 * If it came back from a call that it was in at the part's begin: clock of that, else 0; and
		 * for how long it was ready without a processor since it left the part before.
		 */
		uint64_t since, ready;
		/* Clock at which it arrived at a wait that went on when its part ended; 0: at none. */
		uint64_t arrived;
		/* CPU time of the thread at its latest sample while profiling was off, ns; 0: there was none. */
		uint64_t off_cpu_ns;
		uint8_t meets; /* enum cpa_meets */
		/* enum cpa_external: of what a call was blocked in that the thread is back from; 0: not known */
		uint8_t kind;
	} window;
	struct cpa_sampler sampler;
	struct cpa_worker_objects objects;
	struct cpa_worker_nodes nodes;
	struct cpa_queue_place queues[CPA_QUEUE_CACHE];
	struct cpa_worker_reads reads;
	struct cpa_worker_regions regions;
	/*
	 * preload/core/track.c: the last wait, in ticks, since the last event. Zero if it crossed the
	 * border of a part. A signal handler during the wait may have written a wait of its own.
	 */
	struct {
		uint64_t length;
		uint64_t runqueue; /* ready, without a processor */
		uint64_t others;   /* in other parts of the run than the one it is taken to be in */
	} wait;
	struct cpa_worker_untimed untimed;
	uint64_t slow;	     /* preload/core/track.c: self.slow at the last look at the clock */
	unsigned end_rounds; /* preload/process/attach.c: rounds of thread-specific destructors seen */
	struct cpa_worker_loop loop;
	/* preload/core/instrument.c, for instrumented builds. */
	struct cpa_calls *calls; /* NULL until the first call */
	uint64_t light; /* stack pointer on entry to instrumentation code of `calls`; 0 outside it */
	/* `calls` or a journal is in use: preload/core/track.c reports each activity in full. */
	bool watched;
	/*
	 * preload/core/track.h: stack pointer from cpa_event() to cpa_done(), while the thread is in no
	 * activity; else 0.
	 */
	uint64_t between;
	/*
	 * Time that cpa_track_hidden() left out of the present wait, or of the last one if the thread
	 * jumped out of it, ticks. Written by the thread and by its handler of samples.
	 */
	struct {
		uint64_t probe, runqueue;
	} hidden;
	/*
	 * A wait that goes on behind the wrapper that began it: cpa_op_stand() in preload/core/op.h.
	 * NULL: none. standing_window: self.window before it.
	 */
	struct cpa_op *standing;
	uint64_t standing_window;
	struct cpa_omp *omp; /* preload/omp/team.h; NULL until the first region */
	/* preload/core/suspend.c: caller of pause() or kin, until the next event; 0: none. */
	uint64_t suspended;
	/* preload/core/track.c: cpa_event_slept(). */
	struct cpa_sleeps sleeps;
	/*
	 * preload/sync/mutex.c: 16 times the usual length of the operation by which the thread begins a critical
	 * section behind that of another thread, ticks; 0: none was measured yet.
	 */
	uint32_t takeover;
	/* preload/process/spawn.c: token of the last vfork(), until its child calls exec; 0: none. */
	uint32_t vforked;
};

#endif
