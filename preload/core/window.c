/* SPDX-License-Identifier: MIT */
#include "preload/core/window.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/code/function.h"
#include "preload/core/name.h"
#include "preload/core/signal.h"
#include "preload/core/track.h"
#include "preload/unwind/stack.h"
#include "shadow/arch/arch.h"
#include "shadow/graph/call.h"
#include "shadow/graph/checkpoint.h"
#include "shadow/store/epoch.h"
#include "shadow/edge/part.h"
#include "shadow/path/path.h"

/* Stack that the border of a part takes at most: copies of two paths, and what calls them. */
#define ROOM 8192u

#define NESTED 4u /* signal handlers that begin at once, each on top of the one before */

#define MANY 64u /* events of a thread, from which on its usual activity is known */

static uint64_t wall_of(const struct cpa_elapsed *e)
{
	return e->process + e->runqueue + e->external;
}

static uint64_t scale(uint64_t ticks, uint64_t part, uint64_t of)
{
	return (uint64_t)((unsigned __int128)ticks * part / of);
}

/*
 * Split @length ticks off @e, and return them. Exact if all of @e is CPU time, else in proportion.
 */
static struct cpa_elapsed cut(struct cpa_elapsed *e, uint64_t length)
{
	uint64_t wall = wall_of(e);
	struct cpa_elapsed part = *e;

	if (length < wall) {
		part.process = scale(e->process, length, wall);
		part.external = scale(e->external, length, wall);
		part.runqueue = scale(e->runqueue, length, wall);
		*(e->external ? &part.external : &part.runqueue) += length - wall_of(&part);
	}
	e->process -= part.process;
	e->runqueue -= part.runqueue < e->runqueue ? part.runqueue : e->runqueue;
	e->external -= part.external < e->external ? part.external : e->external;
	return part;
}

/* The epoch of the latest stop at or before @epoch. */
static uint64_t stop_before(uint64_t epoch)
{
	return cpa_epoch_is_on(epoch) ? epoch - 1 : epoch;
}

/* Forget all that the thread held or had begun: it does not reach into the next part. */
static void let_go(struct cpa_worker *w)
{
	w->self.row->held_count = 0;
	w->self.items_in_work = 0;
	w->reads.count = 0;
	w->regions.count = 0;
	w->untimed.open_count = w->untimed.open_reads = 0;
	w->untimed.count = 0;
	memset(w->untimed.classes, 0, sizeof(w->untimed.classes));
	w->untimed.begun = NULL;
	w->loop.work = 0;
	if (w->calls)
		cpa_calls_free(w->calls);
	w->calls = NULL;
	w->watched = w->self.journal != NULL;
	cpa_force_slow(w);
	cpa_sampler_rest(&w->sampler, w->clock.cpu);
	cpa_sampler_drop(&w->sampler);
}

/*
 * Where the path of the thread ends: at its last event, where it arrived at its last wait if that went on,
 * or with the last part before @epoch.
 */
static uint64_t end_of(const struct cpa_worker *w, uint64_t epoch)
{
	uint64_t last = w->self.row->path.released,
		 end = cpa_epoch_begun(cpa_header(), stop_before(epoch));

	if (w->window.arrived && w->window.arrived < last)
		last = w->window.arrived;
	return last < end ? last : end;
}

/*
 * Leave the part: the thread's path is complete up to the last stop before @epoch, and ends at
 * clock @end.
 */
static void leave(struct cpa_worker *w, uint64_t epoch, uint64_t end)
{
	let_go(w);
	w->window.epoch = w->window.arrived = 0;
	cpa_tls.off = stop_before(epoch);
	cpa_part_end(&w->self, cpa_tls.off, end);
}

/*
 * What the thread was blocked in during @e, if that weighs nothing. Of other calls it is not known how much
 * of the time up to a border was theirs.
 */
static enum cpa_external idle_kind(const struct cpa_worker *w, const struct cpa_elapsed *e)
{
	enum cpa_external kind = (enum cpa_external)w->window.kind;

	return !e->device && cpa_external_class(kind) == CPA_EXT_IDLE ? kind : CPA_EXT_OTHER;
}

