/* SPDX-License-Identifier: MIT */
#include "preload/core/callers.h"

#include <errno.h>

#include "preload/clock/clock.h"
#include "preload/code/unload.h"
#include "preload/code/function.h"
#include "preload/core/guard.h"
#include "preload/code/places.h"
#include "preload/core/signal.h"
#include "preload/libc/confined.h"
#include "preload/libc/pool.h"
#include "preload/libc/signal_mask.h"
#include "preload/unwind/walk.h"
#include "shadow/graph/component.h"
#include "shadow/store/by.h"
#include "shadow/store/hash.h"

#define SHARE	  384u	  /* stacks may take this part of a thread's CPU time, */
#define DIVIDED	  96u	  /* or this one where functions are divided by their callers; */
#define FREE	  32u	  /* stacks of waits and first uses that a process has anyway; */
#define WAITS	  768u	  /* others may take this part of its CPU time */
#define EARN_NS	  100000u /* CPU time of a thread from which on that part is added */
#define UNUSED_NS 200000u /* of what may be taken, from which on there are more stacks */
#define APART_NS  10000u  /* waited, from one stack to the next, when they take too much */
#define MOST_NS	  100000u /* a stack that takes longer has lost its processor meanwhile */

/* Memory of a walk. */
struct cpa_callers {
	struct cpa_walk walk;
	uint32_t loads; /* cpa_unloads for which what is remembered holds */
	struct cpa_places places;
};

/* What a walk finds of the interrupted instruction. */
struct instruction {
	uint32_t site;
	uint32_t part; /* id of its function, as part of it is called by `by` callers; 0: not known */
	bool busy;     /* no walk: another thread takes memory for one just now */
};

/* Written before there are other threads. */
static bool on;
static uint32_t by; /* callers by which functions are divided; 0: they are whole */

/* Atomic, all: of the process's stacks of waits and first uses. */
static uint64_t apart __attribute__((aligned(CPA_CACHE_LINE))); /* ticks waited; 0: each has one */
static int64_t left __attribute__((aligned(CPA_CACHE_LINE)));	/* ticks that they may still take */
static uint32_t taken;						/* how many, up to FREE or so */

void cpa_callers_init(bool wanted)
{
	on = wanted;
	/* A filter may end the process for an unusual system call. */
	cpa_stack_init(!cpa_start().confined);
}

bool cpa_callers_on(void)
{
	return on;
}

void cpa_callers_divide_by(uint32_t callers)
{
	on = on || callers;
	by = callers < CPA_BY_MOST ? callers : CPA_BY_MOST;
}

bool cpa_callers_divide(void)
{
	return by;
}

void cpa_callers_begin(struct cpa_callers_of *own)
{
	*own = (struct cpa_callers_of){ .stack = cpa_stack_own(cpa_tls.stack) };
}

/*
 * The context of the walk, from the thread's start inwards. 0: no space. A function that calls itself
 * counts once, whatever the depth: with its call of another one.
 */
static uint32_t context_of(struct cpa_callers *c)
{
	struct cpa_place place, last = { 0 };
	uint32_t context = 0;

	if (!c->walk.complete) {
		cpa_diag(CPA_DIAG_STACKS_CUT);
		context = cpa_context_cut();
	}
	for (uint32_t i = c->walk.frames; i-- > 0;) {
		place = *cpa_place_of(&c->places, &c->walk.frame[i]);
		if (!place.function)
			continue;
		if (last.function && last.function != place.function) {
			context = cpa_context(context, last.site);
			if (!context)
				return 0;
		}
		last = place;
	}
	return last.function ? cpa_context(context, last.site) : context;
}

/*
 * The id of the part of the function at @pc that its innermost callers on the walk call. A function that
 * calls itself is one caller. 0: none of them is known, or no space.
 */
static uint32_t part_of(struct cpa_callers *c, uint64_t pc)
{
	uint32_t chain[CPA_BY_MOST + 1], n = 0, context;

	for (uint32_t i = 0; i < c->walk.frames && n <= by; i++) {
		uint32_t function = cpa_place_of(&c->places, &c->walk.frame[i])->function;

		if (function && (!n || chain[n - 1] != function))
			chain[n++] = function;
		if (!n)
			return 0;
	}
	if (!n || (n == 1 && !c->walk.complete))
		return 0;
	context = cpa_context_parts(n <= by && c->walk.complete);
	while (n && context)
		context = cpa_context(context, chain[--n]);
	return context ? cpa_function_called(pc, context) : 0;
}

