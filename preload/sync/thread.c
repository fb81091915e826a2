/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/thread.c - pthread_create(), join, detach, names; thrd_*
 *
 * The creator claims the row of the new thread and registers it under its pthread_t, so that a join
 * finds the right row even if an earlier thread had the same address. A thread ends for cpa in the
 * last round of its thread-specific destructors: other destructors, which may use locks, have run
 * by then.
 */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "preload/code/module.h"
#include "preload/process/attach.h"
#include "preload/process/life.h"
#include "preload/core/identity.h"
#include "preload/core/name.h"
#include "preload/core/object.h"
#include "preload/core/op.h"
#include "preload/core/window.h"
#include "preload/libc/fd_guard.h"
#include "preload/libc/pool.h"
#include "preload/libc/real.h"
#include "preload/libc/signal_mask.h"
#include "preload/sync/std_thread.h"
#include "preload/core/track.h"
#include "shadow/graph/component.h"
#include "shadow/graph/role.h"
#include "shadow/journal/journal.h"
#include "shadow/path/path.h"
#include "shadow/edge/thread.h"
#include "shadow/path/token.h"

/* Allocated by the creator for start(); the new thread gives it back. */
struct beginning {
	void *(*routine)(void *);
	int (*c11_routine)(void *);
	void *argument;
	uint32_t row;	    /* thread row */
	uint32_t component; /* of its start routine; 0: profiling was off */
	uint32_t token;	    /* token with the creator's path; 0: none */
	uint64_t created;   /* tick of the call, if profiling was off; else 0 */
	uint64_t epoch;	    /* part that the creator was in */
	bool detached;
	/* created by the code of a work queue: its time is the queue's until it calls back */
	bool inner;
	uint64_t caller;
	uint64_t stack; /* bytes of its stack at least */
};

void cpa_thread_register(pthread_t thread, uint32_t row)
{
	uint32_t number = cpa_object_row((const void *)thread);

	if (number) {
		struct cpa_object *o = cpa_row(CPA_TABLE_OBJECTS, number);

		o->kind = CPA_HANDLE;
		o->depth = row;
	}
}

/* The row registered for @thread; 0: none. */
static uint32_t row_of(pthread_t thread)
{
	uint32_t number = cpa_table_find(CPA_TABLE_OBJECTS, cpa_object_key((const void *)thread));
	const struct cpa_object *o = number ? cpa_row(CPA_TABLE_OBJECTS, number) : NULL;

	return o && o->kind == CPA_HANDLE ? o->depth : 0;
}

static uint64_t purpose(const struct beginning *b)
{
	return b->routine ? cpa_std_thread_function((uint64_t)b->routine, b->argument) :
			    (uint64_t)b->c11_routine;
}

static uint32_t component_of(uint64_t routine)
{
	struct cpa_component_name name = { .kind = CPA_THREAD, .address = routine };

	name.module = cpa_module_place(&name.address);
	return cpa_component_intern(&name);
}

/* The calling thread begins. Inside our code. */
static void begin(const struct beginning *b)
{
	struct cpa_wait wait = { 0 };
	struct cpa_thread_start start = { .row = b->row, .component = b->component };
	struct cpa_worker *w;

	if (b->token) {
		start.from = &cpa_token(b->token)->path;
		start.created = start.from->released;
	}
	w = cpa_worker_begin(&start, &wait);
	if (!w)
		return;
	w->self.row->before += w->clock.cpu;
	cpa_thread_register(pthread_self(), b->row);
	w->self.inner = b->inner;
	w->window.epoch = b->epoch;
	if (b->detached)
		cpa_thread_detached(b->row);
	if (b->token)
		cpa_token_free(&w->self, b->token);
	w->self.row->node = cpa_track_node(w, CPA_EV_START, purpose(b), 0);
	if (wait.from)
		cpa_dependency(&w->self, &wait, wait.now - cpa_header()->start_ticks);
	cpa_done(w);
}

/*
 * The calling thread begins while profiling is off. It gets a worker all the same, as it may have no event: the
 * sampler's timer then tells it of the next part of the run.
 */
static void begin_off(const struct beginning *b)
{
	sigset_t before = cpa_signal_hold(); /* as in cpa_enter_slow() */

	cpa_tls.routine = purpose(b);
	cpa_worker_attach(b->row, b->created, &before);
	if (b->detached)
		cpa_thread_detached(b->row);
	cpa_signal_let(&before);
}

static struct beginning take(void *argument)
{
	struct beginning b = *(struct beginning *)argument;

