/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/call.h - the procedures of one thread of an instrumented build
 *
 * A stack of the calls under way and the functions met so far. A call is no event of the PAG: the
 * time of the functions is summed up here, and goes to the path when the activity ends. Online CP,
 * section 2.2, has two readings of a procedure, and so have we: alone, while it is the innermost
 * call (component by address), and with all that it calls (component by call).
 *
 * Only the owner's thread uses it.
 *
 * C1  The functions with active > 0 are linked by `below` in the order of their outermost calls,
 *     which is that of the stack: both lose their newest element first.
 * C2  A function with own, whole, calls or inclusive to report is linked by `next`, once.
 * C3  Since the last event: own of all functions + other = process; no whole exceeds process +
 *     external.
 */
#ifndef CPA_SHADOW_GRAPH_CALL_H
#define CPA_SHADOW_GRAPH_CALL_H

#include "shadow/store/self.h"

#define CPA_CALL_SITES	    256u
#define CPA_CALLS_MOST	    (1u << 18) /* entries of the stack: 8 MiB of the thread's own is less */
#define CPA_CALL_SLOT_WORDS 64u
#define CPA_CALL_END	    UINT32_MAX /* of a list of functions */
#define CPA_CALL_UNNAMED    1u	       /* number that functions share which found no space */

struct cpa_call_time {
	uint64_t process, external;
};

struct cpa_call_function {
	uint64_t address;
	uint64_t calls;
	uint64_t own;	      /* process time as innermost call */
	uint32_t next, below; /* lists, see C1 and C2; next 0: not in it, CPA_CALL_END: last */
	uint32_t active;      /* its calls on the stack */
	uint32_t row;	      /* component */
	uint32_t whole_row;
	uint32_t slot, whole_slot;
	struct cpa_call_time since; /* outermost call, or last event if that is later */
	struct cpa_call_time whole; /* with what it called, up to `since` */
	uint64_t inclusive;	    /* the same, not yet in the component */
};

/* A call under way. Of addresses of code the low half. */
struct cpa_call {
	uint64_t frame; /* stack pointer when it said that it began */
	uint32_t pc;	/* where it said so */
	uint32_t site; /* where it returns to; of an inlined one: where the function around it does */
	uint32_t function;
};

struct cpa_calls {
	struct cpa_call_time time; /* of the thread, since its first call */
	/* Since the last event. */
	uint64_t process, external, runqueue, probe;
	uint64_t other;	 /* process time outside of all calls */
	uint64_t unpaid; /* probe time since the last stamp, of known length */
	bool scratch;	 /* only to measure what a call costs: nobody else is to drop it */
	struct cpa_call *stack;
	uint32_t depth, room;
	uint32_t beyond; /* calls deeper than the stack has room for */
	uint32_t folds;	 /* calls on the stack that lie on another stack than the one before */
	struct cpa_call_function *function; /* by number; 0 is none, and see CPA_CALL_UNNAMED */
	uint32_t function_count, function_room;
	uint32_t *index; /* by address: numbers, 0 is free; twice as long as function */
	uint32_t reports, outermost;
	uint64_t slots[CPA_CALL_SLOT_WORDS]; /* bitmap: slots of the functions */
	/* The function that a call site lies in, 0: none of an instrumented build. */
	struct {
		uint64_t site, start;
	} caller[CPA_CALL_SITES];
};

/* NULL: no memory. */
CPA_HIDDEN struct cpa_calls *cpa_calls_new(void);
CPA_HIDDEN void cpa_calls_free(struct cpa_calls *c);

/* The number of a new function. Component rows: alone, with what it calls; 0: none. */
CPA_HIDDEN uint32_t cpa_calls_add(struct cpa_calls *c, uint64_t address, uint32_t row,
				  uint32_t whole_row);

/* Make room for a call. Return false if there is none. */
CPA_HIDDEN bool cpa_calls_grow(struct cpa_calls *c);

/* Function @number was left, but is not the innermost one. Return false if it had not begun. */
CPA_HIDDEN bool cpa_calls_leave_outer(struct cpa_calls *c, uint32_t number);

