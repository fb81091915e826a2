/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_path.h - write a pthread program that knows its own critical path
 *
 * A program calls the kp_ functions in place of the pthread ones. Each logs, into arrays of its
 * own thread, the activity that ends here (CPU time since the last event, or time blocked in a
 * sleep or read, with the components active in it) and the releases that the program knows this
 * event to depend on: the id of the releasing event is kept beside each lock, written while the
 * lock is held and read by the next holder. Nothing is inferred from timing.
 *
 * kp_finish() builds the program activity graph from the logs, searches it for the longest path,
 * once as it is and once for each component at weight zero, compares the result with what the
 * program claims by hand (kp_claim), and prints the expectations as one JSON object.
 *
 * All time is accounted for: the first activity of main, as of any thread, begins at CPU time
 * zero, and calibration is part of it; only the constructors of libraries, thus a preloaded
 * profiler's own, are left out. The search comes after main's last event; its CPU time is
 * measured and added to main, being in series with everything. Only printing remains: less than
 * 0.2 ms, of paths of more than a second.
 */
#ifndef CPA_TESTS_KNOWN_PATH_H
#define CPA_TESTS_KNOWN_PATH_H

#include "tests/programs/known_graph.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/types.h>

#define KP_MS	   1000L /* the work functions take microseconds */
#define KP_NS	   1000L /* nanoseconds in one of them */
#define KP_MEMBERS 8	 /* threads of a barrier */
#define KP_TOKENS  512	 /* posts to one semaphore, read unlocks between two writers */

/* Components that every program has; those of locks and start routines are added as they come. */
enum kp_component {
	KP_WORK_MAIN,
	KP_WORK_A,
	KP_WORK_B,
	KP_WORK_C,
	KP_WORK_D,
	KP_SLEEP,
	KP_POLL,
	KP_TIMEOUT,
	KP_FIRST_FREE,
	KP_COMPONENTS = 32
};

struct kp_mutex {
	pthread_mutex_t *mutex;
	const char *name;   /* what the report calls its class */
	bool named_by_site; /* the name is only a part of it: that of the initializing function */
	kp_id released;	    /* guarded by the mutex */
};

struct kp_rwlock {
	pthread_rwlock_t *lock;
	const char *name;
	kp_id write_released;	/* guarded by the lock */
	_Atomic uint32_t reads; /* cleared by writers */
	kp_id read_released[KP_TOKENS];
};

struct kp_cond {
	pthread_cond_t *cond;
	_Atomic kp_id signalled; /* the last signal or broadcast */
};

/* One thread posts and one waits, so that the n-th wait takes the n-th token. */
struct kp_sem {
	sem_t *sem;
	uint32_t initial;
	uint32_t posts, waits; /* each written by one side only */
	kp_id posted[KP_TOKENS];
};

struct kp_barrier {
	pthread_barrier_t *barrier;
	unsigned members;
	kp_id arrived[2][KP_MEMBERS]; /* of even and odd rounds */
};

struct kp_thread;

/* First and last call of main: `kp_begin(); ... return kp_finish();` */
void kp_begin(void);
int kp_finish(void);

/*
 * Start routines begin with `void *arg = kp_enter(kp);` and end with `return kp_leave();`, where
 * kp is the argument that pthread gave them.
 */
#define kp_create(start, arg) kp_thread_create(start, #start, arg)
struct kp_thread *kp_thread_create(void *(*start)(void *), const char *name, void *arg);
void *kp_enter(void *self);
void *kp_leave(void);
void kp_join(struct kp_thread *thread);
/* Never joined. Its log must be complete, its thread blocked for ever, when main finishes. */
void kp_detach(struct kp_thread *thread);

/* Burn @us microseconds of this thread's CPU time in the function itself, in registers. */
void work_main(long us);
void work_a(long us);
void work_b(long us);
void work_c(long us);
void work_d(long us);

/* Time outside synchronization. A wait that must time out counts as such. */
void kp_sleep(long us);
void kp_poll(long us);
void kp_sem_timeout(struct kp_sem *sem, long us);

/* A signal to the process, and a wait for the handler of the latest that was sent so. */
void kp_kill(int sig);
void kp_suspend(const sigset_t *mask);

void kp_lock(struct kp_mutex *mutex);
bool kp_trylock(struct kp_mutex *mutex);
void kp_unlock(struct kp_mutex *mutex);

/*
 * Lock and unlock @uses times; nobody else may want the mutex meanwhile. A use is @inside_ns and
 * @outside_ns long, more or less: what is exact is the ratio of the two, and the CPU time of all
 * uses, of which there are a million rather than a hundred: they are two events.
 */
void kp_use(struct kp_mutex *mutex, long uses, long inside_ns, long outside_ns);

void kp_rdlock(struct kp_rwlock *lock);
void kp_wrlock(struct kp_rwlock *lock);
void kp_rdunlock(struct kp_rwlock *lock);
void kp_wrunlock(struct kp_rwlock *lock);

/*
 * One waiter at a time, unless only kp_broadcast() is used. What is waited for must be true before
 * the signal, so that no wait begins while the signal is on its way.
 */
void kp_wait(struct kp_cond *cond, struct kp_mutex *mutex);
void kp_signal(struct kp_cond *cond);
void kp_broadcast(struct kp_cond *cond);

void kp_post(struct kp_sem *sem);
void kp_sem_wait(struct kp_sem *sem);

/* Write a message into a pipe, and read one. The read depends on the write of what it gets. */
void kp_put(int fd);
void kp_get(int fd);

/* @member is the caller's number among the members, @round counts from 0. */
void kp_barrier_wait(struct kp_barrier *barrier, unsigned member, unsigned round);

/*
 * Annotations of cpa.h: these call the macros, too. A queue's own lock and condition variable are
 * used without kp_, as they make no edges; kp_arrive() comes before what may block in them. An
 * item is in process until kp_item_done(), or its thread's next dequeue. A region ends in its
 * thread, @name again.
 */
struct kp_queue {
	const void *address;
	const char *name;
};

struct kp_item {
	kp_id enqueued; /* handed over with the item */
};

void kp_arrive(void);
void kp_enqueue(const struct kp_queue *queue, struct kp_item *item);
void kp_dequeue(const struct kp_queue *queue, const struct kp_item *item);
void kp_item_done(const struct kp_queue *queue, const struct kp_item *item);
void kp_region_begin(const char *name);
void kp_region_end(const char *name);
/* Synchronization by hand: kp_before() returns what the other side passes to kp_after(). */
kp_id kp_before(const void *address);
void kp_after(const void *address, kp_id before);

/*
 * What the path must come to by hand, in microseconds: the whole, or what zeroing a component
 * saves, or the component's share. kp_finish() fails if the search disagrees by over 1 % of the
 * path; more only by what work and sleeps took beyond the times asked for. A thread's component
 * has the name of its start routine.
 */
enum kp_claimed { KP_PATH, KP_SHARE, KP_SAVED };
void kp_claim(enum kp_claimed what, const char *component, long us);

#endif