	if (!*cpa_alive)
		return b;
	cpa_reenter();
	cpa_pool_give(CPA_POOL_BEGINNINGS, argument);
	cpa_tls.stack = b.stack;
	if (likely(!b.created))
		begin(&b);
	else
		begin_off(&b);
	cpa_leave();
	return b;
}

static void returned(const char *scope)
{
	(void)scope;
	cpa_fd_guard_ended(); /* not every thread has our key */
	cpa_thread_returned();
}

/* Not only at the return: after pthread_exit() or a cancellation, unwinding ends the scope. */
#define ROUTINE_SCOPE char scope __attribute__((cleanup(returned), unused)) = 0

static void *start(void *argument)
{
	struct beginning b = take(argument);
	ROUTINE_SCOPE;

	return b.routine(b.argument);
}

static int start_c11(void *argument)
{
	struct beginning b = take(argument);
	ROUTINE_SCOPE;

	return b.c11_routine(b.argument);
}

/* Prepare the creation of a thread, and stay inside. NULL: create it without us, outside. */
static struct beginning *prepare(struct cpa_worker *w, const struct beginning *b)
{
	struct beginning *copy = cpa_pool_take(CPA_POOL_BEGINNINGS, sizeof(*copy));

	if (!copy) {
		cpa_leave();
		return NULL;
	}
	*copy = *b;
	copy->inner = w->self.inner > 0;
	copy->epoch = w->window.epoch;
	cpa_event(w, CPA_EV_CREATE, b->caller, 0);
	copy->component = component_of(purpose(b));
	copy->row = cpa_thread_claim(w->self.process, copy->component);
	if (!copy->row) {
		cpa_pool_give(CPA_POOL_BEGINNINGS, copy);
		cpa_done(w);
		return NULL;
	}
	cpa_journal_release(&w->self, NULL, 0, 1);
	copy->token = cpa_token_new(&w->self, &w->self.row->path);
	return copy;
}

/* prepare() while profiling is off. Outside our code. NULL: create it without us. */
static struct beginning *prepare_off(const struct beginning *b)
{
	struct beginning *copy;

	if (!*cpa_alive || cpa_tls.inside)
		return NULL;
	cpa_reenter();
	copy = cpa_pool_take(CPA_POOL_BEGINNINGS, sizeof(*copy));
	if (copy) {
		*copy = *b;
		copy->created = cpa_clock_now();
		copy->row = cpa_thread_claim(cpa_process_number, 0);
	}
	if (copy && !copy->row) {
		cpa_pool_give(CPA_POOL_BEGINNINGS, copy);
		copy = NULL;
	}
	cpa_leave();
	return copy;
}

/*
 * The creation has ended. @w: NULL if profiling was off. On success the new thread owns @copy, so @row is
 * passed separately.
 */
static void created(struct cpa_worker *w, struct beginning *copy, uint32_t row, pthread_t thread,
		    bool success)
{
	if (!w)
		cpa_reenter();
	if (success) {
		cpa_thread_register(thread, row);
	} else {
		if (copy->token)
			cpa_token_free(&w->self, copy->token);
		cpa_pool_give(CPA_POOL_BEGINNINGS, copy);
		cpa_thread_joined(row);
	}
	if (w)
		cpa_done(w);
	else
		cpa_leave();
}

#define SMALL_STACK (256u << 10)
#define OUR_STACK   8192u /* bytes of our TLS and our functions; a signal frame comes on top */

/*
 * @attr, or @copy of it with a larger stack: a small stack may have no room for our code. A stack
 * that the program provides is not changed. The memory that a pthread_attr_t points to is shared.
 */
static const pthread_attr_t *with_room(const pthread_attr_t *attr, pthread_attr_t *copy)
{
	size_t size, more = OUR_STACK + getauxval(AT_MINSIGSTKSZ);
	void *stack;

	/*
	 * Without a stack of the program, glibc returns a lower end as if the upper end were NULL.
	 */
	if (!attr || pthread_attr_getstack(attr, &stack, &size) || !size || size >= SMALL_STACK ||
	    (uintptr_t)stack + size)
		return attr;
	*copy = *attr;
	return pthread_attr_setstacksize(copy, size + more) ? attr : copy;
}

/* Bytes of the stack of a thread with @attr, NULL: the default. Takes the lock that its creation takes. */
static size_t stack_size(const pthread_attr_t *attr)
{
	pthread_attr_t usual;
	size_t size = 0;

	if (attr) {
		pthread_attr_getstacksize(attr, &size);
		return size;
	}
	if (pthread_attr_init(&usual))
		return 0;
	pthread_attr_getstacksize(&usual, &size);
	pthread_attr_destroy(&usual);
	return size;
}

