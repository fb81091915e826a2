/* SPDX-License-Identifier: MIT */
#include "preload/process/attach.h"

#include <limits.h>
#include <sys/syscall.h>

#include "preload/clock/ready.h"
#include "preload/code/module.h"
#include "preload/core/name.h"
#include "preload/core/region.h"
#include "preload/core/track.h"
#include "preload/core/window.h"
#include "preload/libc/fd_guard.h"
#include "preload/libc/pool.h"
#include "preload/process/end_key.h"
#include "preload/process/life.h"
#include "preload/process/process.h"
#include "shadow/edge/process.h"
#include "shadow/edge/thread.h"
#include "shadow/graph/call.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/graph/component.h"
#include "shadow/store/epoch.h"
#include "shadow/store/kernel.h"
#include "shadow/store/name.h"
#include "shadow/store/table.h"

__thread struct cpa_tls cpa_tls;

static uint32_t tid(void)
{
	return (uint32_t)cpa_kernel(SYS_gettid);
}

static void end_worker(struct cpa_worker *w)
{
	uint64_t now;

	/* It left our code by a jump, or a handler or a cancellation ended it there. */
	if (unlikely(cpa_tls.inside))
		cpa_thread_left(&w->self);
	cpa_reenter();
	if (likely(cpa_window_meet(w)))
		now = cpa_event(w, CPA_EV_EXIT, 0, 0);
	else
		now = w->self.row->path.released;
	cpa_region_leave(w);
	cpa_sampler_stop(&w->sampler);
	cpa_clock_stop(&w->clock);
	cpa_tls.worker = NULL;
	cpa_tls.left = true;
	cpa_tls.row = w->self.number;
	/*
	 * A thread that gets this pthread_t next may be joined before it registers a row of its
	 * own.
	 */
	if (cpa_thread_end(&w->self, now))
		cpa_thread_register(pthread_self(), 0);
	if (w->calls)
		cpa_calls_free(w->calls);
	if (w->omp)
		cpa_pool_give(CPA_POOL_OMP, w->omp);
	cpa_pool_give(CPA_POOL_WORKERS, w);
	cpa_leave();
}

static bool is_mine(const struct cpa_worker *w)
{
	return *cpa_alive && w && cpa_tls.worker == w;
}

void cpa_thread_returned(void)
{
	if (unlikely(cpa_end_key_is_lost()) && is_mine(cpa_tls.worker) && !cpa_tls.inside)
		end_worker(cpa_tls.worker);
}

void cpa_thread_ends(void *argument)
{
	struct cpa_worker *w = argument;

	cpa_fd_guard_ended();
	if (!is_mine(w))
		return;
	if (++w->end_rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		cpa_end_key_set(w);
	else
		end_worker(w);
}

struct cpa_worker *cpa_worker_begin(const struct cpa_thread_start *start, struct cpa_wait *wait)
{
	struct cpa_worker *w = cpa_pool_take(CPA_POOL_WORKERS, sizeof(*w));
	uint64_t delay = 0;

	if (!w) {
		cpa_diag(CPA_DIAG_THREADS_REFUSED);
		return NULL;
	}
	w->self.number = start->row;
	w->self.process = cpa_process_number;
	/* Opening a perf event may take milliseconds: do that before the first activity. */
	cpa_sampler_start(&w->sampler, start->mask);
	cpa_clock_start(&w->clock);
	w->sampler.counted = w->sampler.known_at = w->clock.cpu;
	if (wait->now)
		w->clock.last = wait->now;
	wait->now = w->clock.last;
	if (wait->now - start->created > cpa_clock_long_ticks)
		delay = cpa_clock_delay(&w->clock);
	wait->runqueue = start->from ? delay : 0;
	if (cpa_thread_begin(&w->self, start->component, tid(), start->from, wait)) {
		cpa_sampler_stop(&w->sampler);
		cpa_clock_stop(&w->clock);
		cpa_pool_give(CPA_POOL_WORKERS, w);
		return NULL;
	}
	w->watched = w->self.journal != NULL;
	w->window.epoch = CPA_EPOCH_ON;
	cpa_end_key_set(w);
	cpa_tls.worker = w;
	return w;
}

/*
 * The first thread of the run: its time since the begin of the run was ours, but for that in which it
 * waited for a processor.
 */
static void begin_first(struct cpa_worker *w)
{
	uint64_t ready = cpa_ready_since_begin(&w->clock), since;
	struct cpa_path *path = &w->self.row->path;

	w->sampler.counted = w->sampler.known_at = w->clock.cpu;
	w->clock.last = cpa_checkpoint(&w->self, w->clock.rebased);
	since = w->clock.last - cpa_header()->start_ticks;
	if (ready > since)
		ready = since;
	cpa_writing(w->self.row);
	path->observed[CPA_TIME_PROBE] += since - ready;
	path->observed[CPA_TIME_RUNQUEUE] += ready;
	/* In this order: if the process is killed in between, the run ends where its path ends. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	path->released = w->self.row->start_ticks = w->clock.last;
	w->self.row->before += w->clock.cpu;
	cpa_written(w->self.row);
}

/*
 * A thread whose begin was not seen, or was while profiling was off: its time until now is external
 * or off.
 */
static void begin_late(struct cpa_worker *w)
{
	if (cpa_epoch(cpa_header()) == CPA_EPOCH_ON) {
		w->self.row->path.observed[CPA_TIME_EXTERNAL] +=
			w->clock.last - cpa_header()->start_ticks;
		w->self.row->before += w->clock.cpu;
		cpa_name_take(w);
		return;
	}
	w->window.epoch = 0;
	w->self.row->path.released = 0; /* the thread is in no part */
	w->self.row->off += w->clock.cpu;
}

struct cpa_worker *cpa_worker_attach(uint32_t row, uint64_t created, const sigset_t *mask)
{
	struct cpa_component_name name = { .kind = CPA_THREAD, .address = cpa_tls.routine };
	const struct cpa_header *h = cpa_header();
	/*
	 * Relaxed: only the thread that runs our constructor is the first, and it reads its own
	 * store.
	 */
	bool first = !__atomic_load_n(&h->started, __ATOMIC_RELAXED) &&
		     cpa_epoch(h) == CPA_EPOCH_ON;
	struct cpa_wait wait = { .now = first ? h->start_ticks : 0 };
	struct cpa_thread_start start = { .row = row, .created = created, .mask = mask };
	struct cpa_worker *w;

	if (cpa_tls.left)
		return NULL;
	name.module = name.address ? cpa_module_place(&name.address) : 0;
	/* Created by clone(), or by a call of pthread_create() that did not reach our wrapper. */
	if (!name.address && tid() != (uint32_t)cpa_kernel(SYS_getpid)) {
		name.by = CPA_BY_NAME;
		name.address = cpa_name("(start not seen)");
	} else if (!name.address && cpa_process_is_child()) {
		name.by = CPA_BY_NAME;
		name.address = cpa_process(cpa_process_number)->name;
	}
	start.component = cpa_component_intern(&name);
	w = cpa_worker_begin(&start, &wait);
	if (w) {
		first ? begin_first(w) : begin_late(w);
		cpa_thread_register(pthread_self(), w->self.number);
		w->self.row->node = cpa_track_node(w, CPA_EV_START, 0, 0);
	} else {
		cpa_tls.left = true;
	}
	return w;
}
