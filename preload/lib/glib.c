/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/glib.c - GAsyncQueue and GThreadPool of GLib
 *
 * GLib is neither linked nor included: its exported functions have kept their types since 2.0.
 *
 * The threads of a GThreadPool take items by calls inside the library. So the function of the pool
 * is replaced by one of a fixed number of ours: each knows its pool, and the program's user data is
 * not touched. A program that reads pool->func finds ours, and may call it. A function of ours is
 * bound to one function of the program for ever, and to one pool at a time, so that even a late
 * call reaches the right function.
 */
#include "preload/lib/completion.h"
#include "preload/lib/next_symbol.h"

/* Types of GLib: gpointer, gboolean, guint64, gulong and so on. */
typedef int compare_function(const void *a, const void *b, void *user_data);
typedef void pool_function(void *data, void *user_data);
typedef void free_function(void *data);

struct time_value {
	long s, us;
};

/* The public part of a GThreadPool. */
struct pool {
	pool_function *function;
	void *user_data;
	int exclusive;
};

void g_async_queue_lock(void *queue);
void g_async_queue_push(void *queue, void *data);
void g_async_queue_push_unlocked(void *queue, void *data);
void g_async_queue_push_front(void *queue, void *data);
void g_async_queue_push_front_unlocked(void *queue, void *data);
void g_async_queue_push_sorted(void *queue, void *data, compare_function *f, void *user_data);
void g_async_queue_push_sorted_unlocked(void *queue, void *data, compare_function *f,
					void *user_data);
void *g_async_queue_pop(void *queue);
void *g_async_queue_pop_unlocked(void *queue);
void *g_async_queue_try_pop(void *queue);
void *g_async_queue_try_pop_unlocked(void *queue);
void *g_async_queue_timeout_pop(void *queue, uint64_t us);
void *g_async_queue_timeout_pop_unlocked(void *queue, uint64_t us);
void *g_async_queue_timed_pop(void *queue, struct time_value *end);
void *g_async_queue_timed_pop_unlocked(void *queue, struct time_value *end);
int g_async_queue_remove(void *queue, void *data);
int g_async_queue_remove_unlocked(void *queue, void *data);
struct pool *g_thread_pool_new(pool_function *f, void *user_data, int most, int exclusive,
			       void **error);
struct pool *g_thread_pool_new_full(pool_function *f, void *user_data, free_function *free_data,
				    int most, int exclusive, void **error);
int g_thread_pool_push(struct pool *pool, void *data, void **error);
int g_thread_pool_set_max_threads(struct pool *pool, int most, void **error);
void g_thread_pool_free(struct pool *pool, int immediate, int wait);

#define FUNCTIONS(F)                          \
	F(g_async_queue_lock)                 \
	F(g_async_queue_push)                 \
	F(g_async_queue_push_unlocked)        \
	F(g_async_queue_push_front)           \
	F(g_async_queue_push_front_unlocked)  \
	F(g_async_queue_push_sorted)          \
	F(g_async_queue_push_sorted_unlocked) \
	F(g_async_queue_pop)                  \
	F(g_async_queue_pop_unlocked)         \
	F(g_async_queue_try_pop)              \
	F(g_async_queue_try_pop_unlocked)     \
	F(g_async_queue_timeout_pop)          \
	F(g_async_queue_timeout_pop_unlocked) \
	F(g_async_queue_timed_pop)            \
	F(g_async_queue_timed_pop_unlocked)   \
	F(g_async_queue_remove)               \
	F(g_async_queue_remove_unlocked)      \
	F(g_thread_pool_new)                  \
	F(g_thread_pool_new_full)             \
	F(g_thread_pool_push)                 \
	F(g_thread_pool_set_max_threads)      \
	F(g_thread_pool_free)

CPA_NEXT_SYMBOL_LIBRARY(glib, FUNCTIONS)

CPA_EXPORT void g_async_queue_lock(void *queue)
{
	__typeof__(&g_async_queue_lock) original = CPA_NEXT_SYMBOL(glib, g_async_queue_lock);

	if (likely(original))
		CPA_INNER(original(queue));
}

/* GLib refuses NULL, with a message. */
#define PUSH(name, parameters, arguments)                                            \
	CPA_EXPORT void name parameters                                              \
	{                                                                            \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(glib, name);          \
                                                                                     \
		if (unlikely(!original))                                             \
			return;                                                      \
		if (data && !cpa_next_symbol_nested())                               \
			cpa_item_enqueue(queue, (uint64_t)data, NULL, CPA_CALLER()); \
		CPA_INNER(original arguments);                                       \
	}

