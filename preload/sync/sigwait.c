/* SPDX-License-Identifier: MIT */
/*
 * preload/sync/sigwait.c - signals as synchronization: pthread_kill() to sigwait() or a handler
 *
 * The signal of another thread often ends such a wait, or gives it work. All waits and sends of the
 * process share one object, because any waiting thread may take a signal. If a signal from another
 * process ends the wait, it was external time.
 *
 * sigwait() takes one signal that was sent: its waits are counted. Waits for a handler:
 * preload/core/suspend.h.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "preload/core/object.h"
#include "preload/libc/real.h"
#include "preload/core/sampler.h"
#include "preload/core/signal.h"
#include "preload/core/suspend.h"
#include "preload/core/op.h"
#include "shadow/arch/arch.h"
#include "shadow/edge/cell.h"

/* Its address is the key of the object. */
static const uint64_t everybody;

/*
 * Atomic, by signal number: threads that wait for the signal. Too high after a thread jumped out of
 * a wait.
 */
static uint32_t waiting_for[_NSIG];

struct signal_wait {
	struct cpa_op op;
	const sigset_t *set;
	struct cpa_object *object;
};

/*
 * Add @change to the number of threads that wait for each signal of @set. @set NULL: the original
 * will refuse it.
 */
static void count(const sigset_t *set, uint32_t change)
{
	for (int sig = 1; set && sig < _NSIG; sig++)
		if (sigismember(set, sig) > 0)
			/* Relaxed: a signal sent before this is not the one that ends the wait. */
			__atomic_fetch_add(&waiting_for[sig], change, __ATOMIC_RELAXED);
}

static struct cpa_object *object_of(struct cpa_worker *w, uint64_t caller)
{
	return cpa_object_of(w, &everybody, CPA_SIGNALS, caller);
}

static void begin(struct signal_wait *wait)
{
	struct cpa_op *op = &wait->op;

	if (!op->w)
		return;
	wait->object = object_of(op->w, op->caller);
	cpa_op_arrive(op, CPA_EV_SLEEP, wait->object ? wait->object->class : 0);
	if (wait->object)
		cpa_wait_begin(wait->object);
	count(wait->set, 1);
	cpa_op_block(op);
}

static void end(struct signal_wait *wait, bool woken, bool timeout)
{
	struct cpa_op *op = &wait->op;

	if (!cpa_op_back(op)) {
		cpa_op_missed(op, NULL, CPA_SIGNALS);
		return;
	}
	if (op->blocked)
		count(wait->set, UINT32_MAX);
	else
		cpa_op_arrive(op, CPA_EV_SLEEP, 0);
	if (wait->object)
		cpa_wait_end(&op->w->self, wait->object, woken, NULL, &op->wait);
	else
		cpa_acquire_path(&op->w->self, NULL, &op->wait);
	cpa_op_end(op, timeout ? CPA_EXT_TIMEOUT : CPA_EXT_SIGNAL);
}

/* A cancelled wait was not woken. */
static void cancelled(void *wait)
{
	end(wait, false, false);
}

/* Evaluate @call, the original, between begin() and end(). */
#define WAIT(call, woken, timeout)                                                    \
	({                                                                            \
		struct signal_wait wait_ = { .op = CPA_OP(cpa_enter(), CPA_CALLER()), \
					     .set = set };                            \
		int ret_;                                                             \
                                                                                      \
		begin(&wait_);                                                        \
		pthread_cleanup_push(cancelled, &wait_);                              \
		ret_ = (call);                                                        \
		pthread_cleanup_pop(0);                                               \
		end(&wait_, woken, timeout);                                          \
		ret_;                                                                 \
	})

static struct timespec time_left(const struct timespec *until)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	now.tv_sec = until->tv_sec - now.tv_sec;
	now.tv_nsec = until->tv_nsec - now.tv_nsec;
	if (now.tv_nsec < 0) {
		now.tv_sec--;
		now.tv_nsec += 1000000000;
	}
	return now.tv_sec < 0 ? (struct timespec){ 0, 0 } : now;
}

/*
 * Wait with the original. If the program blocks all signals and waits for all, the sampler's
 * signals are pending as well: skip them. @timeout may be NULL.
 */
static int wait_for(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	struct timespec until, left;
	siginfo_t own;
	int ret = REAL(sigtimedwait)(set, info ? info : &own, timeout);

	if (likely(ret != CPA_SIGNAL || !cpa_signal_is_ours(info ? info : &own)))
		return ret;
	clock_gettime(CLOCK_MONOTONIC, &until);
	if (timeout) {
		until.tv_sec += timeout->tv_sec + (until.tv_nsec + timeout->tv_nsec) / 1000000000;
		until.tv_nsec = (until.tv_nsec + timeout->tv_nsec) % 1000000000;
	}
	do {
		left = time_left(&until);
		ret = REAL(sigtimedwait)(set, info ? info : &own, timeout ? &left : NULL);
	} while (ret == CPA_SIGNAL && cpa_signal_is_ours(info ? info : &own));
	return ret;
}

