/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/wait_across.c - a wait across borders of parts of the run, whose length in the parts is known
 *
 *	wait_across HOW STEPS
 *
 * Of STEPS the letter S starts a part, P ends it, W lets the thread `waiter` begin to wait, H has it take another lock in
 * a signal handler, and R ends its wait. Prints for how long it waited in parts, in ns: at least and at most.
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"

#define PARTS	8
#define PAGE	4096
#define PART	3000 /* bytes that take a page of a pipe */
#define BATCHED 8
#define STEP_NS (5 * 1000 * 1000)
#define SOON_NS (55 * 1000 * 1000)

enum how {
	MUTEX,
	TIMED,
	READ,
	WRITE,
	SEMAPHORE,
	CONDITION,
	TIMED_CONDITION,
	BARRIER,
	JOIN,
	ONCE,
	FUTEX,
	CHILD,
	SIGNAL,
	PIPE,
	POLLED,
	BATCH,
	FILLED,
	PARTED,
	EXPIRED,
	EXPIRED_LOCK,
	EXPIRED_SEMAPHORE,
	HOWS
};

static const char *const names[HOWS] = {
	"mutex",   "timed", "read",   "write",	"semaphore", "condition",    "timed_condition",
	"barrier", "join",  "once",   "futex",	"child",     "signal",	     "pipe",
	"polled",  "batch", "filled", "parted", "expired",   "expired_lock", "expired_semaphore"
};

struct span {
	int64_t from, to; /* ns */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static sem_t semaphore;
static pthread_t other;
static pid_t child;
static int fds[2];
static enum how how;
static int go, known, tid, over, handled, begun, let_go;
static struct span widest[PARTS], narrowest[PARTS]; /* that a part may have had */
static struct span longest, shortest;		    /* that the wait may have had */
static int64_t others_ns;			    /* for which main may have waited */
static unsigned parts;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int64_t overlap(struct span a, struct span b)
{
	int64_t from = a.from > b.from ? a.from : b.from, to = a.to < b.to ? a.to : b.to;

	return to > from ? to - from : 0;
}

/* Until main lets the waiter go. No event of cpa's. */
static void spin(void)
{
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&let_go, __ATOMIC_ACQUIRE))
		sched_yield();
}

static void *spinner(void *unused)
{
	spin();
	return unused;
}

static void *runs_once(void *unused)
{
	pthread_once(&once, spin);
	return unused;
}

static char page[PAGE];

static void put(size_t n)
{
	if (write(fds[1], page, n) != (ssize_t)n)
		exit(2);
}

static void get(size_t n)
{
	if (read(fds[0], page, n) != (ssize_t)n)
		exit(2);
}

/* Until the pipe has no room: each of these takes a page. */
static void fill(size_t n)
{
	for (int left = fcntl(fds[1], F_GETPIPE_SZ); left > 0; left -= PAGE)
		put(n);
}

/* One call that waits for some messages. */
static void get_batch(void)
{
	struct mmsghdr messages[BATCHED] = { 0 };
	struct iovec into = { page, 1 };

	for (unsigned i = 0; i < BATCHED; i++) {
		messages[i].msg_hdr.msg_iov = &into;
		messages[i].msg_hdr.msg_iovlen = 1;
	}
	if (recvmmsg(fds[0], messages, BATCHED, 0, NULL) != BATCHED)
		exit(2);
}

/* Before the wait: somebody has what the waiter will want. */
static void prepare(void)
{
	switch (how) {
	case MUTEX:
	case TIMED:
	case EXPIRED_LOCK:
		pthread_mutex_lock(&mutex);
		break;
	case READ:
	case WRITE:
		pthread_rwlock_wrlock(&rwlock);
		break;
	case JOIN:
		pthread_create(&other, NULL, spinner, NULL);
		break;
	case ONCE:
		pthread_create(&other, NULL, runs_once, NULL);
		while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
			sched_yield();
		break;
	case SIGNAL: {
		sigset_t set;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		pthread_sigmask(SIG_BLOCK, &set, NULL);
		break;
	}
	case PIPE:
	case POLLED:
	case BATCH:
	case FILLED:
	case PARTED:
		if (how == BATCH ? socketpair(AF_UNIX, SOCK_DGRAM, 0, fds) : pipe(fds))
			exit(2);
		put(PAGE);
		get(PAGE); /* cpa knows both ends */
		if (how >= FILLED)
			fill(how == FILLED ? PAGE : PART);
		break;
	case CHILD:
		if (pipe(fds) < 0)
			exit(2);
		child = fork();
		if (!child) {
			char byte;

			close(fds[1]);
			_exit((int)read(fds[0], &byte, 1));
		}
		break;
	default:
		sem_init(&semaphore, 0, 0);
		pthread_barrier_init(&barrier, NULL, 2);
	}
}

static void wait_condition(bool timed)
{
	struct timespec far = { .tv_sec = INT32_MAX };

	pthread_mutex_lock(&mutex);
	while (!let_go)
		if (timed)
			pthread_cond_timedwait(&cond, &mutex, &far);
		else
			pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
}