PUSH(g_async_queue_push, (void *queue, void *data), (queue, data))
PUSH(g_async_queue_push_unlocked, (void *queue, void *data), (queue, data))
PUSH(g_async_queue_push_front, (void *queue, void *data), (queue, data))
PUSH(g_async_queue_push_front_unlocked, (void *queue, void *data), (queue, data))
PUSH(g_async_queue_push_sorted, (void *queue, void *data, compare_function *f, void *user_data),
     (queue, data, f, user_data))
PUSH(g_async_queue_push_sorted_unlocked,
     (void *queue, void *data, compare_function *f, void *user_data), (queue, data, f, user_data))

#define POP(name, parameters, arguments)                                              \
	CPA_EXPORT void *name parameters                                              \
	{                                                                             \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(glib, name);           \
		void *data = likely(original) ? CPA_INNER(original arguments) : NULL; \
                                                                                      \
		if (data && !cpa_next_symbol_nested())                                \
			cpa_item_dequeue(queue, (uint64_t)data, NULL, CPA_CALLER());  \
		return data;                                                          \
	}

POP(g_async_queue_pop, (void *queue), (queue))
POP(g_async_queue_pop_unlocked, (void *queue), (queue))
POP(g_async_queue_try_pop, (void *queue), (queue))
POP(g_async_queue_try_pop_unlocked, (void *queue), (queue))
POP(g_async_queue_timeout_pop, (void *queue, uint64_t us), (queue, us))
POP(g_async_queue_timeout_pop_unlocked, (void *queue, uint64_t us), (queue, us))
POP(g_async_queue_timed_pop, (void *queue, struct time_value *end), (queue, end))
POP(g_async_queue_timed_pop_unlocked, (void *queue, struct time_value *end), (queue, end))

/* The item was taken back unprocessed: as if it had never been put. */
#define REMOVE(name)                                                               \
	CPA_EXPORT int name(void *queue, void *data)                               \
	{                                                                          \
		__typeof__(&(name)) original = CPA_NEXT_SYMBOL(glib, name);        \
		int ret = likely(original) ? CPA_INNER(original(queue, data)) : 0; \
                                                                                   \
		if (ret && !cpa_next_symbol_nested())                              \
			cpa_item_refused(queue, (uint64_t)data, CPA_CALLER());     \
		return ret;                                                        \
	}

REMOVE(g_async_queue_remove)
REMOVE(g_async_queue_remove_unlocked)

/*
 * The function behind stand-in number n. `taken` is 1 while it has a pool, or is about to get one;
 * `function` is written once; `pool` is written before the first item is pushed.
 */
struct stand_in {
	uint32_t taken;
	pool_function *function;
	struct pool *pool;
};

static struct stand_in stand_ins[64];

static void run(const struct stand_in *s, void *data, void *user_data)
{
	/* Relaxed: written before the pool was created, or before the item was pushed. */
	pool_function *f = __atomic_load_n(&s->function, __ATOMIC_RELAXED);
	const struct pool *pool = __atomic_load_n(&s->pool, __ATOMIC_RELAXED);
	/* otherwise the program has called pool->func itself */
	bool in_pool = cpa_next_symbol_nested();

	if (likely(in_pool)) {
		cpa_inner_end();
		cpa_item_dequeue(pool, (uint64_t)data, NULL, (uint64_t)f);
	}
	f(data, user_data);
	if (likely(in_pool)) {
		cpa_item_done(pool, (uint64_t)data, (uint64_t)f);
		cpa_completion_offer(pool, (uint64_t)f);
		cpa_inner_begin();
	}
}

