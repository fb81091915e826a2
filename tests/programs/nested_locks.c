/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/nested_locks.c - a lock held inside another one, each wanted by a third thread
 *
 * Path of a round: before, both, and then the inner lock's other user, who is longer than the rest
 * under the outer lock and its other user. While both are held, both are active: zeroing the outer
 * lock leaves the inner lock's other user, zeroing the inner one leaves before, after and the outer
 * lock's other user.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (250 * KP_MS)
#define ROUNDS	  28
#define BEFORE_US (10 * KP_MS) /* outer lock only */
#define BOTH_US	  (15 * KP_MS)
#define AFTER_US  (5 * KP_MS) /* outer lock only */
#define INNER_US  (20 * KP_MS)
#define OUTER_US  (8 * KP_MS)

static pthread_mutex_t outer_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex outer = { .mutex = &outer_lock, .name = "outer_lock" };
static struct kp_mutex inner = { .mutex = &inner_lock, .name = "inner_lock" };

static sem_t ask_outer_sem, ask_inner_sem, outer_done_sem, inner_done_sem;
static struct kp_sem ask_outer = { .sem = &ask_outer_sem };
static struct kp_sem ask_inner = { .sem = &ask_inner_sem };
static struct kp_sem outer_done = { .sem = &outer_done_sem };
static struct kp_sem inner_done = { .sem = &inner_done_sem };

/* Each of the others begins to wait for a lock while this one holds it. */
static void *holder(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_lock(&outer);
		kp_post(&ask_outer);
		work_a(BEFORE_US);
		kp_lock(&inner);
		kp_post(&ask_inner);
		work_b(BOTH_US);
		kp_unlock(&inner);
		work_a(AFTER_US);
		kp_unlock(&outer);
		kp_sem_wait(&outer_done);
		kp_sem_wait(&inner_done);
	}
	return kp_leave();
}

static void *wants_outer(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&ask_outer);
		kp_lock(&outer);
		work_c(OUTER_US);
		kp_unlock(&outer);
		kp_post(&outer_done);
	}
	return kp_leave();
}

static void *wants_inner(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&ask_inner);
		kp_lock(&inner);
		work_d(INNER_US);
		kp_unlock(&inner);
		kp_post(&inner_done);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[3];
	int i;

	kp_begin();
	sem_init(&ask_outer_sem, 0, 0);
	sem_init(&ask_inner_sem, 0, 0);
	sem_init(&outer_done_sem, 0, 0);
	sem_init(&inner_done_sem, 0, 0);
	work_main(MAIN_US);
	thread[0] = kp_create(holder, NULL);
	thread[1] = kp_create(wants_outer, NULL);
	thread[2] = kp_create(wants_inner, NULL);
	for (i = 0; i < 3; i++)
		kp_join(thread[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * (BEFORE_US + BOTH_US + INNER_US));
	kp_claim(KP_SHARE, "outer_lock", ROUNDS * (BEFORE_US + BOTH_US));
	kp_claim(KP_SAVED, "outer_lock", ROUNDS * (BEFORE_US + BOTH_US));
	kp_claim(KP_SHARE, "inner_lock", ROUNDS * (BOTH_US + INNER_US));
	kp_claim(KP_SAVED, "inner_lock", ROUNDS * (BOTH_US + INNER_US - AFTER_US - OUTER_US));
	kp_claim(KP_SHARE, "wants_outer", 0);
	return kp_finish();
}
