/* SPDX-License-Identifier: MIT */
#include "preload/core/callers.h"

#include "preload/core/dlopen.h"
#include "preload/core/unload.h"
#include "preload/core/function.h"
#include "preload/libc/confined.h"
#include "preload/libc/pool.h"
#include "preload/unwind/walk.h"

#define SITES	   256u	   /* functions that a thread remembers */
#define MOST_SITES 131072u /* sites of a session from which on stacks have no line */

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
	if (on) /* a filter may end the process for an unusual system call */
		cpa_stack_init(!cpa_start().confined);
}

bool cpa_callers_on(void)
{
	return on;
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
 * The context of a stack that begins with @r. 0: no space, or a library is being unloaded. Store the site of
 * its instruction, at @pc, in *@at.
 */
static uint32_t walk_from(struct cpa_callers *c, uint64_t top, const struct cpa_registers *r,
			  uint64_t pc, uint32_t *at)
{
	uint32_t context;

	if (!cpa_unload_hold())
		return 0;
	if (cpa_dlopen_changed(&c->loads)) {
		cpa_walk_forget(&c->walk);
		memset(c->site, 0, sizeof(c->site));
	}
	cpa_walk_from(&c->walk, top, r);
	context = context_of(c);
	*at = context ? site_of_instruction(pc) : 0;
	cpa_unload_let();
	return context;
}

void cpa_callers_begin(struct cpa_callers_of *own)
{
	own->top = on ? cpa_stack_top() : 0;
}

void cpa_callers_take(struct cpa_callers_of *own, struct cpa_stacks *stacks, const void *context,
		      uint64_t ticks)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	uint64_t pc = cpa_arch_program_counter(context);
	struct cpa_callers *c;
	uint32_t node, at;

	if (!on || cpa_function_is_ours(pc))
		return;
	c = memory_of(own);
	if (!c)
		return;
	cpa_arch_registers(context, r.value);
	node = walk_from(c, own->top, &r, pc, &at);
	if (node)
		cpa_stacks_add(stacks, node, at, ticks);
	else
		cpa_diag(CPA_DIAG_STACKS_REFUSED);
}