/* Ticks since clock @from that lie in parts which have ended by @epoch. */
static uint64_t time_in(uint64_t epoch, uint64_t from)
{
	const struct cpa_header *h = cpa_header();
	uint64_t all = cpa_epoch_on(h, cpa_epoch_begun(h, epoch)), before = cpa_epoch_on(h, from);

	return all > before ? all - before : 0;
}

/* A path with @tail at its end comes at @epoch. Relaxed: a thread that opens the part later finds this path. */
static void note_late(uint64_t epoch, const struct cpa_elapsed *tail)
{
	if (!cpa_epoch_is_on(epoch) || !(tail->process + tail->external) ||
	    __atomic_load_n(&cpa_header()->part, __ATOMIC_RELAXED) < 2 * epoch)
		return;
	cpa_diag(CPA_DIAG_PART_LATE);
	cpa_diag_add(CPA_DIAG_PART_LATE_TICKS, tail->process + tail->external);
}

static uint64_t take(uint64_t *from, uint64_t most)
{
	uint64_t ticks = *from < most ? *from : most;

	*from -= ticks;
	return ticks;
}

/*
 * As cut(), of an activity behind whose work the thread lost its processor: its CPU time comes first, then what it
 * was blocked for, and last the time in which it was ready.
 */
static struct cpa_elapsed cut_ready_last(struct cpa_elapsed *e, uint64_t length)
{
	struct cpa_elapsed part = { .device = e->device };

	part.process = take(&e->process, length);
	part.external = take(&e->external, length - part.process);
	part.runqueue = take(&e->runqueue, length - part.process - part.external);
	return part;
}

/*
 * For how many ticks profiling was on up to tick @from, the thread's last stamp. If that border is no longer kept the
 * observed path tells, up to the thread's last event.
 */
static uint64_t on_before(const struct cpa_worker *w, uint64_t epoch, uint64_t from)
{
	uint64_t on = cpa_epoch_on(cpa_header(), from), path;

	if (!w->window.epoch || epoch - w->window.epoch < CPA_BORDERS - 2)
		return on;
	path = cpa_path_observed(&w->self.row->path);
	return path < on ? path : on;
}

/* The times @e began at tick @from and ended at @now: take the time in which profiling was off out of them. */
static void take_off(struct cpa_worker *w, struct cpa_elapsed *e, uint64_t from, uint64_t now)
{
	uint64_t epoch = cpa_epoch(cpa_header()), on = cpa_epoch_on(cpa_header(), now);
	uint64_t before = on_before(w, epoch, from);
	struct cpa_elapsed in = cut_ready_last(e, on > before ? on - before : 0);

	w->self.row->off += e->process;
	*e = in;
}

void cpa_window_late(struct cpa_worker *w, struct cpa_elapsed *e, bool waited, uint64_t now)
{
	uint64_t epoch = cpa_epoch(cpa_header()), from = now - wall_of(e);
	struct cpa_elapsed rest, tail;

	take_off(w, e, from, now);
	rest = *e;
	tail = cut_ready_last(&rest, time_in(epoch, from));
	if (waited) /* on no path */
		tail.external = 0;
	note_late(epoch, &tail);
}

void cpa_window_late_probe(struct cpa_worker *w, struct cpa_elapsed *e, uint64_t now)
{
	take_off(w, e, now - wall_of(e), now);
}

/* The part of the thread has ended in an activity that began at clock @from and has times @e. */
static void end_activity(struct cpa_worker *w, uint64_t epoch, uint64_t from, struct cpa_elapsed *e)
{
	struct cpa_elapsed tail = cut(e, time_in(epoch, from));
	uint64_t end = w->self.row->path.released;

	note_late(epoch, &tail);
	/*
	 * A thread that did not run when the part ended keeps the end that its path has. It did run if it is late by a
	 * function that began or ended: that time is on no path yet.
	 */
	if (wall_of(&tail) || (w->calls && cpa_calls_pending(w->calls))) {
		end = cpa_epoch_begun(cpa_header(), stop_before(epoch));
		w->window.arrived = 0;
	}
	cpa_event_cut(w, CPA_EV_STOP, &tail, idle_kind(w, &tail), end);
	leave(w, epoch, end_of(w, epoch));
}

