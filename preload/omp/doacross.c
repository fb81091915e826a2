/* SPDX-License-Identifier: MIT */
/*
 * preload/omp/doacross.c - loops with ordered(n), whose iterations are named by n numbers: depend(sink)
 * waits for an iteration, depend(source) tells that one is that far
 *
 * A post (source) puts the thread's path into one of the team's CELLS cells, which the numbers of the
 * iteration choose; a wait (sink) for the iteration takes it from there. If a later post has used the cell
 * since, the wait finds nothing. Then the team was far ahead of it, so it hardly waited.
 *
 * GOMP_doacross_wait() takes n arguments, and a call does not tell n. The original reads the first n only,
 * so it is passed more than there may be.
 */
#include "preload/omp/omp.h"

#include <errno.h>
#include <stdarg.h>

#include "preload/core/object.h"
#include "preload/lib/next_symbol.h"
#include "preload/libc/pool.h"
#include "shadow/edge/cell.h"

#define CELLS 256u
#define FEW   6u   /* numbers of an iteration, usually */
#define MOST  128u /* the C standard asks compilers for 127 nested blocks */

typedef unsigned long long ull;

void GOMP_doacross_post(long *counts);
void GOMP_doacross_ull_post(ull *counts);
void GOMP_doacross_wait(long first, ...);
void GOMP_doacross_ull_wait(ull first, ...);
void __kmpc_doacross_init(void *place, int thread, int counts, void *bounds);
void __kmpc_doacross_post(void *place, int thread, const int64_t *counts);
void __kmpc_doacross_wait(void *place, int thread, const int64_t *counts);

/* Where a loop begins: its numbers, then up to six words that are passed on as they come. */
#define STARTS(F)                                    \
	F(GOMP_loop_doacross_static_start, long)     \
	F(GOMP_loop_doacross_dynamic_start, long)    \
	F(GOMP_loop_doacross_guided_start, long)     \
	F(GOMP_loop_doacross_runtime_start, long)    \
	F(GOMP_loop_doacross_start, long)            \
	F(GOMP_loop_ull_doacross_static_start, ull)  \
	F(GOMP_loop_ull_doacross_dynamic_start, ull) \
	F(GOMP_loop_ull_doacross_guided_start, ull)  \
	F(GOMP_loop_ull_doacross_runtime_start, ull) \
	F(GOMP_loop_ull_doacross_start, ull)

#define FUNCTIONS(F)                            \
	F(GOMP_doacross_post)                   \
	F(GOMP_doacross_ull_post)               \
	F(GOMP_doacross_wait)                   \
	F(GOMP_doacross_ull_wait)               \
	F(__kmpc_doacross_init)                 \
	F(__kmpc_doacross_post)                 \
	F(__kmpc_doacross_wait)                 \
	F(GOMP_loop_doacross_static_start)      \
	F(GOMP_loop_doacross_dynamic_start)     \
	F(GOMP_loop_doacross_guided_start)      \
	F(GOMP_loop_doacross_runtime_start)     \
	F(GOMP_loop_doacross_start)             \
	F(GOMP_loop_ull_doacross_static_start)  \
	F(GOMP_loop_ull_doacross_dynamic_start) \
	F(GOMP_loop_ull_doacross_guided_start)  \
	F(GOMP_loop_ull_doacross_runtime_start) \
	F(GOMP_loop_ull_doacross_start)

CPA_NEXT_SYMBOL_LIBRARY(doacross, FUNCTIONS)

#define ORIGINAL(name) __typeof__(&(name)) original = CPA_NEXT_SYMBOL(doacross, name)

static bool is_libgomps(const void *original)
{
	return likely(original) && !cpa_ompt_has(original);
}

/* The part of the calling thread, if it is in a loop of which @original is no function of libomp. */
static struct cpa_part *part_in(const void *original)
{
	struct cpa_part *part = cpa_part();

	return part && part->counts && is_libgomps(original) ? part : NULL;
}

/* What names an iteration. Not 0. */
static uint64_t key_of(const long *counts, uint32_t n)
{
	uint64_t key = n;

	for (uint32_t i = 0; i < n; i++)
		key = cpa_hash(key + (uint64_t)counts[i]);
	return key | 1;
}

