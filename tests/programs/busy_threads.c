/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/busy_threads.c - eight threads that never wait, on however few processors
 *
 * Path: main before + the long thread's CPU time + main after, whatever time the threads spend
 * waiting for a processor.
 */
#include "tests/programs/known_path.h"

#define MAIN_US (250 * KP_MS)
#define LONG_US (900 * KP_MS)
#define BUSY_US (300 * KP_MS)
#define BUSY	7

static void *busy(void *kp)
{
	kp_enter(kp);
	work_a(BUSY_US);
	return kp_leave();
}

static void *busy_long(void *kp)
{
	kp_enter(kp);
	work_b(LONG_US);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[BUSY + 1];
	int i;

	kp_begin();
	work_main(MAIN_US);
	for (i = 0; i < BUSY; i++)
		thread[i] = kp_create(busy, NULL);
	thread[BUSY] = kp_create(busy_long, NULL);
	for (i = 0; i <= BUSY; i++)
		kp_join(thread[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + LONG_US);
	kp_claim(KP_SHARE, "busy_long", LONG_US);
	kp_claim(KP_SAVED, "busy_long", LONG_US - BUSY_US);
	kp_claim(KP_SAVED, "busy", 0);
	return kp_finish();
}
