/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/mix_rotate.c - a barrier with another slowest thread each round, in brief rounds
 *
 * Most activities have no sample, and all lie between the same two events. Long ones run work_a in
 * some threads and work_c in others, short ones work_b and work_d. Path: main before + the long
 * activity of every round + main after. Zeroing a function of long ones leaves the short ones of
 * its rounds.
 */
#include "tests/programs/known_path.h"

#define MAIN_US (50 * KP_MS)
#define LONG_US 1500L
#define FAST_US 300L
#define ROUNDS	1600
#define WORKERS 4

static pthread_barrier_t round_barrier;
static struct kp_barrier rounds = { .barrier = &round_barrier, .members = WORKERS };

static void *worker(void *kp)
{
	const unsigned *member = kp_enter(kp);
	bool first = *member < WORKERS / 2;
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		if (i % WORKERS == *member)
			(first ? work_a : work_c)(LONG_US);
		else
			(first ? work_b : work_d)(FAST_US);
		kp_barrier_wait(&rounds, *member, i);
	}
	return kp_leave();
}

int main(void)
{
	static const unsigned member[WORKERS] = { 0, 1, 2, 3 };
	struct kp_thread *thread[WORKERS];
	int i;

	kp_begin();
	pthread_barrier_init(&round_barrier, NULL, WORKERS);
	work_main(MAIN_US);
	for (i = 0; i < WORKERS; i++)
		thread[i] = kp_create(worker, (void *)&member[i]);
	for (i = 0; i < WORKERS; i++)
		kp_join(thread[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * LONG_US);
	kp_claim(KP_SHARE, "work_a", ROUNDS / 2 * LONG_US);
	kp_claim(KP_SHARE, "work_c", ROUNDS / 2 * LONG_US);
	kp_claim(KP_SAVED, "work_a", ROUNDS / 2 * (LONG_US - FAST_US));
	kp_claim(KP_SAVED, "work_c", ROUNDS / 2 * (LONG_US - FAST_US));
	kp_claim(KP_SHARE, "work_b", 0);
	kp_claim(KP_SAVED, "work_b", 0);
	kp_claim(KP_SHARE, "work_d", 0);
	kp_claim(KP_SAVED, "work_d", 0);
	return kp_finish();
}
