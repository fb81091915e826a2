/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/timed_wait.c - a thread whose timed waits all time out
 *
 * A wait that times out is idle time, which weighs nothing. Path: main before + the steady thread + main after.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	   (250 * KP_MS)
#define TIMEOUT_US (40 * KP_MS)
#define BETWEEN_US (10 * KP_MS)
#define STEADY_US  (500 * KP_MS)
#define ROUNDS	   20

static sem_t never_sem;
static struct kp_sem never = { .sem = &never_sem };

static void *impatient(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_timeout(&never, TIMEOUT_US);
		work_a(BETWEEN_US);
	}
	return kp_leave();
}

static void *steady(void *kp)
{
	kp_enter(kp);
	work_b(STEADY_US);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	sem_init(&never_sem, 0, 0);
	work_main(MAIN_US);
	thread[0] = kp_create(impatient, NULL);
	thread[1] = kp_create(steady, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + STEADY_US);
	kp_claim(KP_SHARE, "timeout", 0);
	kp_claim(KP_SAVED, "timeout", 0);
	kp_claim(KP_SAVED, "steady", STEADY_US - ROUNDS * BETWEEN_US);
	return kp_finish();
}