/* The wait. */
static void take(void)
{
	struct timespec far = { .tv_sec = INT32_MAX }, soon;

	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += SOON_NS;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	switch (how) {
	case MUTEX:
		pthread_mutex_lock(&mutex);
		break;
	case TIMED:
		pthread_mutex_timedlock(&mutex, &far);
		break;
	case READ:
		pthread_rwlock_rdlock(&rwlock);
		break;
	case WRITE:
		pthread_rwlock_wrlock(&rwlock);
		break;
	case SEMAPHORE:
		sem_wait(&semaphore);
		break;
	case CONDITION:
	case TIMED_CONDITION:
		wait_condition(how == TIMED_CONDITION);
		break;
	case BARRIER:
		pthread_barrier_wait(&barrier);
		break;
	case JOIN:
		pthread_join(other, NULL);
		break;
	case ONCE:
		pthread_once(&once, spin);
		break;
	case FUTEX:
		while (!__atomic_load_n(&let_go, __ATOMIC_ACQUIRE))
			syscall(SYS_futex, &let_go, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
		break;
	case SIGNAL: {
		sigset_t set;
		int sig;

		sigemptyset(&set);
		sigaddset(&set, SIGUSR2);
		sigwait(&set, &sig);
		break;
	}
	case POLLED:
		poll(&(struct pollfd){ fds[0], POLLIN, 0 }, 1, -1);
		get(1);
		break;
	case PIPE:
		get(1);
		break;
	case BATCH:
		get_batch();
		break;
	case FILLED:
	case PARTED:
		put(how == FILLED ? PAGE : PART);
		break;
	case EXPIRED:
		pthread_mutex_lock(&mutex);
		while (pthread_cond_timedwait(&cond, &mutex, &soon) == 0)
			;
		pthread_mutex_unlock(&mutex);
		break;
	case EXPIRED_LOCK:
		pthread_mutex_timedlock(&mutex, &soon);
		break;
	case EXPIRED_SEMAPHORE:
		sem_timedwait(&semaphore, &soon);
		break;
	default:
		waitpid(child, NULL, 0);
	}
}

/* Main ends the wait. */
static void let(pthread_t waiting)
{
	switch (how) {
	case MUTEX:
	case TIMED:
		pthread_mutex_unlock(&mutex);
		break;
	case READ:
	case WRITE:
		pthread_rwlock_unlock(&rwlock);
		break;
	case SEMAPHORE:
		sem_post(&semaphore);
		break;
	case CONDITION:
	case TIMED_CONDITION:
		pthread_mutex_lock(&mutex);
		let_go = 1;
		pthread_cond_signal(&cond);
		pthread_mutex_unlock(&mutex);
		break;
	case BARRIER:
		others_ns = now_ns();
		pthread_barrier_wait(&barrier);
		others_ns = now_ns() - others_ns;
		break;
	case SIGNAL:
		pthread_kill(waiting, SIGUSR2);
		break;
	case CHILD:
		close(fds[1]);
		break;
	case PIPE:
	case POLLED:
		put(1);
		break;
	case BATCH:
		for (unsigned i = 0; i < BATCHED; i++)
			put(1);
		break;
	case FILLED:
	case PARTED:
		get(how == FILLED ? PAGE : PART);
		break;
	default:
		__atomic_store_n(&let_go, 1, __ATOMIC_RELEASE);
		if (how == FUTEX)
			syscall(SYS_futex, &let_go, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static void handler(int signal)
{
	static pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	(void)signal;
	pthread_mutex_lock(&own);
	pthread_mutex_unlock(&own);
	__atomic_store_n(&handled, 1, __ATOMIC_RELEASE);
}

static void *waiter(void *unused)
{
	sem_t own;

	sem_init(&own, 0, 1);
	sem_wait(&own); /* an event: cpa knows the thread */
	__atomic_store_n(&known, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	longest.from = now_ns();
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	take();
	longest.to = now_ns();
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	if (how <= WRITE)
		let(pthread_self());
	return unused;
}

/* A wait that expires may be over before anybody has seen it: then it had no length for sure. */
static bool waits(void)
{
	int waiting = __atomic_load_n(&tid, __ATOMIC_ACQUIRE);

	return (waiting && is_asleep(waiting)) || __atomic_load_n(&over, __ATOMIC_ACQUIRE);
}

static void start(void)
{
	widest[parts].from = now_ns();
	CPA_START();
	narrowest[parts].from = now_ns();
}

static void stop(void)
{
	narrowest[parts].to = now_ns();
	CPA_STOP();
	widest[parts++].to = now_ns();
}

static void step(char what, pthread_t thread)
{
	int64_t until = now_ns() + STEP_NS;

	while (now_ns() < until)
		sched_yield();
	if (what == 'S') {
		start();
	} else if (what == 'P') {
		stop();
	} else if (what == 'W') {
		__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
		while (!waits())
			sched_yield();
		shortest.from = now_ns();
	} else if (what == 'H') {
		__atomic_store_n(&handled, 0, __ATOMIC_RELAXED);
		pthread_kill(thread, SIGUSR1);
		while (!__atomic_load_n(&handled, __ATOMIC_ACQUIRE))
			sched_yield();
	} else {
		shortest.to = now_ns();
		let(thread);
		pthread_join(thread, NULL);
	}
}

int main(int argc, char **argv)
{
	int64_t least = 0, most;
	struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
	pthread_t thread;

	if (argc != 3)
		return 2;
	while (how < HOWS && strcmp(argv[1], names[how]) != 0)
		how++;
	if (how == HOWS)
		return 2;
	sigaction(SIGUSR1, &action, NULL);
	start();
	prepare();
	pthread_create(&thread, NULL, waiter, NULL);
	while (!__atomic_load_n(&known, __ATOMIC_ACQUIRE))
		sched_yield();
	stop();
	for (const char *what = argv[2]; *what && parts < PARTS; what++)
		step(*what, thread);
	if (how >= EXPIRED) /* main does not end that */
		shortest.to = longest.from + SOON_NS;
	most = others_ns;
	for (unsigned i = 0; i < parts; i++) {
		least += overlap(narrowest[i], shortest);
		most += overlap(widest[i], longest);
	}
	printf("%lld %lld\n", (long long)least, (long long)most);
	return 0;
}
