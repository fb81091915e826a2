/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/daemon_thread.c - a detached thread that is still there when main ends
 *
 * Path: all of main. Without its middle part, the detached thread's work, whose end main waits for,
 * would be on it. That thread then waits for what never comes.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	  (250 * KP_MS)
#define MIDDLE_US (1000 * KP_MS)
#define DAEMON_US (400 * KP_MS)

static sem_t ready_sem, never_sem;
static struct kp_sem ready = { .sem = &ready_sem };
static struct kp_sem never = { .sem = &never_sem };

static void *background(void *kp)
{
	kp_enter(kp);
	work_b(DAEMON_US);
	kp_post(&ready);
	kp_sem_wait(&never);
	return kp_leave();
}

int main(void)
{
	kp_begin();
	sem_init(&ready_sem, 0, 0);
	sem_init(&never_sem, 0, 0);
	work_main(MAIN_US);
	kp_detach(kp_create(background, NULL));
	work_a(MIDDLE_US);
	kp_sem_wait(&ready);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + MIDDLE_US);
	kp_claim(KP_SHARE, "background", 0);
	kp_claim(KP_SAVED, "work_a", MIDDLE_US - DAEMON_US);
	return kp_finish();
}
