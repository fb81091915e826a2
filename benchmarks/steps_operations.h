/* SPDX-License-Identifier: MIT */
/* benchmarks/steps_operations.h - the operations whose instructions benchmarks/steps.c counts */
#ifndef CPA_BENCHMARKS_STEPS_OPERATIONS_H
#define CPA_BENCHMARKS_STEPS_OPERATIONS_H

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <threads.h>
#include <unistd.h>

#include "preload/cpa.h"

/*
 * An object whose address, or a pipe whose number, shares a line of cpa's table with others costs
 * about 100 instructions more a round. So each round uses the next of several objects, and the
 * shortest round is one of an object that has its line for itself.
 */
#define PLACES 8
static unsigned place;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_spinlock_t spin;
static sem_t sem;
static char queue;

static void nothing(void)
{
	__asm__ volatile("" : : : "memory");
}

static void lock_pair(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void live(void)
{
	static pthread_mutex_t own[PLACES];
	pthread_mutex_t *m = &own[place];

	pthread_mutex_init(m, NULL);
	pthread_mutex_lock(m);
	pthread_mutex_unlock(m);
	pthread_mutex_destroy(m);
}

static void try_pair(void)
{
	if (!pthread_mutex_trylock(&mutex))
		pthread_mutex_unlock(&mutex);
}

static void spin_pair(void)
{
	pthread_spin_lock(&spin);
	pthread_spin_unlock(&spin);
}

static void read_pair(void)
{
	pthread_rwlock_rdlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void write_pair(void)
{
	pthread_rwlock_wrlock(&rwlock);
	pthread_rwlock_unlock(&rwlock);
}

static void post_wait(void)
{
	sem_post(&sem);
	sem_wait(&sem);
}

static void signal_nobody(void)
{
	pthread_cond_signal(&cond);
}

static void c11_pair(void)
{
	static mtx_t own; /* zeros are a plain one */

	mtx_lock(&own);
	mtx_unlock(&own);
}

static void futex_wake(void)
{
	static unsigned word;

	syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1);
}

static void enqueue_dequeue(void)
{
	CPA_ENQUEUE(&queue, 1);
	CPA_DEQUEUE(&queue, 1);
}

static void annotation(void)
{
	CPA_HAPPENS_BEFORE(&queue);
}

static int pipe_ends[PLACES][2], next_ends[PLACES][2], outside_ends[2], plain;

static void pipe_bytes(void)
{
	char bytes[16] = { 0 };

	if (write(pipe_ends[place][1], bytes, sizeof(bytes)) != sizeof(bytes) ||
	    read(pipe_ends[place][0], bytes, sizeof(bytes)) != sizeof(bytes))
		abort();
}

/* By a connection whose ends cpa does not know: made by a system call. */
static void send_outside(void)
{
	char bytes[16] = { 0 };
	struct iovec piece = { bytes, sizeof(bytes) };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };

	if (sendmsg(outside_ends[1], &message, 0) != sizeof(bytes) ||
	    recv(outside_ends[0], bytes, sizeof(bytes), 0) != sizeof(bytes))
		abort();
}

/* From one pipe to another. */
static void splice_bytes(void)
{
	char bytes[16] = { 0 };

	if (write(pipe_ends[place][1], bytes, sizeof(bytes)) != sizeof(bytes) ||
	    splice(pipe_ends[place][0], NULL, next_ends[place][1], NULL, sizeof(bytes), 0) !=
		    sizeof(bytes) ||
	    read(next_ends[place][0], bytes, sizeof(bytes)) != sizeof(bytes))
		abort();
}

static void plain_read(void)
{
	char byte;

	if (read(plain, &byte, 1))
		abort();
}

static void copy_close(void)
{
	int copy = dup(pipe_ends[place][1]);

	if (copy < 0 || close(copy))
		abort();
}

static void plain_copy_close(void)
{
	int copy = dup(plain);

	if (copy < 0 || close(copy))
		abort();
}

static void get_flags(void)
{
	if (fcntl(plain, F_GETFL) < 0)
		abort();
}

/* What gcc calls for OpenMP. */
int omp_get_thread_num(void);
void omp_set_lock(void *lock);
void omp_unset_lock(void *lock);
void GOMP_critical_start(void);
void GOMP_critical_end(void);
void GOMP_parallel(void (*f)(void *), void *data, unsigned threads, unsigned flags);
void GOMP_task(void (*f)(void *), void *data, void (*copy)(void *, void *), long size, long align,
	       bool deferred, unsigned flags, void **depend, int priority, void *detach);
void GOMP_taskwait(void);
void GOMP_barrier(void);

static void omp_lock_pair(void)
{
	static uint64_t lock[2]; /* of libgomp: zeros are an unlocked one */

	omp_set_lock(lock);
	omp_unset_lock(lock);
}

static void omp_critical(void)
{
	GOMP_critical_start();
	GOMP_critical_end();
}

static void region_body(void *data)
{
	(void)data;
}

static void omp_region(void)
{
	GOMP_parallel(region_body, NULL, 2, 0);
}

static void omp_region_alone(void)
{
	GOMP_parallel(region_body, NULL, 1, 0);
}

static void omp_task(void)
{
	GOMP_task(region_body, NULL, NULL, 0, 1, true, 0, NULL, 0, NULL);
	GOMP_taskwait();
}

static unsigned long met; /* barriers that the main thread came to */

static void omp_barrier(void)
{
	met++;
	GOMP_barrier();
}

static const struct operation {
	const char *name;
	void (*once)(void);
	/* Whether another thread does it, too; TEAM: no, but it is in the same region; MEETS: there, and waits first */
	enum { NEVER, TEAM, MEETS, FIRST, EACH } other;
} operations[] = {
	{ "nothing", nothing, NEVER },
	{ "private", lock_pair, NEVER },
	{ "again", lock_pair, FIRST },
	{ "hand-off", lock_pair, EACH },
	{ "live", live, NEVER },
	{ "try", try_pair, NEVER },
	{ "spin", spin_pair, NEVER },
	{ "spin-hand-off", spin_pair, EACH },
	{ "read", read_pair, NEVER },
	{ "write", write_pair, NEVER },
	{ "post-wait", post_wait, NEVER },
	{ "signal", signal_nobody, NEVER },
	{ "c11", c11_pair, NEVER },
	{ "futex-wake", futex_wake, NEVER },
	{ "annotation", annotation, NEVER },
	{ "enqueue-dequeue", enqueue_dequeue, NEVER },
	{ "pipe", pipe_bytes, NEVER },
	{ "pipe-other", pipe_bytes, EACH },
	{ "send-outside", send_outside, NEVER },
	{ "splice", splice_bytes, NEVER },
	{ "plain-read", plain_read, NEVER },
	{ "copy-close", copy_close, NEVER },
	{ "plain-copy-close", plain_copy_close, NEVER },
	{ "fcntl", get_flags, NEVER },
	{ "omp-lock", omp_lock_pair, NEVER },
	{ "omp-critical", omp_critical, NEVER },
	{ "omp-region", omp_region, NEVER },
	{ "omp-region-alone", omp_region_alone, NEVER },
	{ "omp-task", omp_task, TEAM },
	{ "omp-barrier", omp_barrier, MEETS },
};

#endif