CPA_EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *asked,
			      void *(*routine)(void *), void *argument)
{
	pthread_attr_t roomy;
	const pthread_attr_t *attr = with_room(asked, &roomy);
	struct cpa_worker *w = cpa_enter();
	struct beginning b = { .routine = routine,
			       .argument = argument,
			       .caller = CPA_CALLER(),
			       .stack = stack_size(attr) };
	struct beginning *copy;
	int state = PTHREAD_CREATE_JOINABLE, ret;
	uint32_t row;

	if (attr && !pthread_attr_getdetachstate(attr, &state))
		b.detached = state == PTHREAD_CREATE_DETACHED;
	copy = w ? prepare(w, &b) : prepare_off(&b);
	if (!copy)
		return REAL(pthread_create)(thread, attr, routine, argument);
	row = copy->row;
	ret = REAL(pthread_create)(thread, attr, start, copy);
	/*
	 * A detached thread may have ended, and its pthread_t be reused. It has registered itself.
	 */
	if (ret || !b.detached)
		created(w, copy, row, ret ? 0 : *thread, !ret);
	else if (w)
		cpa_done(w);
	return ret;
}

CPA_EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
	struct cpa_worker *w = cpa_enter();
	struct beginning b = { .c11_routine = routine,
			       .argument = argument,
			       .caller = CPA_CALLER(),
			       .stack = stack_size(NULL) };
	struct beginning *copy = w ? prepare(w, &b) : prepare_off(&b);
	uint32_t row;
	int ret;

	if (!copy)
		return REAL(thrd_create)(thread, routine, argument);
	row = copy->row;
	ret = REAL(thrd_create)(thread, start_c11, copy);
	created(w, copy, row, ret == thrd_success ? *thread : 0, ret == thrd_success);
	return ret;
}

struct join_op {
	struct cpa_op op;
	pthread_t thread;
	uint32_t row; /* row of the thread; 0: not known */
};

/* Prepare a join that does not block. If @join.op.w is set, the thread is inside our code. */
static struct join_op join_try(pthread_t thread, uint64_t caller)
{
	struct join_op join = { .op = CPA_OP(cpa_enter(), caller), .thread = thread };

	if (likely(*cpa_alive))
		join.row = row_of(thread);
	return join;
}

static struct join_op join_begin(pthread_t thread, uint64_t caller)
{
	struct join_op join = join_try(thread, caller);

	if (likely(join.op.w)) {
		cpa_op_arrive(&join.op, CPA_EV_JOIN, 0);
		cpa_op_block(&join.op);
	}
	return join;
}

/*
 * The row of @thread after its join. It had none at the begin of the join, as it was created while
 * profiling was off. A thread that has got the same pthread_t since then still runs.
 */
static uint32_t late_row_of(pthread_t thread)
{
	uint32_t number = *cpa_alive ? row_of(thread) : 0;
	const struct cpa_thread *row = number ? cpa_row(CPA_TABLE_THREADS, number) : NULL;

	/* ACQUIRE pairs with cpa_thread_end(). */
	return row && __atomic_load_n(&row->state, __ATOMIC_ACQUIRE) == CPA_THREAD_EXITED ? number :
											    0;
}

/* The thread is gone. Another may get its pthread_t, or has got it already. */
static void gone(const struct join_op *join)
{
	uint32_t number =
		cpa_table_find(CPA_TABLE_OBJECTS, cpa_object_key((const void *)join->thread));
	struct cpa_object *o = number ? cpa_row(CPA_TABLE_OBJECTS, number) : NULL;

	if (o && o->kind == CPA_HANDLE && o->depth == join->row)
		o->depth = 0;
	cpa_thread_joined(join->row);
}

/* The join returned while profiling is off: free the row all the same. */
static void join_end_off(const struct join_op *join)
{
	if (!join->row || !*cpa_alive || cpa_tls.inside)
		return;
	cpa_reenter();
	gone(join);
	cpa_leave();
}

