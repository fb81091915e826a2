/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/blocking_ops.h - each operation that blocks, for tests/programs/blocking_matrix.c
 *
 * One row of OPERATIONS() is one variant of one family. A family says how its object is made, how
 * the releaser has it while the waiter comes, and what the waiter does when it has it.
 */
#ifndef CPA_TESTS_BLOCKING_OPS_H
#define CPA_TESTS_BLOCKING_OPS_H

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/blocking_libraries.h"

#define AWAITED SIGHUP /* for which sigwait() and sigsuspend() wait */

/* Properties of an operation. */
enum {
	TRIES = 1,	 /* it never blocks: repeated until it succeeds */
	EXPIRES = 2,	 /* it has a deadline */
	CANCELS = 4,	 /* it is a cancellation point */
	SPINS = 8,	 /* a waiter is on a processor */
	JOINS = 16,	 /* success joins the releaser */
	REACQUIRES = 32, /* the waiter has the mutex, however the wait ends */
	CHILD = 64,	 /* another process releases */
	INNER = 128,	 /* a thread that leaves the wait leaves a lock of the library held */
};

struct cell;

struct operation {
	const char *name;
	unsigned properties;
	int (*block)(struct cell *c); /* 0 or an error number */
	void (*prepare)(struct cell *c);
	/* Call body(), c->body, while the waiter has to wait; then release it. */
	void (*hold)(struct cell *c);
	void (*finish)(struct cell *c); /* of the waiter, that has what it waited for; or NULL */
	void *(*waiter)(void *c);	/* start routines of their own: a row of the report each */
	void *(*releaser)(void *c);
};

/* What the program knows of one run of an operation. Shared with children. Times in ns. */
struct cell {
	const struct operation *op;
	const struct scenario *scenario;
	union {
		pthread_mutex_t mutex;
		mtx_t mtx;
		pthread_rwlock_t rwlock;
		pthread_spinlock_t spin;
		pthread_barrier_t barrier;
		sem_t sem;
		pthread_once_t once;
		once_flag flag;
		sem_t *named;
		struct library_object library;
	};
	pthread_cond_t cond;
	cnd_t cnd;
	int word; /* of a futex; the condition that is waited for */
	struct timespec due;
	pthread_mutex_t own;
	sem_t held;
	pthread_t waiting, releasing;
	pid_t pid, child;
	/* Atomic: written by one thread, looked at by others. */
	int tid, tries, handled, gone, created, asked, switched, disturbed, released;
	sigjmp_buf target;
	int result, error, has, jumped, cancelled, handler_status;
	/*
	 * Of CPU time: clocks of the waiter and of who disturbs it, then lengths of work;
	 * handled_ns is elapsed time.
	 */
	int64_t begun_ns, arrived_ns, back_ns, handled_ns, ended_ns, disturber_ns;
	int64_t creator_ns, before_ns, after_ns;
	int64_t released_ns, released_most_ns, last_ns;
	/* Of the elapsed time that the waiter was blocked. */
	int64_t blocked_at, blocked_until, released_at, from, to, due_at, off_ns, life;
};

/* What the releaser does while it holds: of the scenario. */
static void body(struct cell *c);
/* The same, without and with what the parent of a child has to do. */
static void keep(struct cell *c);
static void disturb(struct cell *c);

static __thread struct cell *once_cell;

static void once_routine(void)
{
	body(once_cell);
}

static const struct timespec *due(struct cell *c, clockid_t clock);
static const struct timespec *patience(struct cell *c);
static int64_t patience_us(struct cell *c);

static int posix(int ret)
{
	return ret ? errno : 0;
}

static int c11(int ret)
{
	return ret == thrd_success  ? 0 :
	       ret == thrd_busy	    ? EBUSY :
	       ret == thrd_timedout ? ETIMEDOUT :
				      EINVAL;
}

static void nothing(struct cell *c)
{
	(void)c;
}

