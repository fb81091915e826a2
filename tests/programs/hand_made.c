/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/hand_made.c - synchronization of the program's own making
 *
 * A ring with one writer and one reader: an item is handed over without a lock. Only to sleep while
 * there is none the reader uses a mutex and a condition variable, which are a part of the ring and
 * make no edges. Then a lock that is made of a futex.
 *
 * Path: main + writing all items + reading the last one + the first holder + the second + main.
 */
#include "tests/programs/known_path.h"

#include "preload/cpa.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAIN_US	  (100 * KP_MS)
#define WRITE_US  (50 * KP_MS)
#define READ_US	  (20 * KP_MS)
#define FIRST_US  (120 * KP_MS)
#define SECOND_US (150 * KP_MS)
#define SLOTS	  6

static struct {
	_Atomic kp_id slot[SLOTS]; /* 0: empty; an item is the event that made it */
	pthread_mutex_t lock;
	pthread_cond_t filled;
} ring = { .lock = PTHREAD_MUTEX_INITIALIZER, .filled = PTHREAD_COND_INITIALIZER };

static void *writer(void *kp)
{
	unsigned i;

	kp_enter(kp);
	for (i = 0; i < SLOTS; i++) {
		work_a(WRITE_US);
		atomic_store(&ring.slot[i], kp_before(&ring.slot[i]));
		pthread_mutex_lock(&ring.lock);
		pthread_cond_signal(&ring.filled);
		pthread_mutex_unlock(&ring.lock);
	}
	return kp_leave();
}

static void *reader(void *kp)
{
	unsigned i;

	kp_enter(kp);
	for (i = 0; i < SLOTS; i++) {
		kp_arrive();
		pthread_mutex_lock(&ring.lock);
		while (!atomic_load(&ring.slot[i]))
			pthread_cond_wait(&ring.filled, &ring.lock);
		pthread_mutex_unlock(&ring.lock);
		kp_after(&ring.slot[i], atomic_load(&ring.slot[i]));
		work_b(READ_US);
	}
	return kp_leave();
}

/* 0: free, 1: taken, 2: taken, and somebody may wait. The futex and the annotation share it. */
static atomic_int word;
static kp_id unlocked; /* guarded by the lock */
static sem_t taken;
static struct kp_sem taken_sem = { .sem = &taken };

static void lock(void)
{
	int is = 0;

	kp_arrive();
	if (!atomic_compare_exchange_strong(&word, &is, 1)) {
		while (atomic_exchange(&word, 2))
			syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	}
	kp_after(&word, unlocked);
}

static void unlock(void)
{
	unlocked = kp_before(&word);
	if (atomic_exchange(&word, 0) == 2)
		syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static void *first(void *kp)
{
	kp_enter(kp);
	lock();
	kp_post(&taken_sem);
	work_c(FIRST_US);
	unlock();
	return kp_leave();
}

static void *second(void *kp)
{
	kp_enter(kp);
	kp_sem_wait(&taken_sem);
	lock();
	work_d(SECOND_US);
	unlock();
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	CPA_QUEUE_LOCK(&ring, &ring.lock);
	sem_init(&taken, 0, 0);
	work_main(MAIN_US);
	thread[0] = kp_create(writer, NULL);
	thread[1] = kp_create(reader, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	thread[0] = kp_create(first, NULL);
	thread[1] = kp_create(second, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + SLOTS * WRITE_US + READ_US + FIRST_US + SECOND_US);
	kp_claim(KP_SHARE, "reader", READ_US);
	kp_claim(KP_SAVED, "writer", SLOTS * WRITE_US + READ_US - SLOTS * READ_US);
	kp_claim(KP_SAVED, "first", FIRST_US);
	return kp_finish();
}