/* Let the thread enter the part of @epoch at clock @since. */
static void begin(struct cpa_worker *w, uint64_t epoch, uint64_t since)
{
	struct cpa_thread *row = w->self.row;

	cpa_part_begin(&w->self, epoch);
	cpa_name_take(w);
	cpa_writing(row);
	/* The thread's time before this part is unknown: external time on the observed path. */
	row->path.observed[CPA_TIME_EXTERNAL] += since - row->path.released;
	row->path.released = since;
	row->node = cpa_track_node(w, CPA_EV_RESTART, 0, 0);
	row->path.node = row->node;
	cpa_written(row);
	w->window.epoch = epoch;
	w->window.arrived = 0;
	w->clock.tick++; /* makes each lock be timed once before it goes untimed in this part */
	cpa_sampler_resume(&w->sampler, w->clock.cpu);
}

/*
 * @e: times of a thread from the begin of the part to an event, cut in proportion from those of several
 * activities. If it was without a processor for long, it was so in one that may be short: so it is taken
 * to have worked for no longer than its activities do on average.
 */
static void limit(struct cpa_elapsed *e, const struct cpa_thread *row)
{
	uint64_t usual = row->events < MANY ? e->process : row->process / row->events;

	if (wall_of(e) == e->process || e->process <= usual)
		return;
	e->runqueue += e->process - usual;
	e->process = usual;
}

/*
 * @head: times of a thread from the begin of the part to a sample, cut in proportion; @before: those before the
 * part. The CPU time up to the latest sample while profiling was off lies in those. What @head has too much is
 * changed for time without a processor.
 */
static void limit_sampled(const struct cpa_worker *w, struct cpa_elapsed *head,
			  struct cpa_elapsed *before)
{
	/* A difference of ns: the rate of ticks may have become more precise meanwhile. */
	uint64_t all_ns = cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t most = cpa_clock_ticks(all_ns - w->window.off_cpu_ns);
	uint64_t gap = before->external + before->runqueue, more, external;

	if (head->process <= most || !gap)
		return;
	more = head->process - most < gap ? head->process - most : gap;
	external = scale(more, before->external, gap);
	head->process -= more;
	head->external += external;
	head->runqueue += more - external;
	before->process += more;
	before->external -= external;
	before->runqueue -= more - external;
}

/*
 * As begin(), for a thread whose times @e up to clock @now are known: of its activity, or, if @left, of
 * all that it did since it left the part before.
 */
static void begin_activity(struct cpa_worker *w, uint64_t epoch, struct cpa_elapsed *e,
			   uint64_t now, bool left)
{
	uint64_t begun = cpa_epoch_begun(cpa_header(), epoch), from = now - wall_of(e);
	uint64_t since = begun > from ? begun : from;
	uint64_t ready = e->runqueue;
	struct cpa_elapsed head = cut(e, now > since ? now - since : 0);
	enum cpa_external kind;
	uint64_t blocked;

	if (w->window.meets == CPA_MEETS_SAMPLE)
		limit_sampled(w, &head, e);
	kind = idle_kind(w, &head);
	blocked = kind == CPA_EXT_OTHER ? head.external : 0;
	w->window.since = 0;
	if (w->window.meets == CPA_MEETS_CALL) {
		w->window.since = since;
		w->window.ready = ready;
		blocked = wall_of(&head);
		head = (struct cpa_elapsed){ .external = blocked };
	} else if (w->window.meets == CPA_MEETS_EVENT && left) {
		limit(&head, w->self.row);
	}
	w->window.meets = CPA_MEETS_EVENT;
	head.external -= blocked;
	begin(w, epoch, since);
	w->self.row->path.observed[CPA_TIME_EXTERNAL] += blocked;
	cpa_diag_add(CPA_DIAG_PART_BLOCKED_TICKS, blocked);
	cpa_event_cut(w, CPA_EV_RESTART, &head, kind, now);
	w->window.head = head.process;
	w->window.met = w->self.row->path.released;
}

/* Count a thread that comes so late that the end of the part of epoch @met is no longer kept. */
static void note_forgotten(uint64_t met)
{
	if (unlikely(cpa_epoch(cpa_header()) - met >= CPA_BORDERS - 1))
		cpa_diag(CPA_DIAG_PART_FORGOTTEN);
}

