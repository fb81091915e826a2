/* SPDX-License-Identifier: MIT */
#include "preload/core/callers.h"

#include "preload/core/dlopen.h"
#include "preload/core/function.h"
#include "preload/libc/confined.h"
#include "preload/libc/pool.h"
#include "preload/unwind/walk.h"

#define SITES 256u /* functions that a thread remembers */

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
	/* What can be read is asked of the kernel, which a filter may forbid. */
	on = wanted && !cpa_start().confined;
}

bool cpa_callers_on(void)
{
	return on;
}

struct cpa_callers *cpa_callers_begin(void)
{
	struct cpa_callers *c = on ? cpa_pool_take(CPA_POOL_CALLERS, sizeof(*c)) : NULL;

	if (c)
		cpa_stack_begin(&c->walk.bounds);
	return c;
}

void cpa_callers_end(struct cpa_callers *c)
{
	if (c)
		cpa_pool_give(CPA_POOL_CALLERS, c);
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

void cpa_callers_take(struct cpa_callers *c, struct cpa_stacks *stacks, const void *context,
		      uint64_t ticks)
{
	struct cpa_registers r = { .known = (1u << CPA_ARCH_REGISTERS) - 1 };
	uint32_t node;

	if (!c || cpa_function_is_ours(cpa_arch_program_counter(context)) || !cpa_dlopen_hold())
		return;
	if (cpa_dlopen_changed(&c->loads)) {
		cpa_walk_forget(&c->walk);
		memset(c->site, 0, sizeof(c->site));
	}
	cpa_arch_registers(context, r.value);
	cpa_walk_from(&c->walk, &r);
	node = context_of(c);
	cpa_dlopen_let();
	if (node)
		cpa_stacks_add(stacks, node, ticks);
	else
		cpa_diag(CPA_DIAG_STACKS_REFUSED);
}
