/* SPDX-License-Identifier: MIT */
#include "preload/core/instrument.h"

#include <errno.h>

#include "preload/code/function.h"
#include "preload/code/module.h"
#include "preload/libc/real.h"
#include "preload/core/signal.h"
#include "preload/core/window.h"
#include "shadow/graph/call.h"
#include "shadow/store/epoch.h"
#include "shadow/store/hash.h"

#define COLD	      __attribute__((noinline, cold))
#define MEASURE_CALLS 32
#define MEASURE_TRIES 16

/*
 * Ticks that our code takes behind the stamp of one enter or exit. 0: not measured yet. Relaxed
 * atomic.
 */
static uint64_t cost;

CPA_EXPORT void __cyg_profile_func_enter(void *function, void *site);
CPA_EXPORT void __cyg_profile_func_exit(void *function, void *site);

/*
 * Add the times @e to the innermost function. Up to c->unpaid ticks of it are our own: probe time.
 */
static inline void pass(struct cpa_calls *c, const struct cpa_elapsed *e)
{
	uint64_t probe = e->process < c->unpaid ? e->process : c->unpaid;

	c->probe += probe;
	c->runqueue += e->runqueue;
	if (unlikely(e->external && !e->device)) {
		c->idle += e->external;
		cpa_calls_pass(c, e->process - probe, 0);
		return;
	}
	cpa_calls_pass(c, e->process - probe, e->external);
}

/*
 * pass(), of a stamp for which the kernel's clock was read: the thread may have been switched out. Publish
 * then, every few milliseconds, so that a process that is killed still shows nearly all calls.
 */
static COLD void pass_slow(struct cpa_worker *w, struct cpa_calls *c, struct cpa_elapsed *e)
{
	if (cpa_window_moved(w)) /* since enter() */
		cpa_window_late(w, e, false, w->clock.last);
	pass(c, e);
	cpa_calls_publish(c);
}

/* A call begins or ends: take a stamp. Time in a wait is not counted here. */
static inline void stamp(struct cpa_worker *w, struct cpa_calls *c)
{
	struct cpa_elapsed e;
	uint64_t rebased = w->clock.rebased;

	if (unlikely(w->between))
		return;
	cpa_clock_stamp(&w->clock, &e);
	if (likely(w->clock.rebased == rebased))
		pass(c, &e);
	else
		pass_slow(w, c, &e);
	c->unpaid = __atomic_load_n(&cost, __ATOMIC_RELAXED);
}

/*
 * Take a stamp after a slow operation of ours: all of the time since the last stamp is probe time.
 */
static COLD void stamp_probe(struct cpa_worker *w, struct cpa_calls *c)
{
	struct cpa_elapsed e;

	if (w->between)
		return;
	cpa_clock_stamp(&w->clock, &e);
	c->probe += e.process;
	c->runqueue += e.runqueue + e.external;
	c->unpaid = __atomic_load_n(&cost, __ATOMIC_RELAXED);
}

/* Samples are taken only outside of instrumented functions: the stamps tell the rest. */
static inline void leave(struct cpa_worker *w, const struct cpa_calls *c)
{
	if (unlikely(w->sampler.paused != (c->depth > 0)))
		cpa_sampler_pause(&w->sampler, c->depth > 0);
	cpa_leave();
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* see enter() */
	w->light = 0;
}

/*
 * The part of the run has ended, or profiling was switched off, since the caller looked. @entered:
 * cpa_enter() succeeded, as a signal handler began another part.
 */
static COLD struct cpa_worker *not_entered(struct cpa_worker *w, bool entered)
{
	if (entered)
		cpa_leave();
	if (!cpa_tls.inside)
		w->light = 0;
	return NULL;
}

static struct cpa_worker *enter_anew(struct cpa_worker *w, uint64_t stack);

/*
 * Enter instrumentation code, at stack pointer @stack. Return the worker, with w->calls set, or
 * NULL: do nothing.
 */
static inline __attribute__((always_inline)) struct cpa_worker *enter(uint64_t stack)
{
	struct cpa_worker *w = cpa_tls.worker, *entered;

	if (unlikely(!*cpa_alive)) /* a child of fork must not touch its parent's profile */
		return NULL;
	if (unlikely(!w || !w->calls || cpa_window_moved(w)))
		return enter_anew(w, stack);
	/*
	 * w->light is set before `inside` and cleared after it, so cpa_instrument_jump() meets no
	 * gap.
	 */
	if (likely(!cpa_tls.inside))
		w->light = stack;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* the order that handlers must see */
	entered = cpa_enter();
	if (unlikely(!entered || !entered->calls))
		return not_entered(w, entered);
	w->light = stack; /* again: calls in a signal handler may have set and cleared it since */
	return entered;
}

