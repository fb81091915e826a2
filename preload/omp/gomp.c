/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/gomp.c - parallel regions and barriers of libgomp (gcc, gfortran)
 *
 * The compiler calls GOMP_parallel() or a variant of it with the region's code as a function. Each
 * thread of the team calls that, so we pass a function of ours. All barriers of a team, explicit,
 * behind loops, sections and single, are one: all threads meet them in the same order. The last one
 * of a region is inside GOMP_parallel(), and is the team's join.
 *
 * libomp has these functions, too, for programs that gcc made. What it runs it tells by OMPT.
 */
#include "preload/omp/omp.h"

#include "preload/core/object.h"
#include "preload/core/untimed.h"
#include "preload/core/window.h"
#include "preload/lib/next_symbol.h"
#include "preload/sync/barrier.h"
#include "shadow/edge/cell.h"

#define START	   20000u /* ns: to start a team takes libgomp no longer, */
#define START_EACH 5000u  /* and this for each thread */

typedef void body_function(void *data);

void GOMP_parallel(body_function *f, void *data, unsigned threads, unsigned flags);
unsigned GOMP_parallel_reductions(body_function *f, void *data, unsigned threads, unsigned flags);
void GOMP_parallel_sections(body_function *f, void *data, unsigned threads, unsigned count,
			    unsigned flags);
void GOMP_barrier(void);
bool GOMP_barrier_cancel(void);
void GOMP_loop_end(void);
bool GOMP_loop_end_cancel(void);
void GOMP_sections_end(void);
bool GOMP_sections_end_cancel(void);
void *GOMP_single_copy_start(void);
void GOMP_single_copy_end(void *data);
bool GOMP_cancel(int which, bool does);
int omp_get_num_threads(void);

/* Loops with bounds that are known before the region: start, end, step, and but for static chunk. */
#define LOOPS_4(F)                                 \
	F(GOMP_parallel_loop_static)               \
	F(GOMP_parallel_loop_dynamic)              \
	F(GOMP_parallel_loop_guided)               \
	F(GOMP_parallel_loop_nonmonotonic_dynamic) \
	F(GOMP_parallel_loop_nonmonotonic_guided)
#define LOOPS_3(F)                                 \
	F(GOMP_parallel_loop_runtime)              \
	F(GOMP_parallel_loop_nonmonotonic_runtime) \
	F(GOMP_parallel_loop_maybe_nonmonotonic_runtime)

#define FUNCTIONS(F)                \
	F(GOMP_parallel)            \
	F(GOMP_parallel_reductions) \
	F(GOMP_parallel_sections)   \
	F(GOMP_barrier)             \
	F(GOMP_barrier_cancel)      \
	F(GOMP_loop_end)            \
	F(GOMP_loop_end_cancel)     \
	F(GOMP_sections_end)        \
	F(GOMP_sections_end_cancel) \
	F(GOMP_single_copy_start)   \
	F(GOMP_single_copy_end)     \
	F(GOMP_cancel)              \
	F(omp_get_num_threads)      \
	LOOPS_4(F)                  \
	LOOPS_3(F)

CPA_NEXT_SYMBOL_LIBRARY(gomp, FUNCTIONS)

/* What the region's function is called with; on the master's stack until the region is over. */
struct region {
	void *first; /* libgomp reads the first word of the data of GOMP_parallel_reductions() */
	body_function *function;
	void *data;
	struct cpa_team *team;
};

/* The number of threads in the team that the code at @caller runs in. */
static uint32_t members_at(uint64_t caller)
{
	__typeof__(&omp_get_num_threads) original;

	original = (__typeof__(&omp_get_num_threads))cpa_next_symbol_find(
		&gomp, NUMBER_omp_get_num_threads, caller);
	return likely(original) ? (uint32_t)original() : 1; /* see FORK() */
}

/* The time since the last event was a wait that nobody is known to have ended. */
static void take_for_wait(struct cpa_worker *w, uint64_t caller)
{
	struct cpa_op op = CPA_OP(w, caller);

	op.arrived = w->clock.last;
	cpa_stand_between(w);
	cpa_op_block(&op);
	if (!cpa_op_back(&op))
		return;
	op.wait.matched = true;
	cpa_acquire_path(&w->self, NULL, &op.wait);
	cpa_op_done(&op);
}

/*
 * Whoever starts a team waits until its threads have come back from their last region, and a new thread of
 * the pool waits for its first one. If it took longer than to start the team does, it was that.
 */
static __attribute__((noinline)) void await_team(const struct cpa_team *team)
{
	int err = errno;
	uint64_t usual = cpa_clock_ticks(START + START_EACH * members_at(team->caller));
	struct cpa_worker *w = cpa_tls.worker;

	if (!cpa_window_moved(w) && cpa_enter()) {
		if (cpa_clock_now() - w->clock.last > usual && !cpa_untimed_pending(w) &&
		    !cpa_untimed_open(w))
			take_for_wait(w, team->caller);
		else
			cpa_leave();
	}
	errno = err;
}