/* Mutexes, POSIX and C11, rwlocks, spin locks, semaphores. */
#define LOCK_FAMILY(family, init, lock, unlock)                             \
	static void family##_prepare(struct cell *c)                        \
	{                                                                   \
		(void)c;                                                    \
		init;                                                       \
	}                                                                   \
	static void family##_hold(struct cell *c)                           \
	{                                                                   \
		lock;                                                       \
		body(c);                                                    \
		unlock;                                                     \
	}                                                                   \
	static __attribute__((unused)) void family##_finish(struct cell *c) \
	{                                                                   \
		(void)c;                                                    \
		unlock;                                                     \
	}

LOCK_FAMILY(mutex, pthread_mutex_init(&c->mutex, NULL), pthread_mutex_lock(&c->mutex),
	    pthread_mutex_unlock(&c->mutex))
LOCK_FAMILY(mtx, mtx_init(&c->mtx, mtx_timed), mtx_lock(&c->mtx), mtx_unlock(&c->mtx))
LOCK_FAMILY(read, pthread_rwlock_init(&c->rwlock, NULL), pthread_rwlock_wrlock(&c->rwlock),
	    pthread_rwlock_unlock(&c->rwlock))
LOCK_FAMILY(write, pthread_rwlock_init(&c->rwlock, NULL), pthread_rwlock_rdlock(&c->rwlock),
	    pthread_rwlock_unlock(&c->rwlock))
LOCK_FAMILY(spin, pthread_spin_init(&c->spin, 0), pthread_spin_lock(&c->spin),
	    pthread_spin_unlock(&c->spin))
LOCK_FAMILY(sem, sem_init(&c->sem, 0, 0), , sem_post(&c->sem))

/* A semaphore of its own for each cell: a name is unlinked as soon as it is open. */
static sem_t *named_semaphore(void)
{
	char name[64];
	sem_t *sem;

	snprintf(name, sizeof(name), "/cpa-blocking.%d", (int)getpid());
	sem = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	sem_unlink(name);
	return sem;
}

