/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/barrier_rotate.c - a barrier at which another thread is the slowest each round
 *
 * Path: main before + the slow part of every round + main after. Zeroing the slow parts leaves the
 * fast ones.
 */
#include "tests/programs/known_path.h"

#define MAIN_US (250 * KP_MS)
#define SLOW_US (50 * KP_MS)
#define FAST_US (8 * KP_MS)
#define ROUNDS	24
#define WORKERS 4

static pthread_barrier_t round_barrier;
static struct kp_barrier rounds = { .barrier = &round_barrier, .members = WORKERS };

static void *barrier_worker(void *kp)
{
	const unsigned *member = kp_enter(kp);
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		if (i % WORKERS == *member)
			work_a(SLOW_US);
		else
			work_b(FAST_US);
		kp_barrier_wait(&rounds, *member, i);
	}
	return kp_leave();
}

int main(void)
{
	static const unsigned member[WORKERS] = { 0, 1, 2, 3 };
	struct kp_thread *worker[WORKERS];
	int i;

	kp_begin();
	pthread_barrier_init(&round_barrier, NULL, WORKERS);
	work_main(MAIN_US);
	for (i = 0; i < WORKERS; i++)
		worker[i] = kp_create(barrier_worker, (void *)&member[i]);
	for (i = 0; i < WORKERS; i++)
		kp_join(worker[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * SLOW_US);
	kp_claim(KP_SHARE, "work_a", ROUNDS * SLOW_US);
	kp_claim(KP_SAVED, "work_a", ROUNDS * (SLOW_US - FAST_US));
	kp_claim(KP_SHARE, "work_b", 0);
	kp_claim(KP_SAVED, "work_b", 0);
	return kp_finish();
}
