/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/futex.c - syscall(): futex waits and wakes, and other calls that matter
 *
 * The standard library of Rust and std::atomic of C++20 wait this way. Code that takes a free lock
 * makes no system call, and is not seen; the report gives the number of futex calls.
 */
#include <errno.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/process/seccomp.h"
#include "preload/process/limit.h"
#include "preload/process/life.h"
#include "preload/core/object.h"
#include "preload/core/op.h"
#include "preload/libc/real.h"
#include "preload/process/setuid.h"
#include "preload/process/wait.h"
#include "preload/stream/holders.h"

struct futex_call {
	long argument[6];
	uint64_t caller;
};

#define ORIGINAL(number, a) REAL(syscall)(number, (a)[0], (a)[1], (a)[2], (a)[3], (a)[4], (a)[5])

/*
 * Whether the word is a lock of OpenMP. Then its runtime makes the call: libomp does, where KMP_LOCK_KIND is
 * futex. It is a part of what the lock's wrapper records: preload/omp/lock.c.
 */
static bool is_of_lock(const struct futex_call *call)
{
	return unlikely(cpa_object_has(CPA_OMP_LOCK)) && *cpa_alive && !cpa_tls.inside &&
	       cpa_object_is((const void *)call->argument[0], CPA_OMP_LOCK);
}

static struct cpa_object *object_of(struct cpa_worker *w, const struct futex_call *call)
{
	return cpa_object_of(w, (const void *)call->argument[0], CPA_FUTEX, call->caller);
}

/* The wait of @op has ended; @o: the word's shadow, or NULL. Leaves. */
static void waited(struct cpa_op *op, struct cpa_object *o, bool woken)
{
	uint64_t length = cpa_op_waited(op); /* the join may move the end behind that of the part */

	if (o) {
		if (op->blocked)
			cpa_wait_end(&op->w->self, o, woken, NULL, &op->wait);
		else
			cpa_acquire_path(&op->w->self, NULL, &op->wait);
		/* Relaxed: several threads count; sums only. */
		__atomic_fetch_add(&o->acquisitions, woken, __ATOMIC_RELAXED);
		__atomic_fetch_add(&o->wait, length, __ATOMIC_RELAXED);
	} else {
		cpa_acquire_path(&op->w->self, NULL, &op->wait);
	}
	/* A waker did not know of a wait that began while profiling was off. */
	if (woken && op->blocked)
		cpa_op_explain_wake(op);
	else
		cpa_op_explain(op, CPA_EXT_TIMEOUT);
	cpa_op_done(op);
}

static long wait_call(const struct futex_call *call)
{
	struct cpa_op op = CPA_OP(cpa_enter(), call->caller);
	struct cpa_object *o = NULL;
	long ret;

	if (likely(op.w)) {
		cpa_diag(CPA_DIAG_FUTEX_CALLS);
		o = object_of(op.w, call);
		cpa_op_arrive(&op, CPA_EV_FUTEX_WAIT, o ? o->class : 0);
		if (o)
			cpa_wait_begin(o);
		cpa_op_block(&op);
	}
	ret = ORIGINAL(SYS_futex, call->argument);
	if (!cpa_op_back(&op)) {
		cpa_op_missed(&op, (const void *)call->argument[0], CPA_FUTEX);
		return ret;
	}
	if (!op.blocked) {
		o = object_of(op.w, call);
		cpa_op_arrive(&op, CPA_EV_FUTEX_WAIT, o ? o->class : 0);
	}
	waited(&op, o, ret == 0);
	return ret;
}

static long wake_call(const struct futex_call *call)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;
	uint32_t granted = 0, most = (uint32_t)call->argument[2];
	long ret;
	int err;

	if (unlikely(!w))
		return ORIGINAL(SYS_futex, call->argument);
	cpa_diag(CPA_DIAG_FUTEX_CALLS);
	o = object_of(w, call);
	cpa_event(w, CPA_EV_FUTEX_WAKE, call->caller, o ? o->class : 0);
	if (o)
		granted = cpa_wake(&w->self, o, most);
	/*
	 * Inside our code: the call does not block, and if fewer were woken than granted, the rest
	 * is taken back before another thread wakes.
	 */
	ret = ORIGINAL(SYS_futex, call->argument);
	err = errno;
	if (granted && ret < (long)granted)
		cpa_wake_undo(&w->self, o, granted - (uint32_t)(ret > 0 ? ret : 0));
	cpa_done(w);
	errno = err;
	return ret;
}

static bool is_fork(long number)
{
#if defined(SYS_fork) && defined(SYS_vfork)
	if (number == SYS_fork || number == SYS_vfork)
		return true;
#endif
	return number == SYS_clone || number == SYS_clone3;
}

CPA_EXPORT long syscall(long number, ...)
{
	struct futex_call call = { .caller = CPA_CALLER() };
	va_list args;
	long command;

	/*
	 * A system call has at most six arguments; those that were not passed are read and not
	 * used.
	 */
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		call.argument[i] = va_arg(args, long);
	va_end(args);
	if (likely(number != SYS_futex)) {
		if (unlikely(number == SYS_prctl || number == SYS_seccomp))
			cpa_seccomp_before_call(number, call.argument);
		if (unlikely(cpa_setuid_is_call(number)))
			return cpa_setuid_call(number, call.argument);
		if (unlikely(number == SYS_setrlimit || number == SYS_prlimit64))
			return cpa_limit_call(number, call.argument);
		if (unlikely(cpa_child_is_call(number)))
			return cpa_child_call(number, call.argument, call.caller);
		if (unlikely(number == SYS_exit_group))
			cpa_life_end();
		if (unlikely(is_fork(number)))
			cpa_holders_astray();
		return ORIGINAL(number, call.argument);
	}
	command = call.argument[1] & FUTEX_CMD_MASK;
	if ((command != FUTEX_WAIT && command != FUTEX_WAIT_BITSET && command != FUTEX_WAKE &&
	     command != FUTEX_WAKE_BITSET) ||
	    !call.argument[0] || /* there is no word: the call is refused */
	    is_of_lock(&call))
		return ORIGINAL(number, call.argument);
	return command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET ? wait_call(&call) :
								       wake_call(&call);
}
