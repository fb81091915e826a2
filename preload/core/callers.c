/* SPDX-License-Identifier: MIT */
#include "preload/core/callers.h"

#include <errno.h>

#include "preload/clock/clock.h"
#include "preload/core/dlopen.h"
#include "preload/core/unload.h"
#include "preload/core/function.h"
#include "preload/core/guard.h"
#include "preload/libc/confined.h"
#include "preload/libc/pool.h"
#include "preload/libc/signal_mask.h"
#include "preload/unwind/walk.h"
#include "shadow/graph/component.h"

#define SITES	   256u	   /* functions that a thread remembers */
#define MOST_SITES 131072u /* sites of a session from which on stacks have no line */
#define SHARE	   384u	   /* stacks may take this part of a thread's CPU time, */
#define WAITS	   768u	   /* and those of its waits this one, */
#define FREE_NS	   200000u /* after this much */
#define APART_NS   10000u  /* from one stack of waits to the next, when they cost too much */
#define MOST_NS	   100000u /* a stack that takes longer has lost its processor meanwhile */

struct cpa_callers {
	struct cpa_walk walk;
	uint32_t loads; /* generation of what is remembered: preload/core/dlopen.h */
	struct {
		uint64_t function;
		uint32_t site; /* 0: one of cpa, which is left out */
	} site[SITES];
};

static bool on; /* written before there are other threads */

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

void cpa_callers_begin(struct cpa_callers_of *own)
{
	own->stack = cpa_stack_own(cpa_tls.stack);
}

void cpa_callers_end(struct cpa_callers_of *own)
{
	if (own->memory)
		cpa_pool_give(CPA_POOL_CALLERS, own->memory);
	own->memory = NULL;
}

static uint32_t site_of(struct cpa_callers *c, uint64_t function)
{
	unsigned at = (unsigned)(function >> 4) % SITES;

	if (c->site[at].function != function) {
		c->site[at].site = cpa_function_is_ours(function) ? 0 : cpa_function_site(function);
		c->site[at].function = function;
	}
	return c->site[at].site;
}

/*
 * The context of the walk, from the thread's start inwards. 0: no space. A function that calls itself
 * counts once, whatever the depth.
 */
static uint32_t context_of(struct cpa_callers *c)
{
	uint32_t context = 0, site, before = 0;

	if (!c->walk.complete) {
		cpa_diag(CPA_DIAG_STACKS_CUT);
		context = cpa_context_cut();
	}
	for (uint32_t i = c->walk.frames; i-- > 0;) {
		site = site_of(c, c->walk.function[i]);
		if (!site || site == before)
			continue;
		before = site;
		context = cpa_context(context, site);
		if (!context)
			return 0;
	}
	return context;
}

/* The memory of the thread, which it gets at its first stack: most threads are short. */
static struct cpa_callers *memory_of(struct cpa_callers_of *own)
{
	if (unlikely(!own->memory))
		own->memory = cpa_pool_take(CPA_POOL_CALLERS, sizeof(*own->memory));
	return own->memory;
}

/* The row of the site of the interrupted instruction; 0: there are many sites already. */
static uint32_t site_of_instruction(uint64_t pc)
{
	/* Relaxed: a limit. */
	if (__atomic_load_n(&cpa_table(CPA_TABLE_SITES)->used, __ATOMIC_RELAXED) >= MOST_SITES)
		return 0;
	return cpa_site(pc);
}

/*
 * The context of a stack that begins with @r. 0: no space, or a library is being unloaded. If @at is
 * not NULL, store the site of its instruction there.
 */
static uint32_t walk_from(struct cpa_callers *c, struct cpa_stack_own own,
			  const struct cpa_registers *r, uint32_t *at)
{
	uint32_t context;

	if (!cpa_unload_hold())
		return 0;
	if (cpa_dlopen_changed(&c->loads)) {
		cpa_walk_forget(&c->walk);
		memset(c->site, 0, sizeof(c->site));
	}
	cpa_walk_from(&c->walk, own, r);
	context = context_of(c);
	if (context && at)
		*at = site_of_instruction(r->value[CPA_ARCH_RETURN_ADDRESS]);
	cpa_unload_let();
	return context;
}

