/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/trylock_loop.c - a thread that tries a lock until it gets it
 *
 * Path: main before + the holder's and the trier's critical section, every round + main after. A
 * failed attempt is no edge; the successful one depends on the unlock before it. A spinning thread
 * is as long as the thread it spins on, so both run on one processor, the trier with little
 * priority: its spinning is then a tenth of the time held.
 */
#include "tests/programs/known_path.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#define MAIN_US	  (250 * KP_MS)
#define HOLD_US	  (30 * KP_MS)
#define SPIN_US	  500L /* between two attempts */
#define TRIER_US  (20 * KP_MS)
#define BESIDE_US (10 * KP_MS)
#define ROUNDS	  26

static pthread_mutex_t tried_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex tried = { .mutex = &tried_lock, .name = "tried_lock" };
static sem_t held_sem, returned_sem;
static struct kp_sem held = { .sem = &held_sem };
static struct kp_sem returned = { .sem = &returned_sem };

static void share_processor(void)
{
	cpu_set_t allowed, one;
	int cpu = 0;

	sched_getaffinity(0, sizeof(allowed), &allowed);
	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void *holder(void *kp)
{
	int i;

	kp_enter(kp);
	share_processor();
	for (i = 0; i < ROUNDS; i++) {
		kp_lock(&tried);
		kp_post(&held);
		work_a(HOLD_US);
		kp_unlock(&tried);
		work_c(BESIDE_US);
		kp_sem_wait(&returned);
	}
	return kp_leave();
}

static void *trier(void *kp)
{
	int i;

	kp_enter(kp);
	share_processor();
	setpriority(PRIO_PROCESS, (id_t)gettid(), 10);
	for (i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&held);
		while (!kp_trylock(&tried))
			work_d(SPIN_US);
		work_b(TRIER_US);
		kp_unlock(&tried);
		kp_post(&returned);
	}
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	sem_init(&held_sem, 0, 0);
	sem_init(&returned_sem, 0, 0);
	work_main(MAIN_US);
	thread[0] = kp_create(holder, NULL);
	thread[1] = kp_create(trier, NULL);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * (HOLD_US + TRIER_US));
	kp_claim(KP_SHARE, "tried_lock", ROUNDS * (HOLD_US + TRIER_US));
	kp_claim(KP_SHARE, "work_d", 0);
	return kp_finish();
}
