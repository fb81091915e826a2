/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/sleep_barrier.c - sleeping, alone and with a lock held, between barriers
 *
 * First rounds: one thread in turn sleeps, under a lock that nobody contends for, while the others
 * work for less time. Then: one works while the others poll for less time. Path: main before + the
 * sleep of each round of the first kind + the work of each round of the second + main after.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	 (250 * KP_MS)
#define SLEEP_US (50 * KP_MS)
#define AWAKE_US (20 * KP_MS)
#define BUSY_US	 (30 * KP_MS)
#define POLL_US	 (10 * KP_MS)
#define ROUNDS	 14 /* of either kind */
#define WORKERS	 3

static pthread_barrier_t day_barrier;
static struct kp_barrier day = { .barrier = &day_barrier, .members = WORKERS };
static pthread_mutex_t bed_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex bed = { .mutex = &bed_lock, .name = "bed_lock" };

static void *sleeper(void *kp)
{
	const unsigned *member = kp_enter(kp);
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		if (i % WORKERS == *member) {
			kp_lock(&bed);
			kp_sleep(SLEEP_US);
			kp_unlock(&bed);
		} else {
			work_a(AWAKE_US);
		}
		kp_barrier_wait(&day, *member, i);
	}
	for (; i < 2 * ROUNDS; i++) {
		if (i % WORKERS == *member)
			work_b(BUSY_US);
		else
			kp_poll(POLL_US);
		kp_barrier_wait(&day, *member, i);
	}
	return kp_leave();
}

int main(void)
{
	static const unsigned member[WORKERS] = { 0, 1, 2 };
	struct kp_thread *thread[WORKERS];
	int i;

	kp_begin();
	pthread_barrier_init(&day_barrier, NULL, WORKERS);
	work_main(MAIN_US);
	for (i = 0; i < WORKERS; i++)
		thread[i] = kp_create(sleeper, (void *)&member[i]);
	for (i = 0; i < WORKERS; i++)
		kp_join(thread[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * (SLEEP_US + BUSY_US));
	kp_claim(KP_SHARE, "sleep", ROUNDS * SLEEP_US);
	kp_claim(KP_SAVED, "sleep", ROUNDS * (SLEEP_US - AWAKE_US));
	kp_claim(KP_SHARE, "bed_lock", ROUNDS * SLEEP_US);
	kp_claim(KP_SAVED, "work_b", ROUNDS * BUSY_US); /* poll() is idle time */
	kp_claim(KP_SAVED, "poll", 0);
	return kp_finish();
}
