/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/known_sync.c - synchronization and annotations that are recorded; see known_path.h
 *
 * Two events for an acquire: arrival, and return with its edges.
 */
#include "preload/cpa.h"
#include "tests/programs/known_record.h"

#include <errno.h>
#include <unistd.h>

static void hold(int component)
{
	kp_self->held[component]++;
	kp_self->active |= 1U << component;
}

static void unhold(int component)
{
	if (!--kp_self->held[component])
		kp_self->active &= ~(1U << component);
}

static int class_of(const struct kp_mutex *mutex)
{
	return kp_component_of("lock", mutex->name, mutex->named_by_site ? "contains" : "exact");
}

static void mutex_acquired(struct kp_mutex *mutex)
{
	kp_log_event();
	kp_add_edge(kp_self->row, mutex->released);
	hold(class_of(mutex));
}

static void mutex_release(struct kp_mutex *mutex)
{
	mutex->released = kp_log_event();
	unhold(class_of(mutex));
}

void kp_lock(struct kp_mutex *mutex)
{
	kp_log_event();
	kp_check(pthread_mutex_lock(mutex->mutex), "pthread_mutex_lock");
	mutex_acquired(mutex);
}

bool kp_trylock(struct kp_mutex *mutex)
{
	int error = pthread_mutex_trylock(mutex->mutex);

	if (error == EBUSY)
		return false;
	kp_check(error, "pthread_mutex_trylock");
	mutex_acquired(mutex);
	return true;
}

void kp_unlock(struct kp_mutex *mutex)
{
	mutex_release(mutex);
	kp_check(pthread_mutex_unlock(mutex->mutex), "pthread_mutex_unlock");
}

static __attribute__((noinline)) void spin(long spins)
{
	for (long i = 0; i < spins; i++)
		__asm__ volatile("" : : "r"(i));
}

void kp_use(struct kp_mutex *mutex, long uses, long inside_ns, long outside_ns)
{
	long inside = (long)((double)inside_ns * kp_spins_per_ns);
	long outside = (long)((double)outside_ns * kp_spins_per_ns), i;
	int64_t whole_ns, inside_part_ns;

	kp_log_event();
	kp_add_edge(kp_self->row, mutex->released);
	for (i = 0; i < uses; i++) {
		kp_check(pthread_mutex_lock(mutex->mutex), "pthread_mutex_lock");
		spin(inside);
		kp_check(pthread_mutex_unlock(mutex->mutex), "pthread_mutex_unlock");
		spin(outside);
	}
	whole_ns = kp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - kp_self->cpu_ns;
	kp_self->cpu_ns += whole_ns;
	inside_part_ns = whole_ns * inside / (inside + outside);
	kp_add_event(whole_ns - inside_part_ns, kp_self->active);
	kp_add_event(inside_part_ns, kp_self->active | 1U << class_of(mutex));
	mutex->released = kp_graph_last(kp_self->row);
}

void kp_rdlock(struct kp_rwlock *lock)
{
	kp_log_event();
	kp_check(pthread_rwlock_rdlock(lock->lock), "pthread_rwlock_rdlock");
	kp_log_event();
	kp_add_edge(kp_self->row, lock->write_released);
	hold(kp_component_of("lock", lock->name, "exact"));
}

void kp_rdunlock(struct kp_rwlock *lock)
{
	uint32_t i = atomic_fetch_add(&lock->reads, 1);

	if (i >= KP_TOKENS)
		kp_die("read unlocks", ENOSPC);
	lock->read_released[i] = kp_log_event();
	unhold(kp_component_of("lock", lock->name, "exact"));
	kp_check(pthread_rwlock_unlock(lock->lock), "pthread_rwlock_unlock");
}

void kp_wrlock(struct kp_rwlock *lock)
{
	uint32_t i;

	kp_log_event();
	kp_check(pthread_rwlock_wrlock(lock->lock), "pthread_rwlock_wrlock");
	kp_log_event();
	kp_add_edge(kp_self->row, lock->write_released);
	for (i = 0; i < atomic_load(&lock->reads); i++)
		kp_add_edge(kp_self->row, lock->read_released[i]);
	atomic_store(&lock->reads, 0);
	hold(kp_component_of("lock", lock->name, "exact"));
}

void kp_wrunlock(struct kp_rwlock *lock)
{
	lock->write_released = kp_log_event();
	unhold(kp_component_of("lock", lock->name, "exact"));
	kp_check(pthread_rwlock_unlock(lock->lock), "pthread_rwlock_unlock");
}

