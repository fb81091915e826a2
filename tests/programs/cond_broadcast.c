/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/cond_broadcast.c - a leader opens a gate by broadcast, followers report back
 *
 * The leader opens the gate, works on (late) and then broadcasts; each round another follower has
 * the most to do, and the last one signals the leader. Path: main before + leader, its late part
 * and the longest follower, every round + main after.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (250 * KP_MS)
#define LEADER_US (30 * KP_MS)
#define LATE_US	  (6 * KP_MS)
#define ROUNDS	  17
#define FOLLOWERS 3

static const long follower_us[FOLLOWERS] = { 40 * KP_MS, 20 * KP_MS, 10 * KP_MS };

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static pthread_cond_t done_cond = PTHREAD_COND_INITIALIZER;
static struct kp_mutex gate = { .mutex = &gate_lock, .name = "gate_lock" };
static struct kp_cond opened = { .cond = &gate_cond };
static struct kp_cond done = { .cond = &done_cond };

/* Guarded by gate_lock. */
static int generation, at_work;
static int unwaited; /* followers that came to an open gate */

static void *leader(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 1; i <= ROUNDS; i++) {
		work_a(LEADER_US);
		kp_lock(&gate);
		generation = i;
		at_work = FOLLOWERS;
		kp_unlock(&gate);
		work_c(LATE_US);
		kp_broadcast(&opened);
		kp_lock(&gate);
		while (at_work)
			kp_wait(&done, &gate);
		kp_unlock(&gate);
	}
	return kp_leave();
}

static void *follower(void *kp)
{
	const int *number = kp_enter(kp);
	int i;

	for (i = 1; i <= ROUNDS; i++) {
		kp_lock(&gate);
		unwaited += generation == i;
		while (generation < i)
			kp_wait(&opened, &gate);
		kp_unlock(&gate);
		work_b(follower_us[(i + *number) % FOLLOWERS]);
		kp_lock(&gate);
		if (!--at_work)
			kp_signal(&done);
		kp_unlock(&gate);
	}
	return kp_leave();
}

int main(void)
{
	static const int number[FOLLOWERS] = { 0, 1, 2 };
	struct kp_thread *thread[FOLLOWERS + 1];
	int i;

	kp_begin();
	work_main(MAIN_US);
	thread[FOLLOWERS] = kp_create(leader, NULL);
	for (i = 0; i < FOLLOWERS; i++)
		thread[i] = kp_create(follower, (void *)&number[i]);
	for (i = 0; i <= FOLLOWERS; i++)
		kp_join(thread[i]);
	work_main(MAIN_US);

	if (!unwaited) {
		kp_claim(KP_PATH, NULL,
			 2 * MAIN_US + ROUNDS * (LEADER_US + LATE_US + follower_us[0]));
		kp_claim(KP_SHARE, "leader", ROUNDS * (LEADER_US + LATE_US));
		kp_claim(KP_SAVED, "follower", ROUNDS * follower_us[0]);
		kp_claim(KP_SAVED, "work_c", ROUNDS * LATE_US);
	}
	return kp_finish();
}