/*
 * @call is about to begin, called from function @caller (0: not known). Calls that this shows to
 * be over are forgotten: return true if there were any. The stack is not empty.
 */
CPA_HIDDEN bool cpa_calls_check(struct cpa_calls *c, const struct cpa_call *call, uint32_t caller);

/* What changed @c was abandoned at any point: mend its lists. */
CPA_HIDDEN void cpa_calls_mend(struct cpa_calls *c);

/* The thread jumps out of a function to another one: stack pointers. */
CPA_HIDDEN void cpa_calls_jump(struct cpa_calls *c, uint64_t from, uint64_t to);

/*
 * The activity ends: its time goes to the path and to the components, its functions to those of
 * its edge in the summary (@cache, NULL: none). Return the process time that no function had.
 */
CPA_HIDDEN uint64_t cpa_calls_charge(struct cpa_self *self, struct cpa_calls *c,
				     struct cpa_edge_cache *cache);

/* Components have got other slots. */
CPA_HIDDEN void cpa_calls_follow(struct cpa_calls *c);

/* Bring the counters in the components up to date. */
CPA_HIDDEN void cpa_calls_publish(struct cpa_calls *c);

/* Whether the time of @slot is known by calls. */
static inline bool cpa_calls_know(const struct cpa_calls *c, uint32_t slot)
{
	return c->slots[slot / 64 % CPA_CALL_SLOT_WORDS] >> slot % 64 & 1;
}

static inline uint32_t cpa_calls_hash(const struct cpa_calls *c, uint64_t address)
{
	return (uint32_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 32) &
	       (2 * c->function_room - 1);
}

/* The number of the function at @address, 0 if it is new. */
static inline uint32_t cpa_calls_find(const struct cpa_calls *c, uint64_t address)
{
	uint32_t at = cpa_calls_hash(c, address);

	while (c->index[at] && c->function[c->index[at]].address != address)
		at = (at + 1) & (2 * c->function_room - 1);
	return c->index[at];
}

/* Function @number has something to report. */
static inline void cpa_calls_touch(struct cpa_calls *c, uint32_t number)
{
	if (likely(c->function[number].next))
		return;
	c->function[number].next = c->reports;
	c->reports = number;
}

static inline void cpa_calls_pass(struct cpa_calls *c, uint64_t process, uint64_t external)
{
	c->time.process += process;
	c->time.external += external;
	c->process += process;
	c->external += external;
	if (likely(c->depth)) {
		uint32_t top = c->stack[c->depth - 1].function;

		c->function[top].own += process;
		cpa_calls_touch(c, top);
	} else {
		c->other += process;
	}
}

/* @call begins; there is room for it. */
static inline void cpa_calls_push(struct cpa_calls *c, const struct cpa_call *call)
{
	struct cpa_call_function *f = &c->function[call->function];

	c->folds += c->depth && call->frame > c->stack[c->depth - 1].frame;
	c->stack[c->depth++] = *call;
	f->calls++;
	cpa_calls_touch(c, call->function);
	if (!f->active) {
		f->since = c->time;
		f->below = c->outermost;
		c->outermost = call->function;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* for cpa_calls_mend(): active with `since` */
	f->active++;
}

/* @f was active since f->since. */
static inline void cpa_calls_catch_up(const struct cpa_calls *c, struct cpa_call_function *f)
{
	uint64_t process = c->time.process - f->since.process;
	uint64_t external = c->time.external - f->since.external;

	f->whole.process += process;
	f->whole.external += external;
	f->inclusive += process + external;
	f->since = c->time;
}

static inline void cpa_calls_pop(struct cpa_calls *c)
{
	const struct cpa_call *call = &c->stack[--c->depth];
	struct cpa_call_function *f = &c->function[call->function];

	c->folds -= c->depth && call->frame > call[-1].frame;
	if (--f->active)
		return;
	cpa_calls_catch_up(c, f);
	cpa_calls_touch(c, call->function);
	c->outermost = f->below;
}

#endif
