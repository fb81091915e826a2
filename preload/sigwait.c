/* SPDX-License-Identifier: MIT */
/*
 * preload/sigwait.c - signals as synchronization: pthread_kill() to sigwait()
 *
 * A thread that waits for signals is often ended, or given work, by another thread's signal. All
 * such waits and sends of the process share one object, as a send may be to any thread that
 * waits. A wait ended by a signal from elsewhere is external time.
 */
#include "preload/sigwait.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "preload/object.h"
#include "preload/process.h"
#include "preload/real.h"
#include "preload/signal.h"
#include "preload/track.h"

static const uint64_t everybody; /* its address stands for the object */

static struct cpa_object *object_of(struct cpa_worker *w, uint64_t caller)
{
	return cpa_object_of(w, &everybody, CPA_SIGNALS, caller);
}

static void begin(struct cpa_signal_wait *wait)
{
	if (!wait->w)
		return;
	wait->object = object_of(wait->w, wait->caller);
	wait->arrived = cpa_event(wait->w, CPA_EV_SLEEP, wait->caller,
				  wait->object ? wait->object->class : 0);
	if (wait->object) {
		struct cpa_wait left = { .arrived = wait->arrived, .now = wait->arrived };

		/* A handler jumped out of the last one. */
		if (unlikely(wait->w->suspended))
			cpa_wait_end(&wait->w->self, wait->object, false, NULL, &left);
		cpa_wait_begin(wait->object);
	}
	cpa_leave();
}

static void end(struct cpa_signal_wait *wait, bool woken, bool timeout)
{
	struct cpa_wait result = { 0 };
	int err = errno;

	if (!wait->w)
		return;
	result.now = cpa_waited(wait->w, &wait->arrived);
	result.arrived = wait->arrived;
	if (wait->object)
		cpa_wait_end(&wait->w->self, wait->object, woken, NULL, &result);
	else
		cpa_acquire_path(&wait->w->self, NULL, &result);
	if (result.from)
		cpa_dependency(&wait->w->self, &result, result.now - wait->arrived);
	if (!result.matched)
		cpa_unexplained(wait->w, timeout ? CPA_EXT_TIMEOUT : CPA_EXT_SIGNAL,
				result.now - wait->arrived);
	cpa_done(wait->w);
	errno = err;
}

/* A cancelled wait was not woken. */
static void cancelled(void *wait)
{
	end(wait, false, false);
}

/* What ends a wait for a handler where there are children may be the end of one: not ours to tell. */
struct cpa_signal_wait cpa_signal_wait(uint64_t caller)
{
	struct cpa_signal_wait wait = { .w = cpa_process_has_children ? NULL : cpa_enter(),
					.caller = caller };

	begin(&wait);
	if (wait.w)
		wait.w->suspended = true;
	return wait;
}

static void end_suspended(struct cpa_signal_wait *wait, bool woken)
{
	if (wait->w)
		wait->w->suspended = false;
	end(wait, woken, false);
}

void cpa_signal_woken(struct cpa_signal_wait *wait)
{
	end_suspended(wait, true);
}

void cpa_signal_cancelled(void *wait)
{
	end_suspended(wait, false);
}

/* Evaluate @call, the original, between begin() and end(). */
#define WAIT(call, woken, timeout)                                                           \
	({                                                                                   \
		struct cpa_signal_wait wait_ = { .w = cpa_enter(), .caller = CPA_CALLER() }; \
		int ret_;                                                                    \
                                                                                             \
		begin(&wait_);                                                               \
		pthread_cleanup_push(cancelled, &wait_);                                     \
		ret_ = (call);                                                               \
		pthread_cleanup_pop(0);                                                      \
		end(&wait_, woken, timeout);                                                 \
		ret_;                                                                        \
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
 * The sampler's signals are pending, too, where the program blocks all and waits for all: take
 * them out of its way. @timeout may be NULL.
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

/* As the original, which is not interrupted by handlers. */
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
 * A signal is about to be sent within the process. It may interrupt this very thread, so we are
 * out of our code by then.
 */
static void sending(uint64_t caller)
{
	struct cpa_worker *w = cpa_enter();
	struct cpa_object *o;

	if (!w)
		return;
	o = object_of(w, caller);
	/* Relaxed: a look; nobody waits for signals in most programs. */
	if (!o || !__atomic_load_n(&o->waiting, __ATOMIC_RELAXED)) {
		cpa_leave();
		return;
	}
	cpa_event(w, CPA_EV_SIGNAL, caller, o->class);
	cpa_wake(&w->self, o, 1);
	cpa_done(w);
}

CPA_EXPORT int pthread_kill(pthread_t thread, int sig)
{
	if (sig)
		sending(CPA_CALLER());
	return REAL(pthread_kill)(thread, sig);
}

CPA_OLDER(pthread_kill, "GLIBC_2.2.5"); /* tells of a thread that has ended */
int pthread_kill_older(pthread_t thread, int sig)
{
	if (sig)
		sending(CPA_CALLER());
	return REAL_VERSION(pthread_kill, "GLIBC_2.2.5")(thread, sig);
}

CPA_EXPORT int pthread_sigqueue(pthread_t thread, int sig, const union sigval value)
{
	if (sig)
		sending(CPA_CALLER());
	return REAL(pthread_sigqueue)(thread, sig, value);
}

CPA_EXPORT int kill(pid_t pid, int sig)
{
	if (sig && *cpa_alive && pid == getpid())
		sending(CPA_CALLER());
	return REAL(kill)(pid, sig);
}