static void wake_all(struct cell *c)
{
	__atomic_store_n(&c->word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &c->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

LOCK_FAMILY(futex, , , wake_all(c))
LOCK_FAMILY(signal, , , pthread_kill(c->waiting, AWAITED))
LOCK_FAMILY(join, , , )
LOCK_FAMILY(barrier, pthread_barrier_init(&c->barrier, NULL, 2), ,
	    pthread_barrier_wait(&c->barrier))

LOCK_FAMILY(named, c->named = named_semaphore(), , sem_post(c->named))
LOCK_FAMILY(suspend, , , pthread_kill(c->waiting, AWAITED))

/* GLib, libuv and APR. */
LOCK_FAMILY(items, c->library.items = g_async_queue_new(), ,
	    g_async_queue_push(c->library.items, c))
LOCK_FAMILY(uv_mutex, uv_mutex_init(&c->library.mutex), uv_mutex_lock(&c->library.mutex),
	    uv_mutex_unlock(&c->library.mutex))
LOCK_FAMILY(uv_read, uv_rwlock_init(&c->library.rwlock), uv_rwlock_wrlock(&c->library.rwlock),
	    uv_rwlock_wrunlock(&c->library.rwlock))
LOCK_FAMILY(uv_sem, uv_sem_init(&c->library.sem, 0), , uv_sem_post(&c->library.sem))
LOCK_FAMILY(uv_barrier, uv_barrier_init(&c->library.barrier, 2), ,
	    uv_barrier_wait(&c->library.barrier))
LOCK_FAMILY(apr_mutex,
	    apr_thread_mutex_create(&c->library.apr_mutex, APR_THREAD_MUTEX_TIMED, library_pool()),
	    apr_thread_mutex_lock(c->library.apr_mutex),
	    apr_thread_mutex_unlock(c->library.apr_mutex))
LOCK_FAMILY(apr_write, apr_thread_rwlock_create(&c->library.apr_rwlock, library_pool()),
	    apr_thread_rwlock_rdlock(c->library.apr_rwlock),
	    apr_thread_rwlock_unlock(c->library.apr_rwlock))
LOCK_FAMILY(apr_queue, apr_queue_create(&c->library.queue, 1, library_pool()), ,
	    apr_queue_push(c->library.queue, c))

static void uv_cond_prepare(struct cell *c)
{
	uv_mutex_prepare(c);
	uv_cond_init(&c->library.cond);
}

static void uv_cond_hold(struct cell *c)
{
	body(c);
	uv_mutex_lock(&c->library.mutex);
	c->word = 1;
	uv_cond_signal(&c->library.cond);
	uv_mutex_unlock(&c->library.mutex);
}

static void apr_cond_prepare(struct cell *c)
{
	apr_mutex_prepare(c);
	apr_thread_cond_create(&c->library.apr_cond, library_pool());
}

static void apr_cond_hold(struct cell *c)
{
	body(c);
	apr_thread_mutex_lock(c->library.apr_mutex);
	c->word = 1;
	apr_thread_cond_signal(c->library.apr_cond);
	apr_thread_mutex_unlock(c->library.apr_mutex);
}

static int uv_cond_blocks(struct cell *c)
{
	uv_cond_wait(&c->library.cond, &c->library.mutex);
	return 0;
}

static int item_result(const void *item)
{
	return item ? 0 : ETIMEDOUT;
}

static int apr_item(struct cell *c)
{
	void *item;
	apr_status_t ret;

	do
		ret = apr_queue_pop(c->library.queue, &item);
	while (ret == APR_EINTR);
	return apr_result(ret);
}

static void cond_prepare(struct cell *c)
{
	pthread_cond_init(&c->cond, NULL);
	cnd_init(&c->cnd);
	mutex_prepare(c);
}

/* glibc's mtx_t is its mutex, its cnd_t its condition variable: here each has its own calls. */
static void cond_hold(struct cell *c)
{
	body(c);
	pthread_mutex_lock(&c->mutex);
	c->word = 1;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->mutex);
}

static void cnd_hold(struct cell *c)
{
	body(c);
	mtx_lock(&c->mtx);
	c->word = 1;
	cnd_broadcast(&c->cnd);
	mtx_unlock(&c->mtx);
}

static void cnd_prepare(struct cell *c)
{
	cond_prepare(c);
	mtx_prepare(c);
}

#define cond_finish mutex_finish
#define cnd_finish  mtx_finish

/* With the mutex: wait for c->word by @call. */
#define AWAIT(lock, call)                 \
	({                                \
		int ret_ = 0;             \
                                          \
		lock;                     \
		while (!c->word && !ret_) \
			ret_ = (call);    \
		ret_;                     \
	})

static void once_prepare(struct cell *c)
{
	c->once = PTHREAD_ONCE_INIT;
}

static void once_hold(struct cell *c)
{
	once_cell = c;
	pthread_once(&c->once, once_routine);
}

static void flag_prepare(struct cell *c)
{
	c->flag = (once_flag)ONCE_FLAG_INIT;
}

static void flag_hold(struct cell *c)
{
	once_cell = c;
	call_once(&c->flag, once_routine);
}

#define child_prepare nothing

static void child_hold(struct cell *c)
{
	pid_t pid = fork();

	if (!pid) {
		keep(c);
		_exit(0);
	}
	c->child = pid;
	sem_post(&c->held);
	disturb(c);
}

/* A wait for @c->child, which has @call's value if it ended. */
static int child(const struct cell *c, pid_t found)
{
	return found == c->child ? 0 : found ? errno : EBUSY;
}

static int child_info(struct cell *c, int options)
{
	siginfo_t info = { 0 };
	int ret = waitid(P_PID, (id_t)c->child, &info, WEXITED | options);

	return child(c, ret ? ret : info.si_pid);
}

static const sigset_t *awaited(void)
{
	static sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, AWAITED);
	return &set;
}