/* The addresses that name the cells of @team; nothing is stored there. NULL: no memory. */
static uint64_t *cells_of(struct cpa_team *team)
{
	/* Relaxed: only the address matters. */
	uint64_t *cells = __atomic_load_n(&team->iterations, __ATOMIC_RELAXED), *other = NULL;

	if (likely(cells))
		return cells;
	cells = cpa_pool_take(CPA_POOL_ITERATIONS, CELLS * sizeof(*cells));
	if (cells && !__atomic_compare_exchange_n(&team->iterations, &other, cells, false,
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
		cpa_pool_give(CPA_POOL_ITERATIONS, cells);
		cells = other;
	}
	return cells;
}

static struct cpa_object *cell_of(struct cpa_worker *w, struct cpa_team *team, uint64_t key)
{
	uint64_t *cells = cells_of(team);

	return cells ? cpa_object_of_class(w, &cells[(key >> 32) % CELLS], CPA_ANNOTATION, 0) :
		       NULL;
}

/* The thread, in @part or in none, has done the source of the iteration @counts. */
static void post(struct cpa_part *part, const long *counts, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = part ? cpa_enter() : NULL;
	uint64_t key = w ? key_of(counts, part->counts) : 0;
	struct cpa_object *o = w ? cell_of(w, part->team, key) : NULL;

	if (unlikely(!w))
		return;
	part->posted = key;
	cpa_event(w, CPA_EV_BEFORE, caller, part->team->region);
	if (likely(o))
		cpa_cell_put(&w->self, &o->merged, key, &w->self.row->path);
	cpa_done(w);
	errno = err;
}

/*
 * It waits, in @part or in none, for the iteration @counts; see cpa_turn_wait(). Not if that was its own
 * last one.
 */
static struct cpa_op wait_begin(const struct cpa_part *part, const long *counts, uint64_t caller)
{
	struct cpa_op op = CPA_OP(NULL, caller);

	return part && part->posted != key_of(counts, part->counts) ? cpa_turn_wait(caller) : op;
}

/* It went on behind the iteration @counts. @may_miss: there may be no such iteration. */
static void wait_end(struct cpa_op *op, const long *counts, bool may_miss)
{
	struct cpa_part *part = cpa_part();
	struct cpa_object *o;
	uint64_t key;

	if (unlikely(!op->blocked || !part || !cpa_op_back(op)))
		return;
	key = key_of(counts, part->counts);
	o = cell_of(op->w, part->team, key);
	op->wait.matched = true; /* also by a release that is no longer known */
	if (!o || !cpa_cell_acquired_if(&op->w->self, &o->merged, key, &op->wait)) {
		if (!may_miss)
			cpa_diag(CPA_DIAG_OMP_UNSEEN);
		cpa_acquire_path(&op->w->self, NULL, &op->wait);
	}
	cpa_op_end(op, CPA_EXT_UNSEEN);
}

/* How many arguments a wait may have: FEW, or MOST once a loop has more numbers. Atomic. */
static uint32_t arguments = FEW;

static void begin(unsigned counts)
{
	struct cpa_part *part = cpa_part();

	/* Relaxed: who waits in the loop has begun it. */
	if (unlikely(counts > FEW))
		__atomic_store_n(&arguments, MOST, __ATOMIC_RELAXED);
	if (part) {
		part->counts = counts <= MOST ? counts : 0; /* 0: its edges are not seen */
		part->posted = 0;
	}
}

#define START(name, number)                                                                        \
	bool name(unsigned counts, number *count, long a, long b, long c, long d, long e, long f); \
	CPA_EXPORT bool name(unsigned counts, number *count, long a, long b, long c, long d,       \
			     long e, long f)                                                       \
	{                                                                                          \
		ORIGINAL(name);                                                                    \
                                                                                                   \
		begin(counts);                                                                     \
		return likely(original) && original(counts, count, a, b, c, d, e, f);              \
	}

STARTS(START)

#define POST(name, number)                                                                 \
	CPA_EXPORT void name(number *counts)                                               \
	{                                                                                  \
		ORIGINAL(name);                                                            \
                                                                                           \
		post(part_in((const void *)original), (const long *)counts, CPA_CALLER()); \
		if (likely(original))                                                      \
			original(counts);                                                  \
	}

POST(GOMP_doacross_post, long)
POST(GOMP_doacross_ull_post, ull)

#define EIGHT(at, i)                                                                         \
	at[i], at[(i) + 1], at[(i) + 2], at[(i) + 3], at[(i) + 4], at[(i) + 5], at[(i) + 6], \
		at[(i) + 7]
#define OF_32(at, i) EIGHT(at, i), EIGHT(at, (i) + 8), EIGHT(at, (i) + 16), EIGHT(at, (i) + 24)
#define ALL(at)	     OF_32(at, 0), OF_32(at, 32), OF_32(at, 64), OF_32(at, 96)

#define WAIT(name, number)                                                                        \
	CPA_EXPORT void name(number first, ...)                                                   \
	{                                                                                         \
		ORIGINAL(name);                                                                   \
		/* Relaxed: see begin(). */                                                       \
		uint32_t n = __atomic_load_n(&arguments, __ATOMIC_RELAXED);                       \
		number at[MOST];                                                                  \
		va_list list;                                                                     \
		struct cpa_op op;                                                                 \
                                                                                                  \
		at[0] = first;                                                                    \
		va_start(list, first);                                                            \
		for (uint32_t i = 1; i < n; i++)                                                  \
			at[i] = va_arg(list, number);                                             \
		va_end(list);                                                                     \
		op = wait_begin(part_in((const void *)original), (const long *)at, CPA_CALLER()); \
		if (likely(original && n == FEW))                                                 \
			original(at[0], at[1], at[2], at[3], at[4], at[5]);                       \
		else if (original)                                                                \
			original(ALL(at));                                                        \
		wait_end(&op, (const long *)at, false);                                           \
	}

/* Words behind the program's last argument are passed on as they are: nobody reads them. */
WAIT(GOMP_doacross_wait, long)	  /* NOLINT(clang-analyzer-core.CallAndMessage) */
WAIT(GOMP_doacross_ull_wait, ull) /* NOLINT(clang-analyzer-core.CallAndMessage) */

/* Of libomp, whose functions for gcc may call these by name, in a wait of the thread or in none. */
CPA_EXPORT void __kmpc_doacross_init(void *place, int thread, int counts, void *bounds)
{
	ORIGINAL(__kmpc_doacross_init);

	begin((unsigned)counts);
	if (likely(original))
		original(place, thread, counts, bounds);
}

CPA_EXPORT void __kmpc_doacross_post(void *place, int thread, const int64_t *counts)
{
	ORIGINAL(__kmpc_doacross_post);

	post(cpa_part(), counts, CPA_CALLER());
	if (likely(original))
		original(place, thread, counts);
}

/* An iteration that the loop does not have is waited for by nobody. */
CPA_EXPORT void __kmpc_doacross_wait(void *place, int thread, const int64_t *counts)
{
	ORIGINAL(__kmpc_doacross_wait);
	struct cpa_op op = wait_begin(cpa_part(), counts, CPA_CALLER());

	if (likely(original))
		original(place, thread, counts);
	wait_end(&op, counts, true);
}
