/* SPDX-License-Identifier: MIT */
/*
 * shadow/graph/call.h - the functions that one thread calls in an instrumented build
 *
 * A stack of the calls in progress and the functions called so far. A call is no event of the PAG:
 * the functions' time is summed up here and goes to the path when the activity ends. Online CP,
 * section 2.2, defines two readings of a procedure, and cpa reports both: the function alone, while
 * it is the innermost call (component by address), and including its callees (component by call).
 *
 * Used by the owning thread only.
 *
 * C1  Functions with active > 0 are linked by `below` in the order of their outermost calls, which
 * is the order of the stack: both lists remove their newest element first.
 * C2  A function with own, whole, calls or inclusive to report is linked by `next`, once.
 * C3  Since the last event: own of all functions + other = process; no `whole` exceeds process +
 * external.
 */
#ifndef CPA_SHADOW_GRAPH_CALL_H
#define CPA_SHADOW_GRAPH_CALL_H

#include "shadow/store/hash.h"
#include "shadow/store/self.h"

#define CPA_CALL_SITES 256u
/* entries of the stack; a thread's own stack of 8 MiB holds fewer calls */
#define CPA_CALLS_MOST	    (1u << 18)
#define CPA_CALL_SLOT_WORDS 64u
#define CPA_CALL_END	    UINT32_MAX /* end of a list of functions */
#define CPA_CALL_UNNAMED    1u	       /* number shared by the functions that found no space */

struct cpa_call_time {
	uint64_t process, external;
};

struct cpa_call_function {
	uint64_t address;
	uint64_t calls;
	uint64_t own;	      /* process time as innermost call, ticks */
	uint32_t next, below; /* lists of C1 and C2; next: 0: not in the list, CPA_CALL_END: last */
	uint32_t active;      /* number of its calls on the stack */
	uint32_t row;	      /* component row */
	uint32_t whole_row;
	uint32_t slot, whole_slot;
	/* values of cpa_calls.time at its outermost call, or at the last event if that is later */
	struct cpa_call_time since;
	struct cpa_call_time whole; /* time including callees up to `since` */
	uint64_t inclusive;	    /* as `whole`, in ticks not yet added to the component */
};

/* A call in progress. Code addresses are cut to their low 32 bits. */
struct cpa_call {
	uint64_t frame; /* stack pointer at the entry hook */
	uint32_t pc;	/* address of the entry hook's call */
	uint32_t site; /* return address; for an inlined function, that of the function around it */
	uint32_t function;
};

struct cpa_calls {
	struct cpa_call_time time; /* of the thread since its first call, ticks */
	/* Sums since the last event, ticks. */
	uint64_t process, runqueue, probe;
	uint64_t external, idle; /* as in struct cpa_span */
	uint64_t other;		 /* process time outside of all calls */
	uint64_t unpaid;	 /* probe ticks of known length since the last time stamp */
	/* used only to measure the cost of a call; freed by the measuring code alone */
	bool scratch;
	struct cpa_call *stack;
	uint32_t depth, room;
	uint32_t beyond; /* number of calls too deep for the stack's room */
	/* calls on a different machine stack than the call before (signal handler, coroutine) */
	uint32_t folds;
	struct cpa_call_function *function; /* by number; 0 is no function; see CPA_CALL_UNNAMED */
	uint32_t function_count, function_room;
	/* hash table by address: function numbers, 0 is free; twice the length of `function` */
	uint32_t *index;
	uint32_t reports, outermost;
	uint64_t slots[CPA_CALL_SLOT_WORDS]; /* bitmap of the functions' slots */
	/* Function that contains a call site; 0: not in an instrumented build. */
	struct {
		uint64_t site, start;
	} caller[CPA_CALL_SITES];
};

/* Allocate the state of a thread; NULL: no memory. */
CPA_HIDDEN struct cpa_calls *cpa_calls_new(void);
CPA_HIDDEN void cpa_calls_free(struct cpa_calls *c);

/*
 * Return the number of a new function. Component rows: @row for the function alone, @whole_row
 * including callees; 0: none.
 */
CPA_HIDDEN uint32_t cpa_calls_add(struct cpa_calls *c, uint64_t address, uint32_t row,
				  uint32_t whole_row);

/* Make room for one more call. Return false if there is none. */
CPA_HIDDEN bool cpa_calls_grow(struct cpa_calls *c);

/*
 * Function @number returned although it is not the innermost call: remove it and the calls above
 * it. Return false if it has no call on the stack.
 */
CPA_HIDDEN bool cpa_calls_leave_outer(struct cpa_calls *c, uint32_t number);

/*
 * @call is about to begin, from function @caller (0: not known). Remove calls that must have ended
 * already; return true if there were any. The stack must not be empty.
 */
CPA_HIDDEN bool cpa_calls_check(struct cpa_calls *c, const struct cpa_call *call, uint32_t caller);

/* Repair the lists of @c after a change of it was abandoned at any point. */
CPA_HIDDEN void cpa_calls_mend(struct cpa_calls *c);

/* The thread jumps (longjmp) from one function to another; @from and @to are stack pointers. */
CPA_HIDDEN void cpa_calls_jump(struct cpa_calls *c, uint64_t from, uint64_t to);

/*
 * End an activity: add its time to the path and the components, and its functions to the mix of the
 * edge of @cache (NULL: none). Return the process ticks that belong to no function.
 */
CPA_HIDDEN uint64_t cpa_calls_charge(struct cpa_self *self, struct cpa_calls *c,
				     struct cpa_edge_cache *cache);

/* Components have moved: look up the slots again. */
CPA_HIDDEN void cpa_calls_follow(struct cpa_calls *c);

/* Add the pending counts to the component rows. */
CPA_HIDDEN void cpa_calls_publish(struct cpa_calls *c);

/* Return whether calls measure the time of @slot. */
static inline bool cpa_calls_know(const struct cpa_calls *c, uint32_t slot)
{
	return c->slots[slot / 64 % CPA_CALL_SLOT_WORDS] >> slot % 64 & 1;
}

static inline uint32_t cpa_calls_hash(const struct cpa_calls *c, uint64_t address)
{
	return (uint32_t)(cpa_hash(address) >> 32) & (2 * c->function_room - 1);
}

/* Return the number of the function at @address; 0: new. */
static inline uint32_t cpa_calls_find(const struct cpa_calls *c, uint64_t address)
{
	uint32_t at = cpa_calls_hash(c, address);

	while (c->index[at] && c->function[c->index[at]].address != address)
		at = (at + 1) & (2 * c->function_room - 1);
	return c->index[at];
}

/* Link function @number into the list of functions to report. */
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

/* Whether the thread had time since its last event, up to a begin or end of a function. */
static inline bool cpa_calls_pending(const struct cpa_calls *c)
{
	return c->process | c->external | c->idle | c->runqueue | c->probe;
}

/* Push @call, for which there must be room. */
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
	/* for cpa_calls_mend(): `active` implies a valid `since` */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	f->active++;
}

/* Add the time since f->since to @f, which is active. */
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