static int one_signal(int (*wait)(const sigset_t *set, int *sig))
{
	int sig = 0, ret = wait(awaited(), &sig);

	return ret ? ret : sig == AWAITED ? 0 : EINVAL;
}

/* Wait in sigsuspend() until the handler of AWAITED has run in this thread. */
static int suspended(struct cell *c)
{
	sigset_t mask;

	pthread_sigmask(SIG_SETMASK, NULL, &mask);
	sigdelset(&mask, AWAITED);
	while (!__atomic_load_n(&c->word, __ATOMIC_SEQ_CST))
		sigsuspend(&mask);
	return 0;
}

/* sigtimedwait() and its like; its time-out is EAGAIN. */
static int signal_of(int ret)
{
	return ret == AWAITED ? 0 : errno;
}

#define FUTEX_CALL(command, time, value) \
	posix((int)syscall(SYS_futex, &c->word, command, 0, time, NULL, value))

/* Family, variant, how to prepare, hold, and finish, properties, the call. */
#define OPERATIONS(OP)                                                                             \
	OP(mutex, lock, mutex, mutex_finish, 0, pthread_mutex_lock(&c->mutex))                     \
	OP(mutex, try, mutex, mutex_finish, TRIES, pthread_mutex_trylock(&c->mutex))               \
	OP(mutex, timed, mutex, mutex_finish, EXPIRES,                                             \
	   pthread_mutex_timedlock(&c->mutex, due(c, CLOCK_REALTIME)))                             \
	OP(mutex, clock, mutex, mutex_finish, EXPIRES,                                             \
	   pthread_mutex_clocklock(&c->mutex, CLOCK_MONOTONIC, due(c, CLOCK_MONOTONIC)))           \
	OP(mtx, lock, mtx, mtx_finish, 0, c11(mtx_lock(&c->mtx)))                                  \
	OP(mtx, try, mtx, mtx_finish, TRIES, c11(mtx_trylock(&c->mtx)))                            \
	OP(mtx, timed, mtx, mtx_finish, EXPIRES,                                                   \
	   c11(mtx_timedlock(&c->mtx, due(c, CLOCK_REALTIME))))                                    \
	OP(read, lock, read, read_finish, 0, pthread_rwlock_rdlock(&c->rwlock))                    \
	OP(read, try, read, read_finish, TRIES, pthread_rwlock_tryrdlock(&c->rwlock))              \
	OP(read, timed, read, read_finish, EXPIRES,                                                \
	   pthread_rwlock_timedrdlock(&c->rwlock, due(c, CLOCK_REALTIME)))                         \
	OP(read, clock, read, read_finish, EXPIRES,                                                \
	   pthread_rwlock_clockrdlock(&c->rwlock, CLOCK_MONOTONIC, due(c, CLOCK_MONOTONIC)))       \
	OP(write, lock, write, write_finish, 0, pthread_rwlock_wrlock(&c->rwlock))                 \
	OP(write, try, write, write_finish, TRIES, pthread_rwlock_trywrlock(&c->rwlock))           \
	OP(write, timed, write, write_finish, EXPIRES,                                             \
	   pthread_rwlock_timedwrlock(&c->rwlock, due(c, CLOCK_REALTIME)))                         \
	OP(write, clock, write, write_finish, EXPIRES,                                             \
	   pthread_rwlock_clockwrlock(&c->rwlock, CLOCK_MONOTONIC, due(c, CLOCK_MONOTONIC)))       \
	OP(spin, lock, spin, spin_finish, SPINS, pthread_spin_lock(&c->spin))                      \
	OP(spin, try, spin, spin_finish, TRIES, pthread_spin_trylock(&c->spin))                    \
	OP(cond, wait, cond, cond_finish, CANCELS | REACQUIRES,                                    \
	   AWAIT(pthread_mutex_lock(&c->mutex), pthread_cond_wait(&c->cond, &c->mutex)))           \
	OP(cond, timed, cond, cond_finish, CANCELS | REACQUIRES | EXPIRES,                         \
	   AWAIT(pthread_mutex_lock(&c->mutex),                                                    \
		 pthread_cond_timedwait(&c->cond, &c->mutex, due(c, CLOCK_REALTIME))))             \
	OP(cond, clock, cond, cond_finish, CANCELS | REACQUIRES | EXPIRES,                         \
	   AWAIT(pthread_mutex_lock(&c->mutex),                                                    \
		 pthread_cond_clockwait(&c->cond, &c->mutex, CLOCK_MONOTONIC,                      \
					due(c, CLOCK_MONOTONIC))))                                 \
	OP(cnd, wait, cnd, cnd_finish, CANCELS | REACQUIRES,                                       \
	   AWAIT(mtx_lock(&c->mtx), c11(cnd_wait(&c->cnd, &c->mtx))))                              \
	OP(cnd, timed, cnd, cnd_finish, CANCELS | REACQUIRES | EXPIRES,                            \
	   AWAIT(mtx_lock(&c->mtx), c11(cnd_timedwait(&c->cnd, &c->mtx, due(c, CLOCK_REALTIME))))) \
	OP(sem, wait, sem, nothing, CANCELS, posix(sem_wait(&c->sem)))                             \
	OP(sem, try, sem, nothing, TRIES, posix(sem_trywait(&c->sem)))                             \
	OP(sem, timed, sem, nothing, CANCELS | EXPIRES,                                            \
	   posix(sem_timedwait(&c->sem, due(c, CLOCK_REALTIME))))                                  \
	OP(sem, clock, sem, nothing, CANCELS | EXPIRES,                                            \
	   posix(sem_clockwait(&c->sem, CLOCK_MONOTONIC, due(c, CLOCK_MONOTONIC))))                \
	OP(barrier, wait, barrier, nothing, 0, pthread_barrier_wait(&c->barrier) > 0)              \
	OP(join, wait, join, nothing, CANCELS | JOINS, pthread_join(c->releasing, NULL))           \
	OP(join, try, join, nothing, TRIES | JOINS, pthread_tryjoin_np(c->releasing, NULL))        \
	OP(join, timed, join, nothing, CANCELS | EXPIRES | JOINS,                                  \
	   pthread_timedjoin_np(c->releasing, NULL, due(c, CLOCK_REALTIME)))                       \
	OP(join, clock, join, nothing, CANCELS | EXPIRES | JOINS,                                  \
	   pthread_clockjoin_np(c->releasing, NULL, CLOCK_MONOTONIC, due(c, CLOCK_MONOTONIC)))     \
	OP(thrd, join, join, nothing, CANCELS | JOINS, c11(thrd_join(c->releasing, NULL)))         \
	OP(once, wait, once, nothing, 0, pthread_once(&c->once, once_routine))                     \
	OP(flag, wait, flag, nothing, 0, (call_once(&c->flag, once_routine), 0))                   \
	OP(futex, wait, futex, nothing, 0, FUTEX_CALL(FUTEX_WAIT_PRIVATE, NULL, 0))                \
	OP(futex, timed, futex, nothing, EXPIRES, FUTEX_CALL(FUTEX_WAIT_PRIVATE, patience(c), 0))  \
	OP(futex, clock, futex, nothing, EXPIRES,                                                  \
	   FUTEX_CALL(FUTEX_WAIT_BITSET_PRIVATE, due(c, CLOCK_MONOTONIC), FUTEX_BITSET_MATCH_ANY)) \
	OP(signal, wait, signal, nothing, CANCELS, one_signal(sigwait))                            \
	OP(signal, info, signal, nothing, CANCELS, signal_of(sigwaitinfo(awaited(), NULL)))        \
	OP(signal, timed, signal, nothing, CANCELS | EXPIRES,                                      \
	   signal_of(sigtimedwait(awaited(), NULL, patience(c))))                                  \
	OP(named, wait, named, nothing, CANCELS, posix(sem_wait(c->named)))                        \
	OP(named, timed, named, nothing, CANCELS | EXPIRES,                                        \
	   posix(sem_timedwait(c->named, due(c, CLOCK_REALTIME))))                                 \
	OP(suspend, wait, suspend, nothing, CANCELS, suspended(c))                                 \
	OP(glib, pop, items, nothing, 0, item_result(g_async_queue_pop(c->library.items)))         \
	OP(glib, timed, items, nothing, EXPIRES,                                                   \
	   item_result(g_async_queue_timeout_pop(c->library.items, patience_us(c))))               \
	OP(uv, mutex, uv_mutex, uv_mutex_finish, 0, (uv_mutex_lock(&c->library.mutex), 0))         \
	OP(uv, read, uv_read, uv_read_finish, 0, (uv_rwlock_rdlock(&c->library.rwlock), 0))        \
	OP(uv, sem, uv_sem, nothing, CANCELS, (uv_sem_wait(&c->library.sem), 0))                   \
	OP(uv, barrier, uv_barrier, nothing, 0, uv_barrier_wait(&c->library.barrier) > 0)          \
	OP(uv, cond, uv_cond, uv_mutex_finish, CANCELS | REACQUIRES,                               \
	   AWAIT(uv_mutex_lock(&c->library.mutex), uv_cond_blocks(c)))                             \
	OP(uv, timed, uv_cond, uv_mutex_finish, CANCELS | REACQUIRES | EXPIRES,                    \
	   AWAIT(uv_mutex_lock(&c->library.mutex),                                                 \
		 uv_result(uv_cond_timedwait(&c->library.cond, &c->library.mutex,                  \
					     (uint64_t)patience_us(c) * 1000))))                   \
	OP(apr, mutex, apr_mutex, apr_mutex_finish, 0,                                             \
	   apr_result(apr_thread_mutex_lock(c->library.apr_mutex)))                                \
	OP(apr, timedlock, apr_mutex, apr_mutex_finish, EXPIRES,                                   \
	   apr_result(apr_thread_mutex_timedlock(c->library.apr_mutex, patience_us(c))))           \
	OP(apr, write, apr_write, apr_write_finish, 0,                                             \
	   apr_result(apr_thread_rwlock_wrlock(c->library.apr_rwlock)))                            \
	OP(apr, queue, apr_queue, nothing, INNER, apr_item(c))                                     \
	OP(apr, cond, apr_cond, apr_mutex_finish, CANCELS | REACQUIRES,                            \
	   AWAIT(apr_thread_mutex_lock(c->library.apr_mutex),                                      \
		 apr_result(apr_thread_cond_wait(c->library.apr_cond, c->library.apr_mutex))))     \
	OP(apr, timed, apr_cond, apr_mutex_finish, CANCELS | REACQUIRES | EXPIRES,                 \
	   AWAIT(apr_thread_mutex_lock(c->library.apr_mutex),                                      \
		 apr_result(apr_thread_cond_timedwait(c->library.apr_cond, c->library.apr_mutex,   \
						      patience_us(c)))))                           \
	OP(child, wait, child, nothing, CANCELS | CHILD, child(c, wait(NULL)))                     \
	OP(child, waitpid, child, nothing, CANCELS | CHILD, child(c, waitpid(c->child, NULL, 0)))  \
	OP(child, try, child, nothing, TRIES | CHILD, child(c, waitpid(c->child, NULL, WNOHANG)))  \
	OP(child, wait3, child, nothing, CANCELS | CHILD, child(c, wait3(NULL, 0, NULL)))          \
	OP(child, wait4, child, nothing, CANCELS | CHILD,                                          \
	   child(c, wait4(c->child, NULL, 0, NULL)))                                               \
	OP(child, waitid, child, nothing, CANCELS | CHILD, child_info(c, 0))

#endif