/* As walk_from(), for any stack of the thread. *@cost: its cost is added. */
static uint32_t context_from(struct cpa_callers_of *own, const struct cpa_registers *r,
			     uint32_t *at, uint64_t *cost)
{
	uint64_t begun = cpa_clock_now(), most = cpa_clock_ticks(MOST_NS), took;
	struct cpa_callers *c = memory_of(own);
	uint32_t context = c ? walk_from(c, own->stack, r, at) : 0;

	if (!context)
		cpa_diag(CPA_DIAG_STACKS_REFUSED);
	took = cpa_clock_now() - begun;
	took = took < most ? took : most;
	cpa_diag_add(CPA_DIAG_STACK_TICKS, took);
	*cost += took;
	return context;
}

/* The stack of the code that called cpa. */
static __attribute__((noinline)) uint32_t context_here(struct cpa_callers_of *own, uint64_t *cost)
{
	struct cpa_registers r = { .known = CPA_ARCH_KEPT };
	sigset_t before = cpa_signal_hold();
	int err = errno;
	uint32_t context;

	cpa_arch_registers_here(r.value);
	context = context_from(own, &r, NULL, cost);
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

/* Whether a wait of @ticks gets a stack, which then stands for *@weight ticks of waits. */
static bool is_chosen(struct cpa_callers_of *own, uint64_t cpu, uint64_t ticks, uint64_t *weight)
{
	own->waited += ticks;
	if (own->waited < own->apart)
		return false;
	own->waited = own->apart ? own->waited % own->apart : 0;
	*weight = ticks > own->apart ? ticks : own->apart;
	if (own->wait_cost > cpa_clock_ticks(FREE_NS) + cpu / WAITS)
		own->apart = own->apart ? 2 * own->apart : cpa_clock_ticks(APART_NS);
	return true;
}

void cpa_callers_wait(struct cpa_callers_of *own, const struct cpa_self *self, uint64_t cpu,
		      uint64_t ticks)
{
	const struct cpa_node *node;
	uint32_t context;
	uint64_t weight;

	if (!on || !ticks || !self->row->node || !is_chosen(own, cpu, ticks, &weight))
		return;
	context = context_here(own, &own->wait_cost);
	if (!context)
		return;
	node = cpa_row(CPA_TABLE_NODES, self->row->node);
	cpa_context_use(context, CPA_USE_WAIT, node->class, weight);
	hold(self, context, weight);
}

void cpa_callers_first(struct cpa_callers_of *own, uint32_t class)
{
	uint32_t seen = 0, context;

	/* Relaxed: one of several threads takes the stack, and nobody reads more than the word. */
	if (!on || !class ||
	    !__atomic_compare_exchange_n(&cpa_component(class)->used, &seen, 1, false,
					 __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		return;
	context = context_here(own, &own->wait_cost);
	if (context)
		cpa_context_use(context, CPA_USE_FIRST, class, 0);
}

void cpa_callers_take(struct cpa_callers_of *own, struct cpa_stacks *stacks,
		      const struct cpa_self *self, const void *context, uint64_t ticks)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	uint32_t node, at = 0;

	if (!on || cpa_function_is_ours(cpa_arch_program_counter(context)))
		return;
	own->time += ticks;
	own->since += ticks;
	if (own->cost > own->time / SHARE)
		return;
	cpa_arch_registers(context, r.value);
	node = context_from(own, &r, &at, &own->cost);
	if (!node)
		return;
	cpa_stacks_add(stacks, node, at, own->since);
	hold(self, node, own->since);
	own->since = 0;
}
