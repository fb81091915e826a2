/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/mix_three.c - three kinds of activity between the same two events, 1:3:9 long
 *
 * In each round one thread runs each kind, and they take turns. Most activities have no sample.
 * Path: main before + the longest of every round + main after. Zeroing the longest leaves the
 * second.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (50 * KP_MS)
#define SHORT_US  200L
#define MIDDLE_US (3 * SHORT_US)
#define LONG_US	  (9 * SHORT_US)
#define ROUNDS	  1400
#define WORKERS	  3

static pthread_barrier_t round_barrier;
static struct kp_barrier rounds = { .barrier = &round_barrier, .members = WORKERS };

static void *worker(void *kp)
{
	const unsigned *member = kp_enter(kp);
	unsigned i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned kind = (i + *member) % WORKERS;

		if (kind == 0)
			work_a(SHORT_US);
		else if (kind == 1)
			work_b(MIDDLE_US);
		else
			work_c(LONG_US);
		kp_barrier_wait(&rounds, *member, i);
	}
	return kp_leave();
}

int main(void)
{
	static const unsigned member[WORKERS] = { 0, 1, 2 };
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
	kp_claim(KP_SHARE, "work_c", ROUNDS * LONG_US);
	kp_claim(KP_SAVED, "work_c", ROUNDS * (LONG_US - MIDDLE_US));
	kp_claim(KP_SHARE, "work_a", 0);
	kp_claim(KP_SAVED, "work_a", 0);
	kp_claim(KP_SHARE, "work_b", 0);
	kp_claim(KP_SAVED, "work_b", 0);
	return kp_finish();
}