void kp_wait(struct kp_cond *cond, struct kp_mutex *mutex)
{
	kp_id before = atomic_load(&cond->signalled), after;

	mutex_release(mutex);
	kp_check(pthread_cond_wait(cond->cond, mutex->mutex), "pthread_cond_wait");
	mutex_acquired(mutex);
	after = atomic_load(&cond->signalled);
	if (after != before)
		kp_add_edge(kp_self->row, after);
}

void kp_signal(struct kp_cond *cond)
{
	atomic_store(&cond->signalled, kp_log_event());
	kp_check(pthread_cond_signal(cond->cond), "pthread_cond_signal");
}

void kp_broadcast(struct kp_cond *cond)
{
	atomic_store(&cond->signalled, kp_log_event());
	kp_check(pthread_cond_broadcast(cond->cond), "pthread_cond_broadcast");
}

void kp_post(struct kp_sem *sem)
{
	if (sem->posts == KP_TOKENS)
		kp_die("posts", ENOSPC);
	sem->posted[sem->posts++] = kp_log_event();
	kp_check(sem_post(sem->sem) ? errno : 0, "sem_post");
}

void kp_sem_wait(struct kp_sem *sem)
{
	kp_log_event();
	kp_check(sem_wait(sem->sem) ? errno : 0, "sem_wait");
	kp_log_event();
	if (sem->waits++ >= sem->initial)
		kp_add_edge(kp_self->row, sem->posted[sem->waits - 1 - sem->initial]);
}

void kp_put(int fd)
{
	kp_id id = kp_log_event();

	if (write(fd, &id, sizeof(id)) != sizeof(id))
		kp_die("write", errno);
}

void kp_get(int fd)
{
	kp_id id;

	kp_log_event();
	if (read(fd, &id, sizeof(id)) != sizeof(id))
		kp_die("read", errno);
	kp_log_event();
	kp_add_edge(kp_self->row, id);
}

static kp_id sent;

void kp_kill(int sig)
{
	sent = kp_log_event();
	kp_check(kill(getpid(), sig) ? errno : 0, "kill");
}

void kp_suspend(const sigset_t *mask)
{
	kp_log_event();
	sigsuspend(mask);
	kp_log_event();
	kp_add_edge(kp_self->row, sent);
}

/* Who is in round n + 2 has met everybody in round n + 1: none still reads the slots of round n. */
void kp_barrier_wait(struct kp_barrier *barrier, unsigned member, unsigned round)
{
	kp_id *arrived = barrier->arrived[round % 2];
	unsigned i;
	int ret;

	arrived[member] = kp_log_event();
	ret = pthread_barrier_wait(barrier->barrier);
	if (ret != PTHREAD_BARRIER_SERIAL_THREAD)
		kp_check(ret, "pthread_barrier_wait");
	kp_log_event();
	for (i = 0; i < barrier->members; i++)
		kp_add_edge(kp_self->row, arrived[i]);
}

void kp_arrive(void)
{
	kp_log_event();
}

void kp_enqueue(const struct kp_queue *queue, struct kp_item *item)
{
	item->enqueued = kp_log_event();
	CPA_ENQUEUE(queue->address, item);
}

static void process(int component)
{
	if (kp_self->processed)
		unhold(kp_self->processed);
	kp_self->processed = component;
	if (component)
		hold(component);
}

void kp_dequeue(const struct kp_queue *queue, const struct kp_item *item)
{
	kp_log_event();
	kp_add_edge(kp_self->row, item->enqueued);
	process(kp_component_of("queue", queue->name, "exact"));
	CPA_DEQUEUE(queue->address, item);
}

void kp_item_done(const struct kp_queue *queue, const struct kp_item *item)
{
	kp_log_event();
	process(0);
	CPA_ITEM_DONE(queue->address, item);
}

void kp_region_begin(const char *name)
{
	kp_log_event();
	hold(kp_component_of("region", name, "exact"));
	CPA_REGION_BEGIN(name);
}

void kp_region_end(const char *name)
{
	kp_log_event();
	unhold(kp_component_of("region", name, "exact"));
	CPA_REGION_END();
}

kp_id kp_before(const void *address)
{
	kp_id id = kp_log_event();

	CPA_HAPPENS_BEFORE(address);
	return id;
}

void kp_after(const void *address, kp_id before)
{
	kp_log_event();
	kp_add_edge(kp_self->row, before);
	CPA_HAPPENS_AFTER(address);
}
