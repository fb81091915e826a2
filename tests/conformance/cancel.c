/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/cancel.c - cancellation in every call that waits, and what it leaves behind
 *
 * Each call runs in a thread that is cancelled once while it waits, and once before it is called.
 */

#include "tests/conformance/cancel_calls.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, errorcheck;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;
static pthread_t sleeper;
static volatile int ready, cleaned, held_in_cleanup;

static void *sleep_on(void *argument)
{
	for (;;)
		pause();
	return argument;
}

static void cond_cleanup(void *argument)
{
	(void)argument;
	cleaned++;
	/* The wait has taken the mutex again: error checking says whether it is ours. */
	held_in_cleanup = pthread_mutex_unlock(&errorcheck);
}

static void count_cleanup(void *argument)
{
	(void)argument;
	cleaned++;
}

static void wait_cond(int how)
{
	struct timespec t = at(FAR, how == 2 ? CLOCK_MONOTONIC : CLOCK_REALTIME);

	pthread_mutex_lock(&errorcheck);
	pthread_cleanup_push(cond_cleanup, NULL);
	for (;;) {
		if (how == 0)
			pthread_cond_wait(&c, &errorcheck);
		else if (how == 1)
			pthread_cond_timedwait(&c, &errorcheck, &t);
		else
			pthread_cond_clockwait(&c, &errorcheck, CLOCK_MONOTONIC, &t);
	}
	pthread_cleanup_pop(0);
}

static void call_cond_wait(void)
{
	wait_cond(0);
}

static void call_cond_timedwait(void)
{
	wait_cond(1);
}

static void call_cond_clockwait(void)
{
	wait_cond(2);
}

static void call_sem_wait(void)
{
	sem_wait(&s);
}

static void call_sem_timedwait(void)
{
	struct timespec t = at(FAR, CLOCK_REALTIME);

	sem_timedwait(&s, &t);
}

static void call_sem_clockwait(void)
{
	struct timespec t = at(FAR, CLOCK_MONOTONIC);

	sem_clockwait(&s, CLOCK_MONOTONIC, &t);
}

static void call_join(void)
{
	pthread_join(sleeper, NULL);
}

static void call_timedjoin(void)
{
	struct timespec t = at(FAR, CLOCK_REALTIME);

	pthread_timedjoin_np(sleeper, NULL, &t);
}

static void call_clockjoin(void)
{
	struct timespec t = at(FAR, CLOCK_MONOTONIC);

	pthread_clockjoin_np(sleeper, NULL, CLOCK_MONOTONIC, &t);
}

static cnd_t c11_condition;
static mtx_t c11_mutex;

static void unlock_c11(void *argument)
{
	cleaned++;
	held_in_cleanup = mtx_unlock(argument);
}

static void call_cnd_wait(void)
{
	mtx_lock(&c11_mutex);
	pthread_cleanup_push(unlock_c11, &c11_mutex);
	for (;;)
		cnd_wait(&c11_condition, &c11_mutex);
	pthread_cleanup_pop(0);
}

static void call_cnd_timedwait(void)
{
	struct timespec t = at(FAR, CLOCK_REALTIME);

	mtx_lock(&c11_mutex);
	pthread_cleanup_push(unlock_c11, &c11_mutex);
	for (;;)
		cnd_timedwait(&c11_condition, &c11_mutex, &t);
	pthread_cleanup_pop(0);
}

static const struct {
	const char *name;
	void (*call)(void);
} calls[] = { { "pthread_cond_wait", call_cond_wait },
	      { "pthread_cond_timedwait", call_cond_timedwait },
	      { "pthread_cond_clockwait", call_cond_clockwait },
	      { "sem_wait", call_sem_wait },
	      { "sem_timedwait", call_sem_timedwait },
	      { "sem_clockwait", call_sem_clockwait },
	      { "pthread_join", call_join },
	      { "pthread_timedjoin_np", call_timedjoin },
	      { "pthread_clockjoin_np", call_clockjoin },
	      { "read", call_read },
	      { "readv", call_readv },
	      { "preadv2", call_preadv2 },
	      { "write", call_write },
	      { "writev", call_writev },
	      { "pwritev2", call_pwritev2 },
	      { "recv", call_recv },
	      { "recvfrom", call_recvfrom },
	      { "recvmsg", call_recvmsg },
	      { "send", call_send },
	      { "sendto", call_sendto },
	      { "sendmsg", call_sendmsg },
	      { "accept", call_accept },
	      { "accept4", call_accept4 },
	      { "nanosleep", call_nanosleep },
	      { "clock_nanosleep", call_clock_nanosleep },
	      { "thrd_sleep", call_thrd_sleep },
	      { "sleep", call_sleep },
	      { "usleep", call_usleep },
	      { "poll", call_poll },
	      { "ppoll", call_ppoll },
	      { "select", call_select },
	      { "pselect", call_pselect },
	      { "epoll_wait", call_epoll_wait },
	      { "epoll_pwait", call_epoll_pwait },
	      { "pause", call_pause },
	      { "sigwait", call_sigwait },
	      { "sigwaitinfo", call_sigwaitinfo },
	      { "sigtimedwait", call_sigtimedwait },
	      { "sigsuspend", call_sigsuspend },
	      { "wait", call_wait },
	      { "waitpid", call_waitpid },
	      { "waitid", call_waitid },
	      { "open", call_open },
	      { "fsync", call_fsync },
	      { "msgrcv", call_msgrcv },
	      { "cnd_wait", call_cnd_wait },
	      { "cnd_timedwait", call_cnd_timedwait },
	      { "pthread_testcancel", call_testcancel } };

