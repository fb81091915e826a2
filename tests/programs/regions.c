/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/regions.c - regions nest, also in themselves
 *
 * Path: main + the thread with regions + main; beside it a thread that bounds what they save.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (300 * KP_MS)
#define OUTER_US  (100 * KP_MS)
#define INNER_US  (150 * KP_MS)
#define AGAIN_US  (50 * KP_MS)
#define BESIDE_US (220 * KP_MS)

static void *with_regions(void *kp)
{
	kp_enter(kp);
	kp_region_begin("outer");
	work_a(OUTER_US);
	kp_region_begin("inner");
	work_b(INNER_US);
	kp_region_begin("inner");
	work_c(AGAIN_US);
	kp_region_end("inner");
	work_b(INNER_US);
	kp_region_end("inner");
	work_a(OUTER_US);
	kp_region_end("outer");
	return kp_leave();
}

static void *beside(void *kp)
{
	kp_enter(kp);
	work_d(BESIDE_US);
	return kp_leave();
}

int main(void)
{
	long outer_us = 2 * OUTER_US + 2 * INNER_US + AGAIN_US;
	long inner_us = 2 * INNER_US + AGAIN_US;
	struct kp_thread *thread[2];

	kp_begin();
	work_main(MAIN_US);
	thread[0] = kp_create(with_regions, NULL);
	thread[1] = kp_create(beside, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	kp_region_begin("end");
	work_main(MAIN_US);
	kp_region_end("end");

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + outer_us);
	kp_claim(KP_SHARE, "outer", outer_us);
	kp_claim(KP_SAVED, "outer", outer_us - BESIDE_US);
	kp_claim(KP_SHARE, "inner", inner_us);
	kp_claim(KP_SAVED, "inner", outer_us - BESIDE_US);
	kp_claim(KP_SAVED, "end", MAIN_US);
	return kp_finish();
}