#define RUN(n)                                           \
	static void run_##n(void *data, void *user_data) \
	{                                                \
		run(&stand_ins[0##n], data, user_data);  \
	}
#define NAME(n) run_##n,

CPA_NEXT_SYMBOL_64(RUN)
static pool_function *const run_as[64] = { CPA_NEXT_SYMBOL_64(NAME) };

/* Get a stand-in for the function @f: its number, or -1 if none is left. */
static int stand_in_claim(pool_function *f)
{
	for (int i = 0; i < 64; i++) {
		struct stand_in *s = &stand_ins[i];
		pool_function *bound = NULL;
		uint32_t no = 0;

		/*
		 * ACQUIRE: after the last use for the former pool. Pairs with the RELEASE of
		 * `taken`.
		 */
		if (!__atomic_compare_exchange_n(&s->taken, &no, 1, false, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			continue;
		/*
		 * Relaxed: only the thread that has taken it writes; the pool's threads start
		 * later.
		 */
		if (__atomic_compare_exchange_n(&s->function, &bound, f, false, __ATOMIC_RELAXED,
						__ATOMIC_RELAXED) ||
		    bound == f)
			return i;
		/* RELEASE: not changed, free again. */
		__atomic_store_n(&s->taken, 0, __ATOMIC_RELEASE);
	}
	return -1;
}

static void stand_in_release(struct stand_in *s)
{
	/* RELEASE: the old pool no longer uses it. */
	__atomic_store_n(&s->taken, 0, __ATOMIC_RELEASE);
}

/* The stand-in that is the function of @pool; NULL: the function is the program's. */
static struct stand_in *stand_in_of(const struct pool *pool)
{
	for (int i = 0; pool && i < 64; i++)
		if (pool->function == run_as[i])
			return &stand_ins[i];
	return NULL;
}

/* The function for a new pool whose function is @f. */
static pool_function *stand_in_for(pool_function *f, int *number)
{
	*number = f && *cpa_alive && !cpa_next_symbol_nested() ? stand_in_claim(f) : -1;
	return *number < 0 ? f : run_as[*number];
}

static struct pool *made(struct pool *pool, int number)
{
	if (number >= 0 && pool)
		/* Relaxed: a thread that pushes got the pool from this function's return. */
		__atomic_store_n(&stand_ins[number].pool, pool, __ATOMIC_RELAXED);
	else if (number >= 0)
		stand_in_release(&stand_ins[number]);
	return pool;
}

CPA_EXPORT struct pool *g_thread_pool_new(pool_function *f, void *user_data, int most,
					  int exclusive, void **error)
{
	__typeof__(&g_thread_pool_new) original = CPA_NEXT_SYMBOL(glib, g_thread_pool_new);
	int number;

	if (unlikely(!original))
		return NULL;
	f = stand_in_for(f, &number);
	return made(CPA_INNER(original(f, user_data, most, exclusive, error)), number);
}

CPA_EXPORT struct pool *g_thread_pool_new_full(pool_function *f, void *user_data,
					       free_function *free_data, int most, int exclusive,
					       void **error)
{
	__typeof__(&g_thread_pool_new_full) original =
		CPA_NEXT_SYMBOL(glib, g_thread_pool_new_full);
	int number;

	if (unlikely(!original))
		return NULL;
	f = stand_in_for(f, &number);
	return made(CPA_INNER(original(f, user_data, free_data, most, exclusive, error)), number);
}

/* The item is queued even if no thread can be created for it and the original reports that. */
CPA_EXPORT int g_thread_pool_push(struct pool *pool, void *data, void **error)
{
	__typeof__(&g_thread_pool_push) original = CPA_NEXT_SYMBOL(glib, g_thread_pool_push);

	if (unlikely(!original))
		return 0;
	if (likely(data && !cpa_next_symbol_nested())) {
		if (stand_in_of(pool))
			cpa_item_enqueue(pool, (uint64_t)data, NULL, CPA_CALLER());
		else if (*cpa_alive)
			cpa_diag(CPA_DIAG_ITEMS_REFUSED);
	}
	return CPA_INNER(original(pool, data, error));
}

/* This call may create threads. */
CPA_EXPORT int g_thread_pool_set_max_threads(struct pool *pool, int most, void **error)
{
	__typeof__(&g_thread_pool_set_max_threads) original =
		CPA_NEXT_SYMBOL(glib, g_thread_pool_set_max_threads);

	return likely(original) ? CPA_INNER(original(pool, most, error)) : 0;
}

/* A pool that nobody waits for lives on until its last item is done: its stand-in stays. */
CPA_EXPORT void g_thread_pool_free(struct pool *pool, int immediate, int wait)
{
	__typeof__(&g_thread_pool_free) original = CPA_NEXT_SYMBOL(glib, g_thread_pool_free);
	struct stand_in *s = cpa_next_symbol_nested() ? NULL : stand_in_of(pool);

	if (unlikely(!original))
		return;
	CPA_INNER(original(pool, immediate, wait));
	if (s && wait) {
		cpa_completion_join(pool, CPA_CALLER());
		stand_in_release(s);
	}
}
