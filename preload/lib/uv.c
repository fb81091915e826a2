/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/uv.c - uv_queue_work() of libuv
 *
 * A request is an item twice: of the queue "libuv work" until a worker calls work_cb, and of "libuv
 * done" from its return until the loop calls after_work_cb. Both callbacks are replaced by two of
 * ours, of which there are a fixed number: each pair is bound for ever to one pair of the program,
 * so that nothing must be kept for a request. libuv is neither linked nor included.
 */
#include "preload/lib/uv.h"

#include <errno.h>

#include "preload/lib/next_symbol.h"
#include "preload/core/object.h"
#include "shadow/edge/acquire.h"
#include "shadow/edge/fifo.h"

#define REFUSED	 (-ENOSYS) /* UV_ENOSYS */
#define CANCELED (-ECANCELED)

/* The public part of uv_work_t, with the reserved fields between. */
struct request {
	void *data;
	int type;
	void *reserved[6];
	void *loop;
};

typedef void work_function(struct request *request);
typedef void after_function(struct request *request, int status);

int uv_queue_work(void *loop, struct request *request, work_function *work, after_function *after);
size_t uv_loop_size(void); /* not wrapped */

#define FUNCTIONS(F)     \
	F(uv_queue_work) \
	F(uv_loop_size)
CPA_NEXT_SYMBOL_LIBRARY(uv, FUNCTIONS)

/* The queues: only their addresses matter. */
static const char work_queue[16], done_queue[16];

enum { FREE, BINDING, BOUND };

/* Written once, before `state` becomes BOUND. */
struct stand_in {
	uint32_t state;
	work_function *work;
	after_function *after;
};

static struct stand_in stand_ins[64];

/* Key of the completed work of @loop: the loop's own address may be that of a lock or a queue. */
static struct cpa_object *ended_of(struct cpa_worker *w, const void *loop, uint64_t caller)
{
	return cpa_object_of(w, (const char *)loop + 1, CPA_ANNOTATION, caller);
}

/* A worker has completed work of @loop, and is about to wake the loop. */
static void tell_loop(const void *loop, uint64_t caller)
{
	int err = errno;
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;
	uint32_t token;

	if (unlikely(!w))
		return;
	o = ended_of(w, loop, caller);
	cpa_event(w, CPA_EV_BEFORE, caller, o ? o->class : 0);
	token = o ? cpa_token_new(&w->self, &w->self.row->path) : 0;
	if (token)
		cpa_fifo_put(&w->self, o, token);
	cpa_done(w);
	errno = err;
}

/*
 * The loop's thread takes completed work out under a lock in @loop, which makes no edges. That is
 * the only mutex there, and was initialized with the loop.
 */
static void declare_lock(struct cpa_worker *w, const char *loop, size_t size, uint64_t caller)
{
	uint32_t queue = cpa_queue_of(w, done_queue, "libuv done", caller);

	for (const char *p = loop; queue && p < loop + size; p += sizeof(void *)) {
		uint32_t row = cpa_table_find(CPA_TABLE_OBJECTS, cpa_object_key(p));
		const struct cpa_object *o = row ? cpa_row(CPA_TABLE_OBJECTS, row) : NULL;

		if (o && o->kind == CPA_MUTEX) {
			cpa_object_declare(w, p, queue);
			w->loop.lock = o;
		}
	}
}

/* The loop's thread submits work of @loop, which has @size bytes. */
static void note_loop(const void *loop, size_t size, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();

	if (unlikely(!w))
		return;
	/* Its lock is declared again if the loop is a new one. */
	if (unlikely(w->loop.address != loop || !w->loop.lock || !w->loop.lock->queue))
		declare_lock(w, loop, size, caller);
	w->loop.address = loop;
	cpa_leave();
}

/* The loop's thread has submitted work (@change 1), or got some back (-1). */
static void count_work(const void *loop, int change)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;
	uint32_t token;

	if (unlikely(!w))
		return;
	if (change > 0 || w->loop.work)
		w->loop.work += (uint32_t)change;
	/* For loops whose thread waits for events by a call that is not wrapped. */
	o = change < 0 ? ended_of(w, loop, 0) : NULL;
	token = o ? cpa_fifo_take(&w->self, o) : 0;
	if (token)
		cpa_token_free(&w->self, token);
	cpa_leave();
}

struct cpa_op cpa_loop_wait_slow(uint64_t caller)
{
	int err = errno;
	struct cpa_op op = CPA_OP(cpa_enter(), caller);
	const struct cpa_object *o;

	if (!op.w)
		return op;
	o = ended_of(op.w, op.w->loop.address, caller);
	cpa_op_arrive(&op, CPA_EV_AFTER, o ? o->class : 0);
	cpa_op_block(&op);
	errno = err;
	return op;
}

