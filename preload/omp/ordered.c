/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/ordered.c - ordered loops, and constructs that are only counted
 *
 * GOMP_ordered_start() waits for the turn of the thread's iteration. GOMP_ordered_end() does nothing:
 * the turn passes on where the thread asks for its next iteration. What follows the ordered block in
 * an iteration is therefore one after the other, too. libomp has both, and passes it on at the end of
 * the block.
 */
#include "preload/omp/omp.h"

#include <errno.h>

#include "preload/core/object.h"
#include "preload/lib/next_symbol.h"
#include "shadow/edge/cell.h"

void GOMP_ordered_start(void);
void __kmpc_ordered(void *place, int thread);
void __kmpc_end_ordered(void *place, int thread);
typedef void body_function(void *data);

/* Begins of regions in programs of gcc before 4.9: they call the region's function themselves. */
void GOMP_parallel_start(body_function *f, void *data, unsigned threads);
void GOMP_parallel_sections_start(body_function *f, void *data, unsigned threads, unsigned count);
void GOMP_parallel_loop_runtime_start(body_function *f, void *data, unsigned threads, long start,
				      long end, long step);

#define LOOP_STARTS(F)                      \
	F(GOMP_parallel_loop_static_start)  \
	F(GOMP_parallel_loop_dynamic_start) \
	F(GOMP_parallel_loop_guided_start)

#define NEXT(F)                                                   \
	F(GOMP_loop_ordered_static_next, long)                    \
	F(GOMP_loop_ordered_dynamic_next, long)                   \
	F(GOMP_loop_ordered_guided_next, long)                    \
	F(GOMP_loop_ordered_runtime_next, long)                   \
	F(GOMP_loop_ull_ordered_static_next, unsigned long long)  \
	F(GOMP_loop_ull_ordered_dynamic_next, unsigned long long) \
	F(GOMP_loop_ull_ordered_guided_next, unsigned long long)  \
	F(GOMP_loop_ull_ordered_runtime_next, unsigned long long)

#define FUNCTIONS(F)                          \
	F(GOMP_ordered_start)                 \
	F(__kmpc_ordered)                     \
	F(__kmpc_end_ordered)                 \
	F(GOMP_parallel_start)                \
	F(GOMP_parallel_sections_start)       \
	F(GOMP_parallel_loop_runtime_start)   \
	LOOP_STARTS(F)                        \
	F(GOMP_loop_ordered_static_next)      \
	F(GOMP_loop_ordered_dynamic_next)     \
	F(GOMP_loop_ordered_guided_next)      \
	F(GOMP_loop_ordered_runtime_next)     \
	F(GOMP_loop_ull_ordered_static_next)  \
	F(GOMP_loop_ull_ordered_dynamic_next) \
	F(GOMP_loop_ull_ordered_guided_next)  \
	F(GOMP_loop_ull_ordered_runtime_next)

CPA_NEXT_SYMBOL_LIBRARY(ordered, FUNCTIONS)

#define ORIGINAL(name) __typeof__(&(name)) original = CPA_NEXT_SYMBOL(ordered, name)

static struct cpa_object *turn_of(struct cpa_worker *w, struct cpa_team *team)
{
	cpa_team_uses(&team->used_ordered);
	return cpa_object_of_class(w, &team->place.ordered, CPA_ANNOTATION, 0);
}

void cpa_turn_pass(uint64_t caller)
{
	int err = errno;
	struct cpa_part *part = cpa_part();
	struct cpa_worker *w = part ? cpa_enter() : NULL;
	struct cpa_object *turn;

	if (unlikely(!w))
		return;
	turn = turn_of(w, part->team);
	cpa_event(w, CPA_EV_BEFORE, caller, part->team->region);
	if (likely(turn))
		cpa_cell_release(&w->self, &turn->merged, &w->self.row->path);
	cpa_done(w);
	errno = err;
}

struct cpa_op cpa_turn_wait(uint64_t caller)
{
	struct cpa_part *part = cpa_part();
	struct cpa_op op = CPA_OP(part ? cpa_enter() : NULL, caller);

	if (likely(op.w)) {
		cpa_op_arrive(&op, CPA_EV_AFTER, part->team->region);
		cpa_op_block(&op);
	}
	return op;
}

void cpa_turn_got(struct cpa_op *op)
{
	struct cpa_part *part = cpa_part();
	struct cpa_object *turn;

	if (unlikely(!op->blocked || !part || !cpa_op_back(op)))
		return;
	turn = turn_of(op->w, part->team);
	op->wait.matched = true; /* the first iteration's is nobody's */
	if (likely(turn))
		cpa_cell_acquired(&op->w->self, &turn->merged, &op->wait);
	cpa_op_end(op, CPA_EXT_UNSEEN);
}

CPA_EXPORT void GOMP_ordered_start(void)
{
	ORIGINAL(GOMP_ordered_start);
	struct cpa_op op = cpa_turn_wait(CPA_CALLER());

	if (likely(original))
		original();
	cpa_turn_got(&op);
}

CPA_EXPORT void __kmpc_ordered(void *place, int thread)
{
	ORIGINAL(__kmpc_ordered);
	struct cpa_op op = cpa_turn_wait(CPA_CALLER());

	if (likely(original))
		original(place, thread);
	cpa_turn_got(&op);
}

CPA_EXPORT void __kmpc_end_ordered(void *place, int thread)
{
	ORIGINAL(__kmpc_end_ordered);

	cpa_turn_pass(CPA_CALLER());
	if (likely(original))
		original(place, thread);
}

#define NEXT_FUNCTION(name, number)                              \
	bool name(number *start, number *end);                   \
	CPA_EXPORT bool name(number *start, number *end)         \
	{                                                        \
		ORIGINAL(name);                                  \
                                                                 \
		cpa_turn_pass(CPA_CALLER());                     \
		return likely(original) && original(start, end); \
	}

NEXT(NEXT_FUNCTION)

static void note_unseen(void)
{
	if (*cpa_alive)
		cpa_diag(CPA_DIAG_OMP_UNSEEN);
}

CPA_EXPORT void GOMP_parallel_start(body_function *f, void *data, unsigned threads)
{
	ORIGINAL(GOMP_parallel_start);

	note_unseen();
	if (likely(original))
		original(f, data, threads);
}

CPA_EXPORT void GOMP_parallel_sections_start(body_function *f, void *data, unsigned threads,
					     unsigned count)
{
	ORIGINAL(GOMP_parallel_sections_start);

	note_unseen();
	if (likely(original))
		original(f, data, threads, count);
}

CPA_EXPORT void GOMP_parallel_loop_runtime_start(body_function *f, void *data, unsigned threads,
						 long start, long end, long step)
{
	ORIGINAL(GOMP_parallel_loop_runtime_start);

	note_unseen();
	if (likely(original))
		original(f, data, threads, start, end, step);
}

#define LOOP_START(name)                                                                           \
	void name(body_function *f, void *data, unsigned threads, long start, long end, long step, \
		  long chunk);                                                                     \
	CPA_EXPORT void name(body_function *f, void *data, unsigned threads, long start, long end, \
			     long step, long chunk)                                                \
	{                                                                                          \
		ORIGINAL(name);                                                                    \
                                                                                                   \
		note_unseen();                                                                     \
		if (likely(original))                                                              \
			original(f, data, threads, start, end, step, chunk);                       \
	}

LOOP_STARTS(LOOP_START)