/* The row of the site of the interrupted instruction; 0: there are many sites already. */
static uint32_t site_of_instruction(uint64_t pc)
{
	return cpa_places_have_many_sites() ? 0 : cpa_site(pc);
}

/*
 * The context of a stack that begins with @r. 0: no space, or a library is being unloaded. If @at is
 * not NULL, store there what its instruction is.
 */
static uint32_t walk_from(struct cpa_callers *c, struct cpa_stack_own own,
			  const struct cpa_registers *r, struct instruction *at)
{
	uint64_t pc = r->value[CPA_ARCH_RETURN_ADDRESS];
	uint32_t context;

	if (!cpa_unload_hold())
		return 0;
	if (cpa_unloads_changed(&c->loads)) {
		cpa_walk_forget(&c->walk);
		memset(&c->places, 0, sizeof(c->places));
	}
	cpa_walk_from(&c->walk, own, r);
	context = context_of(c);
	if (context && at) {
		at->site = site_of_instruction(pc);
		at->part = by ? part_of(c, pc) : 0;
	}
	cpa_unload_let();
	return context;
}

/*
 * As walk_from(), for any stack of the thread; not where the code runs on a small alternate stack. *@cost: its
 * cost, ticks.
 */
static uint32_t context_from(struct cpa_stack_own own, const struct cpa_registers *r,
			     struct instruction *at, uint64_t *cost)
{
	uint64_t begun = cpa_clock_now(), most = cpa_clock_ticks(MOST_NS), took;
	struct cpa_callers *c = NULL;
	uint32_t context = 0;
	bool busy = false;

	if (cpa_signal_has_room(CPA_SIGNAL_ROOM))
		c = cpa_pool_take_used(CPA_POOL_CALLERS, sizeof(*c), &busy);
	if (c) {
		context = walk_from(c, own, r, at);
		cpa_pool_give(CPA_POOL_CALLERS, c);
	}
	/* While another thread takes memory there is no stack: of samples the next one stands for it, too. */
	if (!context && !busy)
		cpa_diag(CPA_DIAG_STACKS_REFUSED);
	if (at)
		at->busy = busy;
	took = cpa_clock_now() - begun;
	*cost = took < most ? took : most;
	cpa_diag_add(CPA_DIAG_STACK_TICKS, *cost);
	return context;
}

/* A stack of a wait or first use took @ticks. */
static void pay(uint64_t ticks)
{
	/* Relaxed, all: sums and limits, which no other memory depends on. */
	int64_t now = __atomic_sub_fetch(&left, (int64_t)ticks, __ATOMIC_RELAXED);
	uint64_t wide;

	if (__atomic_load_n(&taken, __ATOMIC_RELAXED) < FREE)
		__atomic_fetch_add(&taken, 1, __ATOMIC_RELAXED);
	else if (now < 0) {
		wide = __atomic_load_n(&apart, __ATOMIC_RELAXED);
		wide = wide ? 2 * wide : cpa_clock_ticks(APART_NS);
		__atomic_store_n(&apart, wide, __ATOMIC_RELAXED);
	}
	/* What was too much is not taken from later ones, which are fewer. */
	if (now < 0)
		__atomic_fetch_sub(&left, now, __ATOMIC_RELAXED);
}

/* The thread has had @cpu ticks of CPU time: stacks of waits may take their part of it. */
static void earn(struct cpa_callers_of *own, uint64_t cpu)
{
	int64_t unused, now;
	uint64_t wide;

	if (likely(cpu < own->earned + cpa_clock_ticks(EARN_NS)))
		return;
	unused = (int64_t)cpa_clock_ticks(UNUSED_NS);
	/* Relaxed, all: sums and limits, which no other memory depends on. */
	now = __atomic_add_fetch(&left, (int64_t)((cpu - own->earned) / WAITS), __ATOMIC_RELAXED);
	own->earned = cpu;
	wide = __atomic_load_n(&apart, __ATOMIC_RELAXED);
	if (!wide || now < unused)
		return;
	wide = wide > cpa_clock_ticks(APART_NS) ? wide / 2 : 0;
	__atomic_store_n(&apart, wide, __ATOMIC_RELAXED);
	__atomic_fetch_sub(&left, unused / 2, __ATOMIC_RELAXED);
}

/* The stack of the code that called cpa. */
static __attribute__((noinline)) uint32_t context_here(const struct cpa_callers_of *own)
{
	struct cpa_registers r = { .known = CPA_ARCH_KEPT };
	int err = errno;
	uint64_t cost;
	uint32_t context;
	sigset_t before;

	if (!cpa_signal_block(&before)) /* no more system calls: the profile has ended */
		return 0;
	cpa_arch_registers_here(r.value);
	context = context_from(own->stack, &r, NULL, &cost);
	pay(cost);
	errno = err;
	cpa_signal_let(&before);
	return context;
}

