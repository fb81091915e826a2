/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/operations.c - nanoseconds per synchronization operation, whoever is preloaded
 *
 *	operations NAME COUNT      print ns per operation of one run; no NAME: list them
 *
 * Threads are pinned. Work between operations is none: these are the worst cases.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static pthread_barrier_t barrier;
static sem_t ping, pong, own;
static int there[2], back[2]; /* pipes */
static unsigned long turn;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Each body runs @n operations in thread @me of @threads. */
typedef void body(int me, unsigned long n);

static void lock_pairs(pthread_mutex_t *m, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
	}
}

/* A mutex that one thread alone ever takes, in a process with two threads. */
static void private(int me, unsigned long n)
{
	if (!me)
		lock_pairs(&mutex, n);
	else
		pthread_barrier_wait(&barrier);
	if (!me)
		pthread_barrier_wait(&barrier);
}

/* A mutex that the other thread took once: same thread again. */
static void again(int me, unsigned long n)
{
	if (me)
		lock_pairs(&mutex, 1);
	pthread_barrier_wait(&barrier);
	if (!me)
		lock_pairs(&mutex, n);
	pthread_barrier_wait(&barrier);
}

/* A mutex for one critical section. */
static void live(int me, unsigned long n)
{
	pthread_mutex_t brief;

	for (unsigned long i = 0; i < n && !me; i++) {
		pthread_mutex_init(&brief, NULL);
		lock_pairs(&brief, 1);
		pthread_mutex_destroy(&brief);
	}
}

static void shared_mutex(int me, unsigned long n)
{
	(void)me;
	lock_pairs(&mutex, n / 2);
}

static void section(int me, unsigned long n)
{
	(void)me;
	for (unsigned long i = 0; i < n / 2; i++) {
		pthread_mutex_lock(&mutex);
		for (int k = 0; k < 100; k++)
			__asm__ volatile("" : : "r"(k));
		pthread_mutex_unlock(&mutex);
		for (int k = 0; k < 100; k++)
			__asm__ volatile("" : : "r"(k));
	}
}

/* One spin lock and a word that says whose turn it is: every acquisition is a hand-off. */
static void hand_off(int me, unsigned long n)
{
	for (unsigned long i = 0; i < n / 2;) {
		while (__atomic_load_n(&turn, __ATOMIC_RELAXED) % 2 != (unsigned long)me)
			__builtin_ia32_pause();
		pthread_spin_lock(&spin);
		__atomic_store_n(&turn, turn + 1, __ATOMIC_RELAXED);
		i++;
		pthread_spin_unlock(&spin);
	}
}

static void barriers(int me, unsigned long n)
{
	(void)me;
	for (unsigned long i = 0; i < n; i++)
		pthread_barrier_wait(&barrier);
}

/* As glibc's tst-mutex10: a mutex that is made anew for each round of threads. */
static void remade(int me, unsigned long n)
{
	for (unsigned long i = 0; i < n; i++) {
		if (!me) {
			pthread_mutex_destroy(&mutex);
			pthread_mutex_init(&mutex, NULL);
		}
		pthread_barrier_wait(&barrier);
		lock_pairs(&mutex, 1);
		pthread_barrier_wait(&barrier);
	}
}

static void conditions(int me, unsigned long n)
{
	for (unsigned long i = 0; i < n / 2; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % 2 != (unsigned long)me)
			pthread_cond_wait(&turn_changed, &mutex);
		turn++;
		pthread_cond_signal(&turn_changed);
		pthread_mutex_unlock(&mutex);
	}
}

static void semaphores(int me, unsigned long n)
{
	for (unsigned long i = 0; i < n / 2; i++) {
		sem_wait(me ? &ping : &pong);
		sem_post(me ? &pong : &ping);
	}
}

static void give(int fd)
{
	char byte = 0;

	if (write(fd, &byte, 1) != 1)
		abort();
}

static void take(int fd)
{
	char byte;

	if (read(fd, &byte, 1) != 1)
		abort();
}