struct victim {
	void (*call)(void);
	bool early;
};

static void *run(void *argument)
{
	struct victim *v = argument;

	pthread_cleanup_push(count_cleanup, NULL);
	if (v->early) { /* the request is there before the call */
		int old;

		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
		set(&ready, 1);
		await(&ready, 2);
		pthread_setcancelstate(old, NULL);
	} else {
		set(&ready, 1);
	}
	v->call();
	pthread_cleanup_pop(0);
	return (void *)5;
}

static void victims(void)
{
	for (size_t i = 0; i < 2 * sizeof(calls) / sizeof(calls[0]); i++) {
		struct victim v = { calls[i / 2].call, i % 2 };
		void *result = NULL;
		pthread_t t;

		ready = cleaned = 0;
		held_in_cleanup = -1;
		begin("%s, cancelled %s", calls[i / 2].name, v.early ? "before" : "in it");
		must(!pthread_create(&t, NULL, run, &v), "pthread_create");
		await(&ready, 1);
		if (!v.early)
			sleep_ms(2);
		DO("cancel", pthread_cancel(t));
		set(&ready, 2);
		DO("join", pthread_join(t, &result));
		add(" %s cleaned=%d held=%d", result == PTHREAD_CANCELED ? "cancelled" : "ran",
		    cleaned, held_in_cleanup);
		DO("lock", pthread_mutex_lock(&errorcheck));
		DO("unlock", pthread_mutex_unlock(&errorcheck));
		end();
	}
}

/* Calls that are no cancellation points finish. */
static void *no_points(void *argument)
{
	static pthread_barrier_t b;
	pthread_spinlock_t spin;
	intptr_t failed = 0;

	(void)argument;
	set(&ready, 1);
	await(&ready, 2);
	failed += pthread_mutex_lock(&m) + pthread_mutex_unlock(&m);
	failed += pthread_mutex_trylock(&m) + pthread_mutex_unlock(&m);
	failed += pthread_rwlock_wrlock(&l) + pthread_rwlock_unlock(&l);
	failed += pthread_rwlock_rdlock(&l) + pthread_rwlock_unlock(&l);
	failed +=
		pthread_spin_init(&spin, 0) + pthread_spin_lock(&spin) + pthread_spin_unlock(&spin);
	failed += pthread_barrier_init(&b, NULL, 1);
	failed += pthread_barrier_wait(&b) != PTHREAD_BARRIER_SERIAL_THREAD;
	failed += sem_post(&s) + sem_trywait(&s);
	failed += pthread_cond_signal(&c) + pthread_cond_broadcast(&c);
	failed += pthread_kill(pthread_self(), 0);
	set(&cleaned, failed ? -1 : 1);
	pthread_testcancel();
	return NULL;
}

/* Cancelled while it waits for a mutex: it gets the mutex, then comes to its end. */
static void *locks_then_tests(void *argument)
{
	(void)argument;
	set(&ready, 1);
	pthread_mutex_lock(&m);
	cleaned++;
	pthread_mutex_unlock(&m);
	pthread_testcancel();
	return NULL;
}

static void *asynchronous(void *argument)
{
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	set(&ready, 1);
	for (;;)
		;
	return argument;
}

/*
 * Threads that compute are cancelled at any instruction, those of the sampler among them: each
 * comes to its end, and so do those that come after them.
 */