/* Whether the thread comes from a fork or from its start, and that was not just now. */
static inline bool comes_late(void)
{
	static uint64_t least; /* ticks; atomic; 0: not known yet */
	const struct cpa_worker *w = cpa_tls.worker;
	uint64_t ticks;

	if (!w || w->standing)
		return false;
	/* Relaxed: all threads store the same. */
	ticks = __atomic_load_n(&least, __ATOMIC_RELAXED);
	if (unlikely(!ticks)) {
		ticks = cpa_clock_ticks(START);
		__atomic_store_n(&least, ticks, __ATOMIC_RELAXED);
	}
	return cpa_clock_now() - w->clock.last > ticks;
}

static void body(void *argument)
{
	struct region *r = argument;
	struct cpa_part part;
	uint64_t outer = cpa_tls.code;

	cpa_tls.code = (uint64_t)r->function;
	if (unlikely(comes_late()))
		await_team(r->team);
	cpa_part_enter(&part, r->team);
	r->function(r->data);
	cpa_tls.code = outer;
	cpa_part_exit(&part);
}

/*
 * Call @original, of the type of @name, with our function and data, or with the program's. The region's
 * code is in the calling module, also if the call is a tail call, which seems to come from another.
 */
#define FORK(name, call)                                                                  \
	({                                                                                \
		__typeof__(&(name)) original = (__typeof__(&(name)))cpa_next_symbol_find( \
			&gomp, NUMBER_##name, (uint64_t)f);                               \
		struct region r = { .function = f, .data = data };                        \
                                                                                          \
		if (unlikely(cpa_ompt_has((const void *)original)))                       \
			cpa_ompt_pass((uint64_t)f, CPA_CALLER());                         \
		else                                                                      \
			r.team = cpa_team_fork((uint64_t)f, CPA_CALLER());                \
		if (r.team) {                                                             \
			f = body;                                                         \
			data = &r;                                                        \
		}                                                                         \
		if (likely(original))                                                     \
			call;                                                             \
		else /* a program that tests for the function: one thread */              \
			f(data);                                                          \
		cpa_team_join(r.team);                                                    \
	})

CPA_EXPORT void GOMP_parallel(body_function *f, void *data, unsigned threads, unsigned flags)
{
	FORK(GOMP_parallel, original(f, data, threads, flags));
}

CPA_EXPORT unsigned GOMP_parallel_reductions(body_function *f, void *data, unsigned threads,
					     unsigned flags)
{
	unsigned got = 1;

	FORK(GOMP_parallel_reductions, ({
		     r.first = *(void **)r.data;
		     got = original(f, data, threads, flags);
	     }));
	return got;
}

CPA_EXPORT void GOMP_parallel_sections(body_function *f, void *data, unsigned threads,
				       unsigned count, unsigned flags)
{
	FORK(GOMP_parallel_sections, original(f, data, threads, count, flags));
}

#define PARALLEL_4(name)                                                                           \
	void name(body_function *f, void *data, unsigned threads, long start, long end, long step, \
		  long chunk, unsigned flags);                                                     \
	CPA_EXPORT void name(body_function *f, void *data, unsigned threads, long start, long end, \
			     long step, long chunk, unsigned flags)                                \
	{                                                                                          \
		FORK(name, original(f, data, threads, start, end, step, chunk, flags));            \
	}
#define PARALLEL_3(name)                                                                           \
	void name(body_function *f, void *data, unsigned threads, long start, long end, long step, \
		  unsigned flags);                                                                 \
	CPA_EXPORT void name(body_function *f, void *data, unsigned threads, long start, long end, \
			     long step, unsigned flags)                                            \
	{                                                                                          \
		FORK(name, original(f, data, threads, start, end, step, flags));                   \
	}

LOOPS_4(PARALLEL_4)
LOOPS_3(PARALLEL_3)

/* The number of threads in the team of @part. */
static uint32_t members_of(struct cpa_part *part)
{
	if (!part->members)
		part->members = members_at(part->team->caller);
	return part->members;
}

/* The part of the calling thread, if that is one of libgomp's. */
static struct cpa_part *own_part(void)
{
	struct cpa_part *part = cpa_part();

	return likely(part && !part->team->told) ? part : NULL;
}

/* The thread arrives at its team's barrier. False: in no team of ours. */
static bool arrive(struct cpa_barrier_op *b, struct cpa_omp_wait *wait, uint64_t caller)
{
	struct cpa_part *part = own_part();
	uint32_t members = part ? members_of(part) : 0;
	struct cpa_worker *w = part ? cpa_enter_any() : NULL;
	struct cpa_object *o;

	if (unlikely(!w))
		return false;
	o = cpa_object_of_class(w, &part->team->place.barrier, CPA_BARRIER, 0);
	if (unlikely(!o)) {
		cpa_leave();
		return false;
	}
	cpa_team_barrier_of(o, members);
	cpa_team_uses(&part->team->used_barrier);
	*b = (struct cpa_barrier_op){ .op = CPA_OP(NULL, caller),
				      .w = w,
				      .o = o,
				      .class = part->team->region,
				      .members = members,
				      .arrive = CPA_EV_TEAM_ARRIVE,
				      .leave = CPA_EV_TEAM_LEAVE,
				      .round = part->round };
	wait->barrier = b;
	cpa_omp_wait(wait, &b->op);
	cpa_barrier_begin(b);
	return true;
}

/* @seen: arrive() was. */
static void leave(bool seen, struct cpa_barrier_op *b, struct cpa_omp_wait *wait)
{
	struct cpa_part *part = own_part();

	if (likely(seen)) {
		cpa_omp_waited(wait);
		cpa_barrier_end(b);
	}
	if (likely(part))
		part->round++;
}

static struct cpa_object *cancel_of(struct cpa_worker *w, struct cpa_team *team)
{
	return cpa_object_of_class(w, &team->place.cancel, CPA_ANNOTATION, 0);
}

/* The barrier let the thread go before all had come: it was for who cancelled the region. */
static void give_up(struct cpa_barrier_op *b, struct cpa_omp_wait *wait)
{
	struct cpa_part *part = cpa_part();
	struct cpa_object *o;

	cpa_omp_waited(wait);
	if (unlikely(!part || !cpa_op_back(&b->op)))
		return;
	if (!b->op.blocked)
		cpa_op_arrive(&b->op, b->arrive, b->class);
	o = cancel_of(b->op.w, part->team);
	b->op.wait.matched = true;
	if (likely(o))
		cpa_cell_acquired(&b->op.w->self, &o->merged, &b->op.wait);
	cpa_op_end(&b->op, CPA_EXT_UNSEEN);
}

/* Call the original of @name, with value @ret, as a barrier of the team, of which @last decides. */
#define BARRIER(name, call, last)                                           \
	({                                                                  \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(gomp, name); \
		struct cpa_omp_wait wait = { 0 };                           \
		struct cpa_barrier_op b;                                    \
		bool seen = arrive(&b, &wait, CPA_CALLER());                \
                                                                            \
		if (likely(original))                                       \
			call;                                               \
		if (likely(last))                                           \
			leave(seen, &b, &wait);                             \
		else if (likely(seen))                                      \
			give_up(&b, &wait);                                 \
	})

#define VOID_BARRIER(name)                       \
	CPA_EXPORT void name(void)               \
	{                                        \
		BARRIER(name, original(), true); \
	}

VOID_BARRIER(GOMP_barrier)
VOID_BARRIER(GOMP_loop_end)
VOID_BARRIER(GOMP_sections_end)

#define CANCEL_BARRIER(name)                                       \
	CPA_EXPORT bool name(void)                                 \
	{                                                          \
		bool cancelled = false;                            \
                                                                   \
		BARRIER(name, cancelled = original(), !cancelled); \
		return cancelled;                                  \
	}

CANCEL_BARRIER(GOMP_barrier_cancel)
CANCEL_BARRIER(GOMP_loop_end_cancel)
CANCEL_BARRIER(GOMP_sections_end_cancel)

bool cpa_omp_cancelled;

CPA_EXPORT bool GOMP_cancel(int which, bool does)
{
	__typeof__(&GOMP_cancel) original = CPA_NEXT_SYMBOL(gomp, GOMP_cancel);
	struct cpa_part *part = own_part();
	struct cpa_worker *w = part && does ? cpa_enter() : NULL;
	struct cpa_object *o;

	if (w) {
		cpa_event(w, CPA_EV_BEFORE, CPA_CALLER(), part->team->region);
		o = cancel_of(w, part->team);
		cpa_team_uses(&part->team->used_cancel);
		if (o)
			cpa_cell_release(&w->self, &o->merged, &w->self.row->path);
		cpa_done(w);
	}
	if (!original || !original(which, does))
		return false;
	/* Relaxed: a thread that finds it late keeps a record. */
	__atomic_store_n(&cpa_omp_cancelled, true, __ATOMIC_RELAXED);
	return true;
}

/*
 * Elected is who gets NULL, at once; the others wait for its GOMP_single_copy_end(), where it arrives
 * again.
 */
CPA_EXPORT void *GOMP_single_copy_start(void)
{
	void *data = NULL;

	BARRIER(GOMP_single_copy_start, data = original(), data);
	return data;
}

CPA_EXPORT void GOMP_single_copy_end(void *data)
{
	BARRIER(GOMP_single_copy_end, original(data), true);
}