/* Wait as sigwait() does, which goes on after a handler has run. */
static int wait_for_one(const sigset_t *set, int *sig)
{
	int ret;

	do
		ret = wait_for(set, NULL, NULL);
	while (ret < 0 && errno == EINTR);
	if (ret < 0)
		return errno;
	*sig = ret;
	return 0;
}

CPA_EXPORT int sigwait(const sigset_t *restrict set, int *restrict sig)
{
	return WAIT(wait_for_one(set, sig), !ret_, false);
}

CPA_EXPORT int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
	return WAIT(wait_for(set, info, NULL), ret_ > 0, false);
}

CPA_EXPORT int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
			    const struct timespec *restrict timeout)
{
	return WAIT(wait_for(set, info, timeout), ret_ > 0, errno == EAGAIN);
}

/*
 * The thread is about to send @sig within the process, or, if @to_self, to itself: that ends no wait of
 * another thread for a handler. The signal may interrupt this very thread, so our code ends before. A
 * thread that waits for other signals goes on waiting after a handler. Return whether cpa_suspend_sent()
 * is to follow.
 */
static bool sending(int sig, bool to_self, uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o, *h;

	if (!w)
		return false;
	h = to_self ? NULL : cpa_suspend_handlers(w, caller);
	/* Relaxed: a hint; in most programs no thread waits for signals. */
	o = sig < _NSIG && __atomic_load_n(&waiting_for[sig], __ATOMIC_RELAXED) ?
		    object_of(w, caller) :
		    NULL;
	if (!o && !h) {
		cpa_leave();
		return false;
	}
	cpa_event(w, CPA_EV_SIGNAL, caller, o ? o->class : h->class);
	if (o)
		cpa_wake(&w->self, o, 1);
	if (h) {
		cpa_cell_release(&w->self, &h->merged, &w->self.row->path);
		cpa_suspend_sending(w->self.row);
	}
	cpa_done(w);
	return h;
}

/* Evaluate @call, which sends @sig within the process if @within; @to_self: to the calling thread. */
#define SEND_WITHIN(call, within, to_self)                                      \
	({                                                                      \
		bool sent_ = (within) && sending(sig, (to_self), CPA_CALLER()); \
                                                                                \
		if (unlikely(sig == CPA_SIGNAL))                                \
			cpa_signal_sent();                                      \
		int result_ = (call);                                           \
                                                                                \
		if (unlikely(sent_))                                            \
			cpa_suspend_sent();                                     \
		result_;                                                        \
	})

/* Evaluate @call, which sends @sig to the calling thread if @to_self. */
#define SEND(call, to_self)                                                \
	({                                                                 \
		struct itimerspec timer_;                                  \
		bool hushed_ = unlikely(sig == CPA_SIGNAL) && (to_self) && \
			       cpa_sampler_hush(&timer_);                  \
		int ret_ = (call);                                         \
                                                                           \
		if (unlikely(hushed_))                                     \
			cpa_sampler_unhush(&timer_);                       \
		ret_;                                                      \
	})

CPA_EXPORT int raise(int sig)
{
	return SEND_WITHIN(SEND(REAL(raise)(sig), true), false, true);
}

static bool is_self(pthread_t thread)
{
	return pthread_equal(thread, pthread_self());
}

CPA_EXPORT int pthread_kill(pthread_t thread, int sig)
{
	return SEND_WITHIN(SEND(REAL(pthread_kill)(thread, sig), is_self(thread)), sig > 0,
			   is_self(thread));
}

CPA_OLDER(pthread_kill, CPA_ARCH_GLIBC_FIRST); /* this version reports a thread that has ended */
int pthread_kill_older(pthread_t thread, int sig)
{
	return SEND_WITHIN(REAL_VERSION(pthread_kill, CPA_ARCH_GLIBC_FIRST)(thread, sig), sig > 0,
			   is_self(thread));
}

CPA_EXPORT int pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	return SEND_WITHIN(REAL(pthread_sigqueue)(thread, sig, value), sig > 0, is_self(thread));
}

CPA_EXPORT int kill(pid_t pid, int sig)
{
	return SEND_WITHIN(REAL(kill)(pid, sig), sig > 0 && *cpa_alive && pid == getpid(), false);
}
