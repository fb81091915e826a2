/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/mix_independent.c - the length of an activity says nothing about its function
 *
 * One thread runs work_a or work_b, for a short or a long time, each of the four equally often; the
 * other has next to nothing to do before the barrier. Most activities have no sample. Path: main
 * before + all of the first thread + main after. Zeroing a function leaves the other.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	 (50 * KP_MS)
#define SHORT_US 600L
#define LONG_US	 1800L
#define BRIEF_US 5L
#define ROUNDS	 1600u /* a multiple of 4 */

static pthread_barrier_t round_barrier;
static struct kp_barrier rounds = { .barrier = &round_barrier, .members = 2 };

/* Numbers from 0 to 3 in no order that a sampling rate could meet; each equally often. */
static unsigned kind_of(unsigned i)
{
	return (i ^ (i / 4 * 2654435761u) >> 30) % 4;
}

static void *busy(void *kp)
{
	void *arg = kp_enter(kp);
	unsigned i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		unsigned kind = kind_of(i);

		(kind & 1 ? work_a : work_b)(kind & 2 ? LONG_US : SHORT_US);
		kp_barrier_wait(&rounds, 0, i);
	}
	return kp_leave();
}

static void *idle(void *kp)
{
	void *arg = kp_enter(kp);
	unsigned i;

	(void)arg;
	for (i = 0; i < ROUNDS; i++) {
		work_c(BRIEF_US);
		kp_barrier_wait(&rounds, 1, i);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	pthread_barrier_init(&round_barrier, NULL, 2);
	work_main(MAIN_US);
	thread[0] = kp_create(busy, NULL);
	thread[1] = kp_create(idle, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS / 2 * (SHORT_US + LONG_US));
	kp_claim(KP_SHARE, "work_a", ROUNDS / 4 * (SHORT_US + LONG_US));
	kp_claim(KP_SHARE, "work_b", ROUNDS / 4 * (SHORT_US + LONG_US));
	kp_claim(KP_SAVED, "work_a", ROUNDS / 4 * (SHORT_US + LONG_US - 2 * BRIEF_US));
	kp_claim(KP_SAVED, "work_b", ROUNDS / 4 * (SHORT_US + LONG_US - 2 * BRIEF_US));
	return kp_finish();
}