/* Token of the first completed work since the thread began to wait: it woke the thread. 0: none. */
static uint32_t take_first(struct cpa_op *op, struct cpa_object *o)
{
	uint32_t first = 0, token, most = o ? cpa_fifo_most() : 0;

	while (most-- && (token = cpa_fifo_take(&op->w->self, o))) {
		if (!first && cpa_token(token)->path.released > op->arrived)
			first = token;
		else
			cpa_token_free(&op->w->self, token);
	}
	return first;
}

void cpa_loop_woken(struct cpa_op *op)
{
	uint32_t first;

	if (!cpa_op_back(op))
		return;
	/* The inherent path comes with the items. */
	op->wait.observed_only = true;
	first = take_first(op, ended_of(op->w, op->w->loop.address, op->caller));
	cpa_acquire_path(&op->w->self, first ? &cpa_token(first)->path : NULL, &op->wait);
	if (first)
		cpa_token_free(&op->w->self, first);
	cpa_op_end(op, CPA_EXT_POLL);
}

/* In a worker. From its return to the next request, time belongs to the queue. */
static void run(const struct stand_in *s, struct request *request)
{
	const void *loop = request->loop;
	uint64_t caller = (uint64_t)s->work;

	if (cpa_next_symbol_nested())
		cpa_inner_end();
	cpa_item_dequeue(work_queue, (uint64_t)request, "libuv work", caller);
	s->work(request);
	cpa_item_done(work_queue, (uint64_t)request, caller);
	cpa_item_enqueue(done_queue, (uint64_t)request, "libuv done", caller);
	tell_loop(loop, caller);
	cpa_inner_begin();
}

/* In the loop. After the program's callback the request may be freed or submitted again. */
static void after(const struct stand_in *s, struct request *request, int status)
{
	const void *loop = request->loop;
	uint64_t caller = s->after ? (uint64_t)s->after : (uint64_t)s->work;

	count_work(loop, -1);
	if (status == CANCELED)
		cpa_item_refused(work_queue, (uint64_t)request, caller);
	else
		cpa_item_dequeue(done_queue, (uint64_t)request, "libuv done", caller);
	if (s->after)
		s->after(request, status);
	if (status != CANCELED)
		cpa_item_done(done_queue, (uint64_t)request, caller);
}

#define CALLBACKS(n)                                               \
	static void work_##n(struct request *request)              \
	{                                                          \
		run(&stand_ins[0##n], request);                    \
	}                                                          \
	static void after_##n(struct request *request, int status) \
	{                                                          \
		after(&stand_ins[0##n], request, status);          \
	}
#define WORK_NAME(n)  work_##n,
#define AFTER_NAME(n) after_##n,

CPA_NEXT_SYMBOL_64(CALLBACKS)
static work_function *const work_as[64] = { CPA_NEXT_SYMBOL_64(WORK_NAME) };
static after_function *const after_as[64] = { CPA_NEXT_SYMBOL_64(AFTER_NAME) };

/* Number of the pair of ours for this pair of callbacks; -1: none is left. */
static int stand_in_for(work_function *work_cb, after_function *after_cb)
{
	for (int i = 0; i < 64; i++) {
		struct stand_in *s = &stand_ins[i];
		uint32_t state = FREE;

		/* ACQUIRE: the pair is complete. Pairs with the RELEASE below. */
		if (__atomic_compare_exchange_n(&s->state, &state, BINDING, false, __ATOMIC_ACQUIRE,
						__ATOMIC_ACQUIRE)) {
			s->work = work_cb;
			s->after = after_cb;
			/* RELEASE: the pair is complete. */
			__atomic_store_n(&s->state, BOUND, __ATOMIC_RELEASE);
			return i;
		}
		/*
		 * Another thread may be binding the same pair: two entries for one pair do no harm.
		 */
		if (state == BOUND && s->work == work_cb && s->after == after_cb)
			return i;
	}
	return -1;
}

CPA_EXPORT int uv_queue_work(void *loop, struct request *request, work_function *work_cb,
			     after_function *after_cb)
{
	__typeof__(&uv_queue_work) original = CPA_NEXT_SYMBOL(uv, uv_queue_work);
	__typeof__(&uv_loop_size) size = CPA_NEXT_SYMBOL(uv, uv_loop_size);
	uint64_t caller = CPA_CALLER();
	int number, ret;

	if (unlikely(!original))
		return REFUSED;
	number = work_cb && *cpa_alive && !cpa_next_symbol_nested() ?
			 stand_in_for(work_cb, after_cb) :
			 -1;
	if (number < 0) {
		if (work_cb && *cpa_alive)
			cpa_diag(CPA_DIAG_ITEMS_REFUSED);
		return CPA_INNER(original(loop, request, work_cb, after_cb));
	}
	note_loop(loop, size ? size() : 0, caller);
	cpa_item_enqueue(work_queue, (uint64_t)request, "libuv work", caller);
	ret = CPA_INNER(original(loop, request, work_as[number], after_as[number]));
	if (unlikely(ret))
		cpa_item_refused(work_queue, (uint64_t)request, caller);
	else
		count_work(loop, 1);
	return ret;
}