bool cpa_callers_in_handler(void)
{
	struct cpa_registers r = { .known = CPA_ARCH_KEPT };
	struct cpa_stack_own own = cpa_stack_own(cpa_tls.stack);
	struct cpa_callers *c;
	sigset_t before;
	bool found = true;
	int err = errno;

	if (!cpa_stack_can(own))
		return true;
	before = cpa_signal_hold();
	c = cpa_pool_take(CPA_POOL_CALLERS, sizeof(*c));
	/* Modules on the stack are not being unloaded, but a walk that is misled may come to one that is. */
	if (c && cpa_unload_hold_in(cpa_tls.unloads)) {
		cpa_arch_registers_here(r.value);
		cpa_walk_from(&c->walk, own, &r);
		found = c->walk.in_handler;
		cpa_unload_let();
	}
	if (c)
		cpa_pool_give(CPA_POOL_CALLERS, c);
	cpa_signal_let(&before);
	errno = err;
	return found;
}

/* The thread holds locks in @context, for @ticks. */
static void hold(const struct cpa_self *self, uint32_t context, uint64_t ticks)
{
	for (uint32_t i = 0; i < self->row->held_count && i < CPA_HELD_MAX; i++)
		if (self->held_class[i])
			cpa_context_use(context, CPA_USE_HOLD, self->held_class[i], ticks);
}

static uint64_t random_below(uint64_t limit)
{
	return (uint64_t)((unsigned __int128)cpa_hash(cpa_clock_now()) * limit >> 64);
}

/* Whether a wait of @ticks gets a stack, which then stands for *@weight ticks of waits. */
static bool is_chosen(struct cpa_callers_of *own, uint64_t ticks, uint64_t *weight)
{
	/* Relaxed: a limit. */
	uint64_t wide = __atomic_load_n(&apart, __ATOMIC_RELAXED);

	if (!own->began) /* as if it had waited before: threads may have few waits each */
		own->waited = random_below(wide);
	own->began = true;
	own->waited += ticks;
	if (own->waited < wide)
		return false;
	own->waited = wide ? own->waited % wide : 0;
	*weight = ticks > wide ? ticks : wide;
	return true;
}

void cpa_callers_wait(struct cpa_callers_of *own, const struct cpa_self *self, uint64_t cpu,
		      uint64_t ticks)
{
	const struct cpa_node *node;
	uint32_t context;
	uint64_t weight;

	if (!on || !ticks || !self->row->node)
		return;
	earn(own, cpu);
	if (!is_chosen(own, ticks, &weight))
		return;
	context = context_here(own);
	if (!context)
		return;
	node = cpa_row(CPA_TABLE_NODES, self->row->node);
	cpa_context_use(context, CPA_USE_WAIT, node->class, weight);
	hold(self, context, weight);
}

void cpa_callers_first(struct cpa_callers_of *own, uint32_t class)
{
	uint32_t seen = 0, context;

	/* Relaxed, all: one of several threads takes the stack, and nobody reads more than the word. */
	if (!on || !class ||
	    !__atomic_compare_exchange_n(&cpa_component(class)->used, &seen, 1, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
	    (__atomic_load_n(&taken, __ATOMIC_RELAXED) >= FREE &&
	     __atomic_load_n(&left, __ATOMIC_RELAXED) <= 0))
		return;
	context = context_here(own);
	if (context)
		cpa_context_use(context, CPA_USE_FIRST, class, 0);
}

uint32_t cpa_callers_take(struct cpa_callers_of *own, struct cpa_stacks *stacks,
			  const struct cpa_self *self, const void *context, uint64_t ticks,
			  bool needed)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	struct instruction at = { 0 };
	uint32_t node;
	uint64_t cost;

	if (!on || cpa_function_is_ours(cpa_arch_program_counter(context)))
		return 0;
	own->time += ticks;
	own->since += ticks;
	if (own->cost > own->time / (by ? DIVIDED : SHARE) && !needed)
		return 0;
	cpa_arch_registers(context, r.value);
	node = context_from(own->stack, &r, &at, &cost);
	own->cost += cost;
	if (node) {
		cpa_stacks_add(stacks, node, at.site, own->since);
		hold(self, node, own->since);
		own->since = 0;
	}
	if (by && !at.part && !at.busy)
		return cpa_function_at(cpa_arch_program_counter(context));
	return at.part;
}