/* Time MEASURE_CALLS empty calls. Through pointers: nothing may be inlined, as in the program. */
static COLD uint64_t burst(void (*volatile begins)(void *, void *),
			   void (*volatile ends)(void *, void *), void *site)
{
	uint64_t start = cpa_clock_now();

	for (int i = 0; i < MEASURE_CALLS; i++) {
		begins((void *)burst, site);
		ends((void *)burst, site);
	}
	return cpa_clock_now() - start;
}

/* Measure `cost`. The calls made for that go into a scratch stack in place of @c. */
static COLD void measure(struct cpa_worker *w, struct cpa_calls *c)
{
	struct cpa_calls *scratch = cpa_calls_new();
	void *here = (void *)measure;
	uint64_t best = UINT64_MAX;

	if (!scratch)
		return;
	cpa_calls_add(scratch, (uint64_t)measure, 0, 0);
	cpa_calls_add(scratch, (uint64_t)burst, 0, 0);
	scratch->scratch = true;
	w->calls = scratch;
	cpa_leave();
	__cyg_profile_func_enter(here, here);
	for (int i = 0; i < MEASURE_TRIES; i++) {
		uint64_t took =
			burst(__cyg_profile_func_enter, __cyg_profile_func_exit, (char *)here + 1);

		best = took < best ? took : best;
	}
	cpa_reenter();
	w->calls = c;
	c->probe += scratch->process + scratch->probe;
	c->runqueue += scratch->runqueue + scratch->external + scratch->idle;
	cpa_calls_free(scratch);
	/* Relaxed: results of threads that measure at the same time differ only by noise. */
	if (!cpa_window_moved(w)) /* else profiling stopped meanwhile: the result is too small */
		__atomic_store_n(&cost, best / (2 * MEASURE_CALLS), __ATOMIC_RELAXED);
}

/* Allocate the calls of the thread at its first call. False: no memory. */
static bool begin(struct cpa_worker *w)
{
	struct cpa_calls *c = cpa_calls_new();
	struct cpa_elapsed e;

	if (c && !w->between) {
		/* The time until here is the program's. */
		cpa_clock_stamp(&w->clock, &e);
		pass(c, &e);
		if (!__atomic_load_n(&cost, __ATOMIC_RELAXED))
			measure(w, c);
		stamp_probe(w, c);
	}
	w->calls = c;
	w->watched = c || w->self.journal;
	cpa_force_slow(w);
	return c;
}

/* enter() of a thread without calls, or with calls of a part that is over. errno is kept. */
static COLD struct cpa_worker *enter_anew(struct cpa_worker *w, uint64_t stack)
{
	int err = errno;
	sigset_t before;

	/* In a signal handler that interrupted code of this file, which still uses w->calls. */
	if (w && (w->light || (w->calls && w->calls->scratch)))
		return NULL;
	if (cpa_is_off() || (!w && cpa_tls.left))
		return NULL;
	/*
	 * Signals are held: cpa_instrument_jump() cannot repair the state in here if a handler
	 * jumps. That includes synchronous signals: a stack that overflows right here ends the
	 * process.
	 */
	before = cpa_signal_hold();
	w = cpa_enter();
	if (w && !w->calls && !begin(w)) {
		cpa_leave();
		w = NULL;
	}
	if (w) /* from here on a jump may abandon this code */
		w->light = stack;
	cpa_signal_let(&before);
	errno = err;
	return w;
}

static COLD uint32_t add(struct cpa_worker *w, struct cpa_calls *c, uint64_t address)
{
	int err = errno;
	sigset_t before = cpa_signal_hold(); /* for the reason given in enter_anew() */
	struct cpa_component_name name = { .kind = CPA_FUNCTION, .address = address };
	uint32_t row, number;

	name.module = cpa_module_place(&name.address);
	row = cpa_component_intern(&name);
	name.by = CPA_BY_CALL;
	number = cpa_calls_add(c, address, row, cpa_component_intern(&name));
	stamp_probe(w, c);
	cpa_signal_let(&before);
	errno = err;
	return number;
}

static COLD bool grow(struct cpa_worker *w, struct cpa_calls *c)
{
	int err = errno;
	sigset_t before = cpa_signal_hold(); /* for the reason given in enter_anew() */
	bool room = cpa_calls_grow(c);

	stamp_probe(w, c);
	cpa_signal_let(&before);
	errno = err;
	return room;
}