static void asynchronous_storm(void)
{
	int cancelled = 0;

	begin("asynchronous, many times");
	for (int i = 0; i < 300; i++) {
		struct timespec while_computing = { 0, i * 7919 % 1500000 };
		pthread_t t[2];
		void *result;

		for (int k = 0; k < 2; k++) {
			ready = 0;
			must(!pthread_create(&t[k], NULL, asynchronous, NULL), "pthread_create");
			await(&ready, 1);
		}
		nanosleep(&while_computing, NULL);
		for (int k = 0; k < 2; k++)
			pthread_cancel(t[k]);
		for (int k = 0; k < 2; k++)
			cancelled += !pthread_join(t[k], &result) && result == PTHREAD_CANCELED;
	}
	add(" cancelled=%d", cancelled);
	end();
}

static void *disabled(void *argument)
{
	(void)argument;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	set(&ready, 1);
	await(&ready, 2);
	sem_wait(&s);
	sleep_ms(1);
	return (void *)6;
}

static void *cancels_itself(void *argument)
{
	(void)argument;
	pthread_cancel(pthread_self());
	sem_post(&s);
	sem_wait(&s);
	return NULL;
}

static pthread_cond_t c2 = PTHREAD_COND_INITIALIZER;
static volatile int waiting_now, wakes;

static void unlock(void *argument)
{
	pthread_mutex_unlock(argument);
}

static void *wait_for_wake(void *argument)
{
	(void)argument;
	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock, &m);
	waiting_now++;
	while (!wakes)
		pthread_cond_wait(&c2, &m);
	wakes--;
	pthread_cleanup_pop(1);
	return NULL;
}

/* A cancelled waiter does not take the signal from those that remain. */
static void remaining(void)
{
	void *result;
	pthread_t t[6];
	int cancelled = 0;

	begin("waiters that remain are woken");
	for (int i = 0; i < 6; i++)
		must(!pthread_create(&t[i], NULL, wait_for_wake, NULL), "pthread_create");
	await(&waiting_now, 6);
	for (int i = 0; i < 3; i++)
		pthread_cancel(t[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &result);
		cancelled += result == PTHREAD_CANCELED;
	}
	pthread_mutex_lock(&m);
	wakes = 3;
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 3; i++)
		pthread_cond_signal(&c2);
	for (int i = 3; i < 6; i++)
		pthread_join(t[i], NULL);
	add(" cancelled=%d left=%d", cancelled, wakes);
	end();
}

static void one(const char *name, void *(*f)(void *))
{
	void *result = NULL;
	pthread_t t;

	ready = cleaned = 0;
	begin("%s", name);
	must(!pthread_create(&t, NULL, f, NULL), "pthread_create");
	if (f != cancels_itself) {
		await(&ready, 1);
		DO("cancel", pthread_cancel(t));
		set(&ready, 2);
	}
	DO("join", pthread_join(t, &result));
	add(" %s reached=%d", result == PTHREAD_CANCELED ? "cancelled" : "ran", cleaned);
	end();
}

int main(void)
{
	pthread_mutexattr_t attr;
	pthread_t t;
	void *result;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&errorcheck, &attr);
	sem_init(&s, 0, 0);
	mtx_init(&c11_mutex, mtx_plain);
	cnd_init(&c11_condition);
	prepare_calls();
	must(!pthread_create(&sleeper, NULL, sleep_on, NULL), "pthread_create");
	victims();
	one("calls that are no cancellation points", no_points);
	one("asynchronous", asynchronous);
	asynchronous_storm();
	one("cancels itself", cancels_itself);
	sem_post(&s);
	one("disabled", disabled);
	begin("in a mutex lock");
	ready = cleaned = 0;
	pthread_mutex_lock(&m);
	must(!pthread_create(&t, NULL, locks_then_tests, NULL), "pthread_create");
	await(&ready, 1);
	pthread_cancel(t);
	sleep_ms(2);
	pthread_mutex_unlock(&m);
	pthread_join(t, &result);
	add(" %s reached=%d", result == PTHREAD_CANCELED ? "cancelled" : "ran", cleaned);
	end();
	remaining();
	begin("states");
	{
		int old = -1;

		DO("state", pthread_setcancelstate(77, &old));
		DO("type", pthread_setcanceltype(77, &old));
		DO("state", pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old));
		add(" was %d", old);
		DO("type", pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &old));
		add(" was %d", old);
	}
	end();
	pthread_cancel(sleeper);
	begin("a thread that is joined after a cancelled join");
	DO("join", pthread_join(sleeper, &result));
	add(" %s", result == PTHREAD_CANCELED ? "cancelled" : "ran");
	end();
	end_calls();
	return 0;
}
