/* SPDX-License-Identifier: MIT */
#include "preload/core/instrument.h"

#include <errno.h>

#include "preload/core/function.h"
#include "preload/libc/real.h"
#include "preload/core/signal.h"
#include "shadow/graph/call.h"
#include "shadow/store/epoch.h"
#include "shadow/store/hash.h"

#define COLD	      __attribute__((noinline, cold))
#define MEASURE_CALLS 32
#define MEASURE_TRIES 16

/* Ticks that begin or end of a call takes, 0: not measured yet. */
static uint64_t cost;

CPA_EXPORT void __cyg_profile_func_enter(void *function, void *site);
CPA_EXPORT void __cyg_profile_func_exit(void *function, void *site);

/* The time @e went by; what we took of it ourselves is probe time. */
static inline void pass(struct cpa_calls *c, const struct cpa_elapsed *e)
{
	uint64_t probe = e->process < c->unpaid ? e->process : c->unpaid;

	c->probe += probe;
	c->runqueue += e->runqueue;
	cpa_calls_pass(c, e->process - probe, e->external);
}

/* A call begins or ends: stamp, unless the thread waits, in which time does not count. */
static inline void stamp(struct cpa_worker *w, struct cpa_calls *c)
{
	struct cpa_elapsed e;
	uint64_t rebased = w->clock.rebased;

	if (unlikely(w->between))
		return;
	cpa_clock_stamp(&w->clock, &e);
	pass(c, &e);
	c->unpaid = __atomic_load_n(&cost, __ATOMIC_RELAXED);
	/* Every few milliseconds; a process that is killed then shows nearly all calls. */
	if (unlikely(w->clock.rebased != rebased))
		cpa_calls_publish(c);
}

/* What was done since the last stamp was ours and took long. */
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

/* Samples tell of the time outside of instrumented functions. */
static inline void leave(struct cpa_worker *w, const struct cpa_calls *c)
{
	if (unlikely(w->sampler.paused != (c->depth > 0)))
		cpa_sampler_pause(&w->sampler, c->depth > 0);
	cpa_leave();
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* see enter() */
	w->light = 0;
}

/*
 * The part of the run has ended, or profiling was switched off, just now. @entered: and a handler
 * has begun another one.
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

/* The worker, which then has calls. @stack: our stack pointer. */
static inline __attribute__((always_inline)) struct cpa_worker *enter(uint64_t stack)
{
	struct cpa_worker *w = cpa_tls.worker, *entered;

	if (unlikely(!*cpa_alive)) /* a child of fork must not touch its parent's profile */
		return NULL;
	if (unlikely(!w || !w->calls || cpa_window_moved(w)))
		return enter_anew(w, stack);
	/* Set before `inside` is, and cleared after it is: there is no gap, see cpa_instrument_jump(). */
	if (likely(!cpa_tls.inside))
		w->light = stack;
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* in this order for signal handlers */
	entered = cpa_enter();
	if (unlikely(!entered || !entered->calls))
		return not_entered(w, entered);
	w->light = stack; /* again: a handler's calls may have come in between, and ended */
	return entered;
}

/* Calls of nothing from @site. Through pointers: as in the program, nothing is inlined. */
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

/* What a call costs, with @c out of the way. */
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
	c->runqueue += scratch->runqueue + scratch->external;
	cpa_calls_free(scratch);
	/* Relaxed: threads that measure at once differ by noise. */
	if (!cpa_window_moved(w)) /* else it was too little */
		__atomic_store_n(&cost, best / (2 * MEASURE_CALLS), __ATOMIC_RELAXED);
}

/* The first call of a thread. Return false if there is no memory. */
static bool begin(struct cpa_worker *w)
{
	struct cpa_calls *c = cpa_calls_new();
	struct cpa_elapsed e;

	if (c && !w->between) {
		/* Nothing of ours was in the time until here. */
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

/* Whether profiling is off, which the thread, if it has a worker, knows: the usual case. */
static bool is_off(const struct cpa_worker *w)
{
	if (!w)
		return cpa_tls.left || !cpa_epoch_is_on(cpa_epoch(cpa_header()));
	return cpa_window_moved(w) && !cpa_window_begun(w);
}

/* The thread has no calls yet, or they are of a part of the run that is over. errno is kept. */
static COLD struct cpa_worker *enter_anew(struct cpa_worker *w, uint64_t stack)
{
	int err = errno;
	sigset_t before;

	/* A signal handler's: the code for calls that it interrupted still has them. */
	if (w && (w->light || (w->calls && w->calls->scratch)))
		return NULL;
	if (is_off(w))
		return NULL;
	/*
	 * Nothing tells how to mend what is left half done. That holds synchronous signals, too: a
	 * stack that overflows right here ends the process.
	 */
	before = cpa_signal_hold();
	w = cpa_enter();
	if (w && !w->calls && !begin(w)) {
		cpa_leave();
		w = NULL;
	}
	if (w) /* from here on it may be abandoned */
		w->light = stack;
	cpa_signal_let(&before);
	errno = err;
	return w;
}

static COLD uint32_t add(struct cpa_worker *w, struct cpa_calls *c, uint64_t address)
{
	int err = errno;
	sigset_t before = cpa_signal_hold(); /* as in enter_anew() */
	struct cpa_component_name name = { .kind = CPA_FUNCTION,
					   .address = address,
					   .module = cpa_module_of(address) };
	uint32_t row = cpa_component_intern(&name), number;

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
	sigset_t before = cpa_signal_hold(); /* as in enter_anew() */
	bool room = cpa_calls_grow(c);

	stamp_probe(w, c);
	cpa_signal_let(&before);
	errno = err;
	return room;
}

static COLD void learn_caller(struct cpa_worker *w, struct cpa_calls *c, unsigned at, uint64_t site)
{
	/* In this order: it may be abandoned. */
	c->caller[at].site = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	c->caller[at].start = cpa_function_start(site - 1);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	c->caller[at].site = site;
	stamp_probe(w, c);
}

/* The start of the function that @site, a return address, lies in. */
static inline uint64_t caller_start(struct cpa_worker *w, struct cpa_calls *c, uint64_t site)
{
	unsigned at = (unsigned)(cpa_hash(site) >> 56) % CPA_CALL_SITES;

	if (unlikely(c->caller[at].site != site))
		learn_caller(w, c, at, site);
	return c->caller[at].start;
}

/* See to it that calls which are over are not on the stack when @call begins. */
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
	/* The stack pointer of the function, at its call of us. */
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

/* Not the innermost function ends: the calls inside it were left in ways that we did not see. */
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
	if (unlikely(!w || !w->calls)) /* we came while it ran */
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
	else if (c->depth ||
		 w->window.epoch == CPA_EPOCH_ON) /* later it may have begun in no part */
		leave_outer(c, (uint64_t)function);
	leave(w, c);
}

void cpa_instrument_end(struct cpa_calls *c, struct cpa_span *span)
{
	struct cpa_elapsed last = { .process = span->process,
				    .external = span->external,
				    .runqueue = span->runqueue };

	span->earlier = c->external;
	pass(c, &last);
	span->process = c->process;
	span->external = c->external;
	span->runqueue = c->runqueue;
	span->probe = c->probe;
	c->process = 0;
	c->external = 0;
	c->runqueue = 0;
	c->probe = 0;
	c->unpaid = 0;
}

/*
 * The handler of a signal that interrupted our code for calls jumps out of it, to @stack: without
 * this the thread would count as inside for ever.
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
		if (abandoned) { /* at its door */
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