bool cpa_window_meet(struct cpa_worker *w)
{
	uint64_t epoch = cpa_epoch(cpa_header()), from = w->clock.last, now;
	uint64_t met = w->window.epoch ? w->window.epoch : epoch;
	bool left = !w->window.epoch, in;
	struct cpa_elapsed e;

	if (epoch == w->window.epoch)
		return true;
	/*
	 * Not in a wait, nor in a signal handler that interrupted code of
	 * preload/core/instrument.c.
	 */
	if (w->between || w->light)
		return false;
	now = cpa_checkpoint(&w->self, cpa_clock_stamp(&w->clock, &e));
	if (!left)
		end_activity(w, epoch, from, &e);
	in = cpa_epoch_is_on(epoch) && cpa_part_open(&w->self, epoch);
	if (in)
		begin_activity(w, epoch, &e, now, left);
	else
		cpa_tls.off = stop_before(epoch);
	w->self.row->off += e.process;
	note_forgotten(met);
	if (in)
		cpa_track_probe(w);
	return in;
}

static void count_wait(struct cpa_worker *w, const struct cpa_elapsed *e)
{
	w->self.row->wait += wall_of(e);
	w->self.row->wait_cpu += cpa_clock_wait_cpu(&w->clock, e);
}

uint64_t cpa_window_crossed(struct cpa_worker *w, struct cpa_elapsed *e, uint64_t *arrived,
			    uint64_t now)
{
	sigset_t held = cpa_signal_hold(); /* for the reason given in cpa_enter_slow() */
	const struct cpa_header *h = cpa_header();
	uint64_t epoch = cpa_epoch(h), from = now - wall_of(e), begun = cpa_epoch_begun(h, epoch);
	/* Only the latest CPA_BORDERS changes are kept. */
	uint64_t met = w->window.epoch,
		 end = epoch - met < CPA_BORDERS - 2 ? cpa_epoch_begun(h, met + 1) : 0;
	struct cpa_elapsed part = cut(e, time_in(epoch, from));
	uint64_t before = cpa_epoch_on(h, *arrived), on = cpa_epoch_on(h, now);

	now = cpa_checkpoint(&w->self, now);
	count_wait(w, &part);
	/*
	 * The release may have been made while profiling was off: the wait does not count as
	 * unexplained.
	 */
	w->wait.length = 0;
	w->wait.runqueue = 0;
	/* A thread that waits when a part ends: its path ends where it arrived. */
	if (cpa_epoch_is_on(epoch))
		leave(w, epoch, end_of(w, epoch));
	if (cpa_epoch_is_on(epoch) && cpa_part_open(&w->self, epoch)) {
		/* It arrives in this part if its event was late: cpa_window_late(). */
		*arrived = *arrived > begun ? *arrived : begun;
		part = cut(e, now > *arrived ? now - *arrived : 0);
		count_wait(w, &part);
		begin(w, epoch, *arrived);
		end = now;
	} else {
		w->window.arrived = *arrived;
	}
	w->self.row->off += e->process;
	note_forgotten(met);
	end = end > *arrived ? end : *arrived;
	before += end - *arrived;
	w->wait.others = on > before ? on - before : 0;
	cpa_signal_let(&held);
	return end;
}

void cpa_window_jump(uint64_t target)
{
	struct cpa_worker *w = cpa_tls.worker;

	cpa_tls.spins = false;
	if (unlikely(*cpa_alive && w && w->between && !cpa_tls.inside) &&
	    cpa_signal_leaves(w->between, target))
		w->between = 0;
}

struct cpa_worker *cpa_enter_slow(struct cpa_worker *w)
{
	uint64_t epoch = cpa_epoch(cpa_header());
	sigset_t before;
	int err;

	if (!w && !cpa_epoch_is_on(epoch))
		cpa_tls.off = epoch;
	if (cpa_tls.off == epoch || (!w && cpa_tls.left))
		return NULL;
	err = errno;
	cpa_reenter();
	if (!cpa_signal_has_room(ROOM)) { /* a later call meets the border */
		cpa_tls.inside = false;
		errno = err;
		return NULL;
	}
	/* Signals are held: this allocates, and a signal handler must not jump out of it. */
	before = cpa_signal_hold();
	if (!w)
		w = cpa_worker_attach(0, 0, &before);
	if (w && !cpa_window_meet(w))
		w = NULL;
	cpa_signal_let(&before);
	if (!w)
		cpa_tls.inside = false;
	errno = err;
	return w;
}

