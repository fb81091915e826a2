/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/create_tree.c - threads that create threads, and join them
 *
 * Path: main before + the parent before it creates the child + the child before it creates the leaf
 * + the leaf + the parent after the join + main after.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (250 * KP_MS)
#define BEFORE_US (300 * KP_MS)
#define BESIDE_US (400 * KP_MS)
#define AFTER_US  (100 * KP_MS)
#define CHILD_US  (200 * KP_MS)
#define WHILE_US  (300 * KP_MS)
#define LEAF_US	  (500 * KP_MS)

static void *leaf(void *kp)
{
	kp_enter(kp);
	work_c(LEAF_US);
	return kp_leave();
}

static void *child(void *kp)
{
	struct kp_thread *thread;

	kp_enter(kp);
	work_b(CHILD_US);
	thread = kp_create(leaf, NULL);
	work_b(WHILE_US);
	kp_join(thread);
	return kp_leave();
}

static void *parent(void *kp)
{
	struct kp_thread *thread;

	kp_enter(kp);
	work_a(BEFORE_US);
	thread = kp_create(child, NULL);
	work_a(BESIDE_US);
	kp_join(thread);
	work_a(AFTER_US);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread;

	kp_begin();
	work_main(MAIN_US);
	thread = kp_create(parent, NULL);
	kp_join(thread);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + BEFORE_US + CHILD_US + LEAF_US + AFTER_US);
	kp_claim(KP_SHARE, "parent", BEFORE_US + AFTER_US);
	kp_claim(KP_SHARE, "child", CHILD_US);
	kp_claim(KP_SAVED, "child", CHILD_US);
	kp_claim(KP_SAVED, "leaf", CHILD_US + LEAF_US - CHILD_US - WHILE_US);
	return kp_finish();
}
