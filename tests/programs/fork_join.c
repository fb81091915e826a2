/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/fork_join.c - main forks workers of unlike length and joins them
 *
 * Path: main before + the longest worker + main after. Zeroing the long worker saves what it is
 * longer than the next one.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	 (250 * KP_MS)
#define LONG_US	 (1200 * KP_MS)
#define SHORT_US (800 * KP_MS)

static void *long_worker(void *kp)
{
	kp_enter(kp);
	work_a(LONG_US);
	return kp_leave();
}

static void *short_worker(void *kp)
{
	const long *us = kp_enter(kp);

	work_b(*us);
	return kp_leave();
}

int main(void)
{
	static const long us[] = { SHORT_US, 500 * KP_MS, 300 * KP_MS };
	struct kp_thread *worker[4];
	int i;

	kp_begin();
	work_main(MAIN_US);
	worker[0] = kp_create(long_worker, NULL);
	for (i = 0; i < 3; i++)
		worker[i + 1] = kp_create(short_worker, (void *)&us[i]);
	for (i = 0; i < 4; i++)
		kp_join(worker[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + LONG_US);
	kp_claim(KP_SHARE, "long_worker", LONG_US);
	kp_claim(KP_SAVED, "long_worker", LONG_US - SHORT_US);
	kp_claim(KP_SAVED, "work_a", LONG_US - SHORT_US);
	kp_claim(KP_SHARE, "short_worker", 0);
	kp_claim(KP_SAVED, "work_main", 2 * MAIN_US);
	return kp_finish();
}
