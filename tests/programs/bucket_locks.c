/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/bucket_locks.c - an array of locks of one class, two of them held at a time
 *
 * No thread waits for the other. Path: main before + all of the double worker + main after. Time
 * with two locks of the class held counts once. Zeroing the class shortens both workers: what the
 * single worker does without a lock is then longer.
 */
#include "tests/programs/known_path.h"

#include <stdlib.h>

#define MAIN_US	  (250 * KP_MS)
#define ROUNDS	  32
#define ONE_US	  (8 * KP_MS)
#define TWO_US	  (10 * KP_MS)
#define LEFT_US	  (5 * KP_MS)
#define DOUBLE_US (10 * KP_MS) /* the double worker's work without a lock */
#define SINGLE_US (15 * KP_MS) /* the single worker's */
#define BUCKETS	  4

static pthread_mutex_t *lock_of;
static struct kp_mutex bucket[BUCKETS];

/* One place initializes them all: that makes them one class. */
__attribute__((noinline)) static void init_bucket_locks(void)
{
	int i;

	for (i = 0; i < BUCKETS; i++) {
		pthread_mutex_init(&lock_of[i], NULL);
		bucket[i] = (struct kp_mutex){ .mutex = &lock_of[i],
					       .name = "init_bucket_locks",
					       .named_by_site = true };
	}
}

static void *double_worker(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_lock(&bucket[0]);
		work_a(ONE_US);
		kp_lock(&bucket[1]);
		work_a(TWO_US);
		kp_unlock(&bucket[0]);
		work_a(LEFT_US);
		kp_unlock(&bucket[1]);
		work_b(DOUBLE_US);
	}
	return kp_leave();
}

static void *single_worker(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_lock(&bucket[2 + i % 2]);
		work_c(ONE_US);
		kp_unlock(&bucket[2 + i % 2]);
		work_d(SINGLE_US);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	lock_of = malloc(BUCKETS * sizeof(*lock_of));
	if (!lock_of)
		return 2;
	init_bucket_locks();
	work_main(MAIN_US);
	thread[0] = kp_create(double_worker, NULL);
	thread[1] = kp_create(single_worker, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * (ONE_US + TWO_US + LEFT_US + DOUBLE_US));
	kp_claim(KP_SHARE, "init_bucket_locks", ROUNDS * (ONE_US + TWO_US + LEFT_US));
	kp_claim(KP_SAVED, "init_bucket_locks",
		 ROUNDS * (ONE_US + TWO_US + LEFT_US + DOUBLE_US - SINGLE_US));
	kp_claim(KP_SAVED, "single_worker", 0);
	return kp_finish();
}