static COLD void learn_caller(struct cpa_worker *w, struct cpa_calls *c, unsigned at, uint64_t site)
{
	/* In this order, because a jump may abandon this code at any point. */
	c->caller[at].site = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	c->caller[at].start = cpa_function_start(site - 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	c->caller[at].site = site;
	stamp_probe(w, c);
}

/* Address of the function that contains the return address @site. */
static inline uint64_t caller_start(struct cpa_worker *w, struct cpa_calls *c, uint64_t site)
{
	unsigned at = (unsigned)(cpa_hash(site) >> 56) % CPA_CALL_SITES;

	if (unlikely(c->caller[at].site != site))
		learn_caller(w, c, at, site);
	return c->caller[at].start;
}

/*
 * Remove from the stack the calls that ended unseen, by an exception or a jump, before @call
 * begins.
 */
static inline void check(struct cpa_worker *w, struct cpa_calls *c, const struct cpa_call *call,
			 uint64_t site)
{
	const struct cpa_call *top = &c->stack[c->depth - 1];
	uint64_t caller = caller_start(w, c, site);

	if (likely(call->frame < top->frame && caller == c->function[top->function].address))
		return;
	if (cpa_calls_check(c, call, cpa_calls_find(c, caller)))
		cpa_diag(CPA_DIAG_CALLS_UNBALANCED);
}

CPA_EXPORT void __cyg_profile_func_enter(void *function, void *site)
{
	/* The frame is the stack pointer of the instrumented function where it calls us. */
	struct cpa_call call = { .frame = (uint64_t)__builtin_frame_address(0) + 16 };
	struct cpa_worker *w = enter(call.frame);
	struct cpa_calls *c;

	if (unlikely(!w))
		return;
	c = w->calls;
	stamp(w, c);
	call.pc = (uint32_t)(uint64_t)__builtin_return_address(0);
	call.site = (uint32_t)(uint64_t)site;
	call.function = cpa_calls_find(c, (uint64_t)function);
	if (unlikely(!call.function))
		call.function = add(w, c, (uint64_t)function);
	if (likely(c->depth))
		check(w, c, &call, (uint64_t)site);
	if (unlikely(c->depth == c->room && !grow(w, c)))
		c->beyond++;
	else
		cpa_calls_push(c, &call);
	leave(w, c);
}

/*
 * A function ends that is not the innermost one: the calls inside it were left by an exception or a
 * jump that was not seen.
 */
static COLD void leave_outer(struct cpa_calls *c, uint64_t function)
{
	uint32_t number = cpa_calls_find(c, function);

	if (number)
		cpa_calls_leave_outer(c, number);
	cpa_diag(CPA_DIAG_CALLS_UNBALANCED);
}

CPA_EXPORT void __cyg_profile_func_exit(void *function, void *site)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_calls *c;

	(void)site;
	if (unlikely(!w || !w->calls)) /* the function began before the thread had calls */
		return;
	w = enter((uint64_t)__builtin_frame_address(0));
	if (unlikely(!w))
		return;
	c = w->calls;
	stamp(w, c);
	if (unlikely(c->beyond))
		c->beyond--;
	else if (likely(c->depth &&
			c->function[c->stack[c->depth - 1].function].address == (uint64_t)function))
		cpa_calls_pop(c);
	else if (c->depth || w->window.epoch == CPA_EPOCH_ON) /* else it may have begun while off */
		leave_outer(c, (uint64_t)function);
	leave(w, c);
}

void cpa_instrument_end(struct cpa_calls *c, struct cpa_span *span)
{
	struct cpa_elapsed last = { .process = span->process,
				    .external = span->external,
				    .runqueue = span->runqueue,
				    .device = true }; /* what weighs nothing is not in it */

	span->earlier = c->external;
	pass(c, &last);
	span->process = c->process;
	span->external = c->external;
	span->earlier_idle = c->idle;
	span->idle += c->idle;
	span->runqueue = c->runqueue;
	span->probe = c->probe;
	c->process = 0;
	c->external = 0;
	c->idle = 0;
	c->runqueue = 0;
	c->probe = 0;
	c->unpaid = 0;
}

/*
 * If a signal handler that interrupted our code jumps out of it, to @stack, repair the state:
 * otherwise the thread would count as inside for ever.
 */
void cpa_instrument_jump(uint64_t stack)
{
	uint64_t here = (uint64_t)__builtin_frame_address(0);
	struct cpa_worker *w = cpa_tls.worker;
	bool abandoned;

	if (likely(!w || !*cpa_alive || !(w->calls || w->light)))
		return;
	abandoned = w->light && cpa_signal_leaves(w->light, stack);
	if (unlikely(abandoned && cpa_tls.inside && w->calls)) {
		cpa_diag(CPA_DIAG_CALLS_UNBALANCED);
		cpa_calls_mend(w->calls);
	} else {
		if (abandoned) { /* interrupted at its begin or end */
			if (cpa_tls.inside)
				cpa_leave();
			w->light = 0;
		}
		if (!w->calls || !enter(here))
			return;
	}
	stamp(w, w->calls);
	cpa_calls_jump(w->calls, here, stack);
	leave(w, w->calls);
}