/* A byte there and back on one processor: a thread runs while the other waits. */
static void pipe_turns(int me, unsigned long n)
{
	pin(0);
	for (unsigned long i = 0; i < n / 2; i++) {
		if (!me)
			give(there[1]);
		take(me ? there[0] : back[0]);
		if (me)
			give(back[1]);
	}
}

/* The same by two processes: thread 1 is in the child of a fork. */
static void process_turns(int me, unsigned long n)
{
	pid_t child;

	if (me)
		return;
	child = fork();
	pipe_turns(!child, n);
	if (!child)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* Neither call waits. */
static void pipe_bytes(int me, unsigned long n)
{
	for (unsigned long i = 0; i < n && !me; i++) {
		give(there[1]);
		take(there[0]);
	}
}

static void posts(int me, unsigned long n)
{
	if (me)
		return;
	for (unsigned long i = 0; i < n; i++) {
		sem_post(&own);
		sem_wait(&own);
	}
}

static void read_locks(int me, unsigned long n)
{
	if (me)
		return;
	for (unsigned long i = 0; i < n; i++) {
		pthread_rwlock_rdlock(&rwlock);
		pthread_rwlock_unlock(&rwlock);
	}
}

static void *nothing(void *argument)
{
	return argument;
}

static void create_join(int me, unsigned long n)
{
	pthread_t thread;

	for (unsigned long i = 0; i < n && !me; i++) {
		pthread_create(&thread, NULL, nothing, NULL);
		pthread_join(thread, NULL);
	}
}

/* Some 30,000 locks a second: tens of microseconds of work between two. */
static void rare(int me, unsigned long n)
{
	if (me)
		return;
	for (unsigned long i = 0; i < n; i++) {
		lock_pairs(i % 2 ? &mutex : &other, 1);
		for (int k = 0; k < 110000; k++)
			__asm__ volatile("" : : "r"(k));
	}
}

static const struct operation {
	const char *name;
	body *run;
	unsigned long count;
} operations[] = {
	{ "private", private, 10000000 },
	{ "again", again, 10000000 },
	{ "hand-off", hand_off, 2000000 },
	{ "shared", shared_mutex, 4000000 },
	{ "section", section, 2000000 },
	{ "read", read_locks, 5000000 },
	{ "post", posts, 5000000 },
	{ "barrier", barriers, 50000 },
	{ "condition", conditions, 50000 },
	{ "semaphore", semaphores, 50000 },
	{ "create", create_join, 5000 },
	{ "rare", rare, 20000 },
	{ "live", live, 2000000 },
	{ "remade", remade, 30000 },
	{ "pipe", pipe_bytes, 200000 },
	{ "pipe-turn", pipe_turns, 50000 },
	{ "process-turn", process_turns, 50000 },
};

static const struct operation *chosen;
static unsigned long count;
static double begun;

static void *thread_main(void *argument)
{
	int me = argument != NULL;

	pin(me);
	pthread_barrier_wait(&barrier);
	if (!me)
		begun = now_ns();
	chosen->run(me, count);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	for (size_t i = 0; i < sizeof(operations) / sizeof(*operations); i++) {
		if (argc < 2)
			puts(operations[i].name);
		else if (!strcmp(argv[1], operations[i].name))
			chosen = &operations[i];
	}
	if (!chosen)
		return argc < 2 ? 0 : 2;
	count = argc > 2 ? strtoul(argv[2], NULL, 0) : chosen->count;
	pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
	pthread_barrier_init(&barrier, NULL, 2);
	sem_init(&ping, 0, 1);
	sem_init(&pong, 0, 0);
	sem_init(&own, 0, 0);
	if (pipe(there) || pipe(back))
		return 1;
	pthread_create(&thread, NULL, thread_main, &barrier);
	thread_main(NULL);
	pthread_join(thread, NULL);
	printf("%.1f\n", (now_ns() - begun) / (double)count);
	return 0;
}
