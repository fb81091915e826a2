/* SPDX-License-Identifier: MIT */
#include "shadow/graph/call.h"

#include <string.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/component.h"
#include "shadow/store/heap.h"
#include "shadow/graph/mix.h"

#define FIRST_CALLS	64u
#define FIRST_FUNCTIONS 64u
#define MOST_FUNCTIONS	(1u << 16)
#define SAMPLE		(1u << 16) /* ticks that weigh as much as one sample */
#define SEARCH		256u	   /* calls to search for the caller of a new one */

struct cpa_calls *cpa_calls_new(void)
{
	struct cpa_calls *c = cpa_heap_alloc(sizeof(*c));

	if (!c)
		return NULL;
	c->stack = cpa_heap_alloc(FIRST_CALLS * sizeof(*c->stack));
	c->function = cpa_heap_alloc(FIRST_FUNCTIONS * sizeof(*c->function));
	c->index = cpa_heap_alloc(2 * FIRST_FUNCTIONS * sizeof(*c->index));
	if (!c->stack || !c->function || !c->index) {
		cpa_calls_free(c);
		return NULL;
	}
	c->room = FIRST_CALLS;
	c->function_room = FIRST_FUNCTIONS;
	c->function_count = CPA_CALL_UNNAMED + 1;
	c->function[CPA_CALL_UNNAMED].slot = CPA_SLOT_UNSAMPLED;
	c->reports = CPA_CALL_END;
	c->outermost = CPA_CALL_END;
	return c;
}

void cpa_calls_free(struct cpa_calls *c)
{
	cpa_heap_free(c->stack);
	cpa_heap_free(c->function);
	cpa_heap_free(c->index);
	cpa_heap_free(c);
}

static void enter_index(struct cpa_calls *c, uint32_t number)
{
	uint32_t at = cpa_calls_hash(c, c->function[number].address);

	while (c->index[at])
		at = (at + 1) & (2 * c->function_room - 1);
	c->index[at] = number;
}

static bool grow_functions(struct cpa_calls *c)
{
	uint32_t room = 2 * c->function_room;
	struct cpa_call_function *function;
	uint32_t *index;

	if (room > MOST_FUNCTIONS)
		return false;
	function = cpa_heap_alloc(room * sizeof(*function));
	index = cpa_heap_alloc(2 * room * sizeof(*index));
	if (!function || !index) {
		cpa_heap_free(function);
		cpa_heap_free(index);
		return false;
	}
	memcpy(function, c->function, c->function_count * sizeof(*function));
	cpa_heap_free(c->function);
	cpa_heap_free(c->index);
	c->function = function;
	c->index = index;
	c->function_room = room;
	for (uint32_t i = CPA_CALL_UNNAMED + 1; i < c->function_count; i++)
		enter_index(c, i);
	return true;
}

static void look_up(struct cpa_calls *c, struct cpa_call_function *f)
{
	f->slot = f->row ? cpa_component_slot(f->row) : (uint32_t)CPA_SLOT_UNSAMPLED;
	if (f->row)
		c->slots[f->slot / 64 % CPA_CALL_SLOT_WORDS] |= UINT64_C(1) << f->slot % 64;
	f->whole_slot = cpa_component_slot(f->whole_row);
}

void cpa_calls_follow(struct cpa_calls *c)
{
	memset(c->slots, 0, sizeof(c->slots));
	for (uint32_t i = CPA_CALL_UNNAMED; i < c->function_count; i++)
		look_up(c, &c->function[i]);
}

uint32_t cpa_calls_add(struct cpa_calls *c, uint64_t address, uint32_t row, uint32_t whole_row)
{
	struct cpa_call_function *f;

	if (c->function_count == c->function_room && !grow_functions(c))
		return CPA_CALL_UNNAMED;
	f = &c->function[c->function_count];
	f->address = address;
	f->row = row;
	f->whole_row = whole_row;
	look_up(c, f);
	enter_index(c, c->function_count);
	return c->function_count++;
}

bool cpa_calls_grow(struct cpa_calls *c)
{
	struct cpa_call *stack;

	if (c->room == CPA_CALLS_MOST)
		return false;
	stack = cpa_heap_alloc(2 * c->room * sizeof(*stack));
	if (!stack)
		return false;
	memcpy(stack, c->stack, c->depth * sizeof(*stack));
	cpa_heap_free(c->stack);
	c->stack = stack;
	c->room *= 2;
	return true;
}

static void pop_to(struct cpa_calls *c, uint32_t depth)
{
	if (c->depth > depth)
		c->beyond = 0;
	while (c->depth > depth)
		cpa_calls_pop(c);
}

bool cpa_calls_leave_outer(struct cpa_calls *c, uint32_t number)
{
	if (!c->function[number].active)
		return false;
	while (c->stack[c->depth - 1].function != number)
		cpa_calls_pop(c);
	cpa_calls_pop(c);
	return true;
}

/*
 * @caller is making a call, so its earlier callees have ended: remove them. Return whether there
 * were any.
 */
static bool back_in(struct cpa_calls *c, uint32_t caller)
{
	uint32_t stop = c->depth > SEARCH ? c->depth - SEARCH : 0, at = c->depth;

	while (at > stop && c->stack[at - 1].function != caller)
		at--;
	if (at == stop)
		return false;
	/* Functions inlined into it have not ended. */
	while (at < c->depth && c->stack[at].site == c->stack[at - 1].site)
		at++;
	if (at == c->depth)
		return false;
	pop_to(c, at);
	return true;
}