/* The join has returned. @joined: the thread is gone. @timeout: the wait timed out. */
static void join_end(struct join_op *join, bool joined, bool timeout)
{
	struct cpa_op *op = &join->op;
	const struct cpa_thread *other;

	if (!joined)
		join->row = 0;
	else if (unlikely(!join->row))
		join->row = late_row_of(join->thread);
	if (!joined && !op->w)
		return;
	if (!cpa_op_back(op)) {
		cpa_op_missed(op, NULL, CPA_HANDLE);
		join_end_off(join);
		return;
	}
	if (!op->blocked)
		cpa_op_arrive(op, CPA_EV_JOIN, 0);
	other = join->row ? cpa_row(CPA_TABLE_THREADS, join->row) : NULL;
	cpa_acquire_path(&op->w->self, other ? &other->path : NULL, &op->wait);
	cpa_op_explain(op, timeout ? CPA_EXT_TIMEOUT : CPA_EXT_UNSEEN);
	if (other)
		gone(join);
	cpa_op_done(op);
}

CPA_EXPORT int pthread_join(pthread_t thread, void **result)
{
	struct join_op op = join_begin(thread, CPA_CALLER());
	int ret = REAL(pthread_join)(thread, result);

	join_end(&op, !ret, false);
	return ret;
}

CPA_EXPORT int pthread_tryjoin_np(pthread_t thread, void **result)
{
	struct join_op join = join_try(thread, CPA_CALLER());
	int ret = REAL(pthread_tryjoin_np)(thread, result);

	if (ret && join.op.w) {
		cpa_op_back(&join.op);
		cpa_event(join.op.w, CPA_EV_TRY_FAILED, join.op.caller, 0);
		cpa_op_done(&join.op);
	} else {
		join_end(&join, !ret, false);
	}
	return ret;
}

CPA_EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until)
{
	struct join_op op = join_begin(thread, CPA_CALLER());
	int ret = REAL(pthread_timedjoin_np)(thread, result, until);

	join_end(&op, !ret, ret == ETIMEDOUT);
	return ret;
}

CPA_EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				    const struct timespec *until)
{
	struct join_op op = join_begin(thread, CPA_CALLER());
	int ret = REAL(pthread_clockjoin_np)(thread, result, clock, until);

	join_end(&op, !ret, ret == ETIMEDOUT);
	return ret;
}

CPA_EXPORT int thrd_join(thrd_t thread, int *result)
{
	struct join_op op = join_begin(thread, CPA_CALLER());
	int ret = REAL(thrd_join)(thread, result);

	join_end(&op, ret == thrd_success, false);
	return ret;
}

/* Nobody will join @thread. Noted before the call, after which it may be gone. */
static void detaching(pthread_t thread)
{
	struct cpa_worker *w = cpa_enter_any();
	uint32_t row;

	if (!w)
		return;
	row = row_of(thread);
	if (row && cpa_thread_detached(row))
		cpa_thread_register(thread, 0);
	cpa_leave();
}

CPA_EXPORT int pthread_detach(pthread_t thread)
{
	detaching(thread);
	return REAL(pthread_detach)(thread);
}

CPA_EXPORT int thrd_detach(thrd_t thread)
{
	detaching(thread);
	return REAL(thrd_detach)(thread);
}

/*
 * The calling thread has the name @name now. What it did under another name ends here; what it did
 * before it had any counts for the first.
 */
static void name_self(struct cpa_worker *w, const char *name, uint64_t caller)
{
	int err = errno;
	uint32_t role = cpa_role_of(name);
	bool ends = cpa_role_ends(&w->self, role);

	if (ends)
		cpa_event(w, CPA_EV_NAME, caller, 0);
	cpa_name_set(w->self.number, name, role);
	cpa_name_now(pthread_self());
	cpa_role_take(&w->self);
	if (ends)
		cpa_done(w);
	else
		cpa_leave();
	errno = err;
}

/* Whether the caller is a child of vfork(), which has a name of its own, and the thread's memory. */
static bool is_another_process(void)
{
	return *cpa_alive && !cpa_process_is_this();
}

CPA_EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	int ret = REAL(pthread_setname_np)(thread, name);
	struct cpa_worker *w;

	if (ret || is_another_process())
		return ret;
	w = cpa_enter();
	if (!w) {
		cpa_name_later(thread, name);
	} else if (thread == pthread_self()) {
		name_self(w, name, CPA_CALLER());
	} else {
		int err = errno;
		uint32_t row = row_of(thread);

		if (row) {
			cpa_name_set(row, name, cpa_role_of(name));
			cpa_name_now(thread);
		} else {
			cpa_name_later(thread, name);
		}
		cpa_leave();
		errno = err;
	}
	return ret;
}

void cpa_thread_named(const char *name, uint64_t caller)
{
	struct cpa_worker *w;

	if (is_another_process())
		return;
	w = cpa_enter();
	if (w)
		name_self(w, name, caller);
	else
		cpa_name_later(pthread_self(), name);
}
