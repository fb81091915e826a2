/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/lock_chain.c - four threads, nearly all of their work under one lock
 *
 * All critical sections are in series, whoever wins the lock. Path: main before + one private part
 * + every critical section + main after. A thread that takes the lock again before a woken waiter
 * gets to it adds its private part: seldom, and known from the log.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	   (250 * KP_MS)
#define HOLD_US	   (14 * KP_MS)
#define PRIVATE_US (4 * KP_MS)
#define ROUNDS	   24
#define WORKERS	   4

static pthread_mutex_t chain_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex chain = { .mutex = &chain_lock, .name = "chain_lock" };

static void *chain_worker(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		work_a(PRIVATE_US);
		kp_lock(&chain);
		work_b(HOLD_US);
		kp_unlock(&chain);
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
		worker[i] = kp_create(chain_worker, NULL);
	for (i = 0; i < WORKERS; i++)
		kp_join(worker[i]);
	work_main(MAIN_US);

	kp_claim(KP_SHARE, "chain_lock", WORKERS * ROUNDS * HOLD_US);
	kp_claim(KP_SHARE, "work_b", WORKERS * ROUNDS * HOLD_US);
	return kp_finish();
}