/*
 * Return whether @earlier, which is on the stack when @call begins above it, has ended: its frame
 * is in use by others. Not if @call was inlined into it, unless the same code began @earlier.
 */
static bool is_over(const struct cpa_call *earlier, const struct cpa_call *call)
{
	return earlier->frame < call->frame ||
	       (earlier->frame == call->frame &&
		(earlier->site != call->site || earlier->pc == call->pc));
}

bool cpa_calls_check(struct cpa_calls *c, const struct cpa_call *call, uint32_t caller)
{
	const struct cpa_call *top = &c->stack[c->depth - 1];
	uint32_t depth = c->depth;

	/* Same site: inlined, below the local variables of the function around it. */
	if (call->frame < top->frame)
		return caller && caller != top->function && call->site != top->site &&
		       back_in(c, caller);
	/* Above all known frames: a signal handler or a coroutine on a stack of its own. */
	if (call->frame > c->stack[0].frame)
		return false;
	while (depth && is_over(&c->stack[depth - 1], call))
		depth--;
	if (depth == c->depth)
		return false;
	pop_to(c, depth);
	return true;
}

/*
 * Return the depth at which the newest machine stack of the calls begins; addresses fall along each
 * stack.
 */
static uint32_t newest_stack(const struct cpa_calls *c)
{
	uint32_t at = c->depth - 1;

	while (c->stack[at].frame <= c->stack[at - 1].frame)
		at--;
	return at;
}

void cpa_calls_jump(struct cpa_calls *c, uint64_t from, uint64_t to)
{
	uint32_t depth;

	/* Out of a handler with a stack of its own: all its calls have ended. */
	while (unlikely(c->folds)) {
		depth = newest_stack(c);
		if (from <= to && to <= c->stack[depth].frame)
			break;
		pop_to(c, depth);
		from = 0;
	}
	for (depth = c->depth; depth && c->stack[depth - 1].frame < to;)
		depth--;
	pop_to(c, depth);
}

void cpa_calls_mend(struct cpa_calls *c)
{
	c->reports = CPA_CALL_END;
	c->outermost = CPA_CALL_END;
	c->folds = 0;
	for (uint32_t i = 1; i < c->function_count; i++) {
		struct cpa_call_function *f = &c->function[i];

		if (!f->active)
			f->since = c->time;
		f->active = 0;
		f->next = 0;
		if (f->own || f->calls || f->inclusive || f->whole.process || f->whole.external)
			cpa_calls_touch(c, i);
	}
	for (uint32_t i = 0; i < c->depth; i++) {
		struct cpa_call_function *f = &c->function[c->stack[i].function];

		c->folds += i && c->stack[i].frame > c->stack[i - 1].frame;
		if (f->active++)
			continue;
		f->below = c->outermost;
		c->outermost = c->stack[i].function;
	}
}

void cpa_calls_publish(struct cpa_calls *c)
{
	for (uint32_t i = c->outermost; i != CPA_CALL_END; i = c->function[i].below) {
		cpa_calls_catch_up(c, &c->function[i]);
		cpa_calls_touch(c, i);
	}
	for (uint32_t i = c->reports; i != CPA_CALL_END; i = c->function[i].next) {
		struct cpa_call_function *f = &c->function[i];
		struct cpa_component *row = f->row ? cpa_component(f->row) : NULL;
		uint64_t calls, inclusive;

		if (!row)
			continue;
		calls = f->calls;
		inclusive = f->inclusive;
		f->calls = 0;
		f->inclusive = 0;
		/* if abandoned here, nothing is counted twice */
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		/* Relaxed: sums; nothing depends on their order. */
		__atomic_fetch_add(&row->calls, calls, __ATOMIC_RELAXED);
		__atomic_fetch_add(&row->inclusive, inclusive, __ATOMIC_RELAXED);
	}
}

/* Count @f as a function of the activity, as if it had been sampled. */
static void learn(const struct cpa_call_function *f, struct cpa_edge_cache *cache)
{
	struct cpa_edge *edge = cpa_row(CPA_TABLE_EDGES, cache->edge);
	uint64_t weight = 1 + f->own / SAMPLE;
	uint32_t n = weight < CPA_MIX_FORGET ? (uint32_t)weight : (uint32_t)CPA_MIX_FORGET;
	uint32_t id = f->row ? cpa_function_id(f->row) : f->slot;

	cpa_mix_add(cache->mix, id, n, 0);
	cpa_mix_add(edge->mix, id, n, 0);
}

uint64_t cpa_calls_charge(struct cpa_self *self, struct cpa_calls *c, struct cpa_edge_cache *cache)
{
	uint64_t other = c->other;
	uint32_t next;

	cpa_calls_publish(c);
	for (uint32_t i = c->reports; i != CPA_CALL_END; i = next) {
		struct cpa_call_function *f = &c->function[i];

		if (cache && f->own)
			learn(f, cache);
		cpa_activity_charge(self, f->slot, f->own, f->own);
		cpa_activity_charge(self, f->whole_slot, f->whole.process + f->whole.external,
				    f->whole.process);
		f->own = 0;
		f->whole = (struct cpa_call_time){ 0 };
		next = f->next;
		f->next = 0;
	}
	c->reports = CPA_CALL_END;
	c->other = 0;
	return other;
}
