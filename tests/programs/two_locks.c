/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/two_locks.c - the lock that waits most is not the lock that matters
 *
 * Four threads queue for wanted_lock: 0.9 s of critical sections, 2.5 s of waiting. Two threads
 * alternate on slow_lock: 1.3 s of critical sections, 1.1 s of waiting. Path: main before + all
 * critical sections of slow_lock + main after; wanted_lock has no share and zeroing it saves
 * nothing.
 */
#include "tests/programs/known_path.h"

#define MAIN_US (250 * KP_MS)
#define WORKERS 6
#define WANTED	4 /* of them use the wanted lock */

static pthread_mutex_t wanted_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t slow_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex wanted = { .mutex = &wanted_lock, .name = "wanted_lock" };
static struct kp_mutex slow = { .mutex = &slow_lock, .name = "slow_lock" };

#define WANTED_ROUNDS 14
#define WANTED_US     (16 * KP_MS)

static void *wanted_worker(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < WANTED_ROUNDS; i++) {
		work_c(3 * KP_MS);
		kp_lock(&wanted);
		work_a(WANTED_US);
		kp_unlock(&wanted);
	}
	return kp_leave();
}

#define SLOW_ROUNDS 30
#define SLOW_US	    (22 * KP_MS)

static void *slow_worker(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < SLOW_ROUNDS; i++) {
		work_d(5 * KP_MS);
		kp_lock(&slow);
		work_b(SLOW_US);
		kp_unlock(&slow);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *worker[WORKERS];
	int i;

	kp_begin();
	work_main(MAIN_US);
	for (i = 0; i < WORKERS; i++)
		worker[i] = i < WANTED ? kp_create(wanted_worker, NULL) :
					 kp_create(slow_worker, NULL);
	for (i = 0; i < WORKERS; i++)
		kp_join(worker[i]);
	work_main(MAIN_US);

	kp_claim(KP_SHARE, "slow_lock", (WORKERS - WANTED) * SLOW_ROUNDS * SLOW_US);
	kp_claim(KP_SHARE, "wanted_lock", 0);
	kp_claim(KP_SAVED, "wanted_lock", 0);
	return kp_finish();
}
