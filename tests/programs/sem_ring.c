/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/sem_ring.c - three threads pass a token round by semaphores
 *
 * Path: main before + what each thread does with the token, every round + the private part after
 * the last round + main after. Zeroing the third thread's work saves all of it: what is left of a
 * round is still longer than any thread's own part and its private part.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	   (250 * KP_MS)
#define FIRST_US   (10 * KP_MS)
#define SECOND_US  (15 * KP_MS)
#define THIRD_US   (25 * KP_MS)
#define PRIVATE_US (6 * KP_MS)
#define ROUNDS	   26

static sem_t first_sem, second_sem, third_sem;
static struct kp_sem first = { .sem = &first_sem, .initial = 1 };
static struct kp_sem second = { .sem = &second_sem };
static struct kp_sem third = { .sem = &third_sem };

static void *ring_first(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&first);
		work_a(FIRST_US);
		kp_post(&second);
		work_d(PRIVATE_US);
	}
	return kp_leave();
}

static void *ring_second(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&second);
		work_b(SECOND_US);
		kp_post(&third);
		work_d(PRIVATE_US);
	}
	return kp_leave();
}

static void *ring_third(void *kp)
{
	int i;

	kp_enter(kp);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&third);
		work_c(THIRD_US);
		kp_post(&first);
		work_d(PRIVATE_US);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *worker[3];
	int i;

	kp_begin();
	sem_init(&first_sem, 0, first.initial);
	sem_init(&second_sem, 0, 0);
	sem_init(&third_sem, 0, 0);
	work_main(MAIN_US);
	worker[0] = kp_create(ring_first, NULL);
	worker[1] = kp_create(ring_second, NULL);
	worker[2] = kp_create(ring_third, NULL);
	for (i = 0; i < 3; i++)
		kp_join(worker[i]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL,
		 2 * MAIN_US + ROUNDS * (FIRST_US + SECOND_US + THIRD_US) + PRIVATE_US);
	kp_claim(KP_SHARE, "ring_second", ROUNDS * SECOND_US);
	kp_claim(KP_SAVED, "work_c", ROUNDS * THIRD_US);
	kp_claim(KP_SHARE, "work_d", PRIVATE_US);
	return kp_finish();
}
