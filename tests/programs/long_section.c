/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/long_section.c - a lock of short sections that is sometimes held long
 *
 * One thread: the path is all of it. Long sections work, work with another lock's section inside,
 * or sleep. Before each the lock is used many times, so that nothing about it seems to be new.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	   (50 * KP_MS)
#define ROUNDS	   8
#define USES	   20000
#define INSIDE_NS  200
#define OUTSIDE_NS 800
#define LONG_US	   (25 * KP_MS)
#define INNER_US   (10 * KP_MS)
#define SLEEP_US   (15 * KP_MS)

static pthread_mutex_t short_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex outer = { .mutex = &short_lock, .name = "short_lock" };
static struct kp_mutex inner = { .mutex = &inner_lock, .name = "inner_lock" };

static void *user(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_use(&outer, USES, INSIDE_NS, OUTSIDE_NS);
		kp_lock(&outer);
		work_a(LONG_US);
		kp_unlock(&outer);
		work_d(LONG_US);
		kp_use(&outer, USES, INSIDE_NS, OUTSIDE_NS);
		kp_lock(&outer);
		work_a(INNER_US);
		kp_lock(&inner);
		work_b(INNER_US);
		kp_unlock(&inner);
		work_a(INNER_US);
		kp_unlock(&outer);
		kp_use(&outer, USES, INSIDE_NS, OUTSIDE_NS);
		kp_lock(&outer);
		kp_sleep(SLEEP_US);
		kp_unlock(&outer);
		kp_sleep(SLEEP_US);
	}
	return kp_leave();
}

int main(void)
{
	kp_begin();
	work_main(MAIN_US);
	kp_join(kp_create(user, NULL));
	work_main(MAIN_US);

	kp_claim(KP_SHARE, "inner_lock", ROUNDS * INNER_US);
	return kp_finish();
}