struct cpa_worker *cpa_enter_as(enum cpa_meets meets)
{
	struct cpa_worker *w;

	if (cpa_tls.worker)
		cpa_tls.worker->window.meets = meets;
	w = cpa_enter();
	if (cpa_tls.worker)
		cpa_tls.worker->window.meets = CPA_MEETS_EVENT;
	return w;
}

struct cpa_worker *cpa_enter_from(enum cpa_external kind)
{
	struct cpa_worker *w = cpa_tls.worker, *entered;

	w->window.kind = (uint8_t)kind;
	entered = cpa_enter();
	w->window.kind = CPA_EXT_OTHER;
	return entered;
}

struct cpa_worker *cpa_enter_known(void)
{
	struct cpa_worker *w = cpa_enter();

	if (likely(w) || !*cpa_alive || cpa_tls.inside)
		return w;
	if (cpa_tls.worker)
		cpa_reenter();
	return cpa_tls.worker;
}

struct cpa_worker *cpa_enter_any_slow(void)
{
	struct cpa_worker *w = cpa_enter_known();
	int err = errno;
	sigset_t before;

	if (likely(w) || !*cpa_alive || cpa_tls.inside || cpa_tls.left)
		return w;
	cpa_reenter();
	before = cpa_signal_hold(); /* for the reason given in cpa_enter_slow() */
	w = cpa_worker_attach(0, 0, &before);
	cpa_signal_let(&before);
	if (!w)
		cpa_tls.inside = false;
	errno = err;
	return w;
}

static bool calls_kernel(uint64_t address)
{
	return cpa_stack_is_readable(address) &&
	       cpa_arch_is_behind_kernel_call(address + CPA_ARCH_KERNEL_CALL);
}

/*
 * Whether @context is in our code, or where the kernel has just returned from a call, or in front of a call: one
 * that the signal interrupted and the kernel begins again (SA_RESTART).
 */
static bool is_in_call(const void *context)
{
	uint64_t pc = cpa_arch_program_counter(context);

	return cpa_function_is_ours(pc) || calls_kernel(pc - CPA_ARCH_KERNEL_CALL) ||
	       calls_kernel(pc);
}

/*
 * Whether a sample in @context, of a thread that is in no part or has not met the present one, may be of work. Not so
 * in a wait that began while profiling was off: the thread spins, or the signal came as the kernel woke it, and
 * the wrapper that called it is not back yet. A handler of the program may begin before ours, if it is its signal
 * that ended the wait. Where that was no wait, a later sample will tell.
 */
static bool may_be_work(const void *context)
{
	if (cpa_tls.spins)
		return false;
	for (unsigned i = 0; context && i <= NESTED; i++) {
		if (is_in_call(context))
			return false;
		context = cpa_signal_interrupted(context);
	}
	return true;
}

void cpa_window_sampled(struct cpa_worker *w, const void *context)
{
	if (cpa_is_off())
		w->window.off_cpu_ns = cpa_machine_ns(CLOCK_THREAD_CPUTIME_ID);
	else if (may_be_work(context) && cpa_enter_as(CPA_MEETS_SAMPLE))
		cpa_leave();
}

void cpa_window_start(void)
{
	int err = errno;

	if (!*cpa_alive)
		return;
	cpa_epoch_change(cpa_header(), true, cpa_clock_now());
	if (cpa_enter())
		cpa_leave();
	errno = err;
}

void cpa_window_stop(uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	uint64_t now, at;

	if (!w && *cpa_alive)
		cpa_epoch_change(cpa_header(), false, cpa_clock_now());
	if (!w)
		return;
	now = cpa_event(w, CPA_EV_STOP, caller, 0);
	at = cpa_epoch_change(cpa_header(), false, now);
	if (at) {
		leave(w, w->window.epoch + 1, at + 1);
		w->between = 0;
		cpa_leave();
	} else { /* another thread has stopped profiling already */
		cpa_done(w);
	}
	errno = err;
}
