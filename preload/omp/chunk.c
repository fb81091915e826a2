/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/chunk.c - iterations of a loop that threads take from the runtime, chunk by chunk
 *
 * In a loop whose schedule is dynamic, guided, or that of OMP_SCHEDULE a thread asks the runtime for each
 * chunk. With a journal each of these calls is an event, so a reader knows the work of each chunk:
 * analysis/exact/chunks.h. Without a journal nothing is recorded. With a static schedule nobody is asked.
 */
#include "preload/omp/omp.h"

#include <errno.h>

#include "preload/lib/next_symbol.h"

#define LEAST_NS 2000u /* a shorter chunk becomes a part of the next one */

/* Where a thread enters a loop and takes its first chunk; by the number of words that it passes. */
#define STARTS_5(F)                             \
	F(GOMP_loop_runtime_start)              \
	F(GOMP_loop_nonmonotonic_runtime_start) \
	F(GOMP_loop_maybe_nonmonotonic_runtime_start)
#define STARTS_6(F)                                 \
	F(GOMP_loop_dynamic_start)                  \
	F(GOMP_loop_guided_start)                   \
	F(GOMP_loop_nonmonotonic_dynamic_start)     \
	F(GOMP_loop_nonmonotonic_guided_start)      \
	F(GOMP_loop_ull_runtime_start)              \
	F(GOMP_loop_ull_nonmonotonic_runtime_start) \
	F(GOMP_loop_ull_maybe_nonmonotonic_runtime_start)
#define STARTS_7(F)                                 \
	F(GOMP_loop_ull_dynamic_start)              \
	F(GOMP_loop_ull_guided_start)               \
	F(GOMP_loop_ull_nonmonotonic_dynamic_start) \
	F(GOMP_loop_ull_nonmonotonic_guided_start)

/* Where it has done a chunk and takes the next one, or there is none. */
#define NEXTS(F)                                         \
	F(GOMP_loop_runtime_next)                        \
	F(GOMP_loop_nonmonotonic_runtime_next)           \
	F(GOMP_loop_maybe_nonmonotonic_runtime_next)     \
	F(GOMP_loop_dynamic_next)                        \
	F(GOMP_loop_guided_next)                         \
	F(GOMP_loop_nonmonotonic_dynamic_next)           \
	F(GOMP_loop_nonmonotonic_guided_next)            \
	F(GOMP_loop_ull_runtime_next)                    \
	F(GOMP_loop_ull_nonmonotonic_runtime_next)       \
	F(GOMP_loop_ull_maybe_nonmonotonic_runtime_next) \
	F(GOMP_loop_ull_dynamic_next)                    \
	F(GOMP_loop_ull_guided_next)                     \
	F(GOMP_loop_ull_nonmonotonic_dynamic_next)       \
	F(GOMP_loop_ull_nonmonotonic_guided_next)

/* Of libomp: a thread takes its first chunk so, too. */
#define DISPATCHES(F)              \
	F(__kmpc_dispatch_next_4)  \
	F(__kmpc_dispatch_next_4u) \
	F(__kmpc_dispatch_next_8)  \
	F(__kmpc_dispatch_next_8u)

#define FUNCTIONS(F) STARTS_5(F) STARTS_6(F) STARTS_7(F) NEXTS(F) DISPATCHES(F)

CPA_NEXT_SYMBOL_LIBRARY(chunk, FUNCTIONS)

/* Whether the event of a chunk that ended now says something: always of the first of a round. */
static bool is_due(const struct cpa_worker *w, const struct cpa_part *part)
{
	return part->chunks <= part->round ||
	       (int64_t)(cpa_clock_now() - w->clock.last) >= (int64_t)cpa_clock_ticks(LEAST_NS);
}

/*
 * The calling thread takes a chunk of a loop of its team, and has done the one that it had. Return its part, if
 * it has one.
 */
static struct cpa_part *take(uint64_t caller)
{
	struct cpa_worker *w = cpa_tls.worker;
	struct cpa_part *part;
	int err;

	if (likely(!w || !w->self.journal))
		return NULL;
	part = cpa_part();
	if (unlikely(!part || w->omp->task || part->takes))
		return NULL;
	if (!is_due(w, part))
		return part;
	err = errno;
	w = cpa_enter();
	if (likely(w)) {
		part->chunks = part->round + 1;
		cpa_event(w, CPA_EV_CHUNK, caller, part->region);
		cpa_done(w);
	}
	errno = err;
	return part;
}

/*
 * All parameters are words: numbers, and where the runtime puts the bounds of the chunk. Some of libomp's
 * call __kmpc_dispatch_next_8(), and there the thread takes nothing more.
 */
#define WRAP(name, parameters, ...)                                          \
	bool name parameters;                                                \
	CPA_EXPORT bool name parameters                                      \
	{                                                                    \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(chunk, name); \
		struct cpa_part *part = take(CPA_CALLER());                  \
		bool got;                                                    \
                                                                             \
		if (unlikely(part))                                          \
			part->takes = true;                                  \
		got = likely(original) && original(__VA_ARGS__);             \
		if (unlikely(part))                                          \
			part->takes = false;                                 \
		return got;                                                  \
	}
#define START_5(name) WRAP(name, (long a, long b, long c, long *d, long *e), a, b, c, d, e)
#define START_6(name) \
	WRAP(name, (long a, long b, long c, long d, long *e, long *f), a, b, c, d, e, f)
#define START_7(name) \
	WRAP(name, (long a, long b, long c, long d, long e, long *f, long *g), a, b, c, d, e, f, g)
#define NEXT(name) WRAP(name, (long *start, long *end), start, end)

STARTS_5(START_5)
STARTS_6(START_6)
STARTS_7(START_7)
NEXTS(NEXT)

#define DISPATCH(name)                                                                         \
	int name(void *place, int thread, void *last, void *start, void *end, void *step);     \
	CPA_EXPORT int name(void *place, int thread, void *last, void *start, void *end,       \
			    void *step)                                                        \
	{                                                                                      \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(chunk, name);                   \
                                                                                               \
		take(CPA_CALLER());                                                            \
		return likely(original) ? original(place, thread, last, start, end, step) : 0; \
	}

DISPATCHES(DISPATCH)
