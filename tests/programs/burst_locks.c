/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/burst_locks.c - two threads that use a lock in turn, many times each
 *
 * The lock never seems to be one thread's for long, or does so wrongly. The turn goes by a
 * semaphore. Path: main before + all bursts of both + main after.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	   (50 * KP_MS)
#define INSIDE_NS  8000 /* so long that timing is not seen in the program's own clock */
#define OUTSIDE_NS 12000
#define SIZES	   3

static const struct {
	long uses;
	int rounds;
} burst[SIZES] = { { 100, 100 }, { 1000, 20 }, { 10000, 2 } };

static pthread_mutex_t burst_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex bursts = { .mutex = &burst_lock, .name = "burst_lock" };
static sem_t turn_sem[2];
static struct kp_sem turn[2] = { { .sem = &turn_sem[0] }, { .sem = &turn_sem[1] } };

static void take_turns(int side)
{
	int size, i;

	for (size = 0; size < SIZES; size++) {
		for (i = 0; i < burst[size].rounds / 2; i++) {
			kp_sem_wait(&turn[side]);
			kp_use(&bursts, burst[size].uses, INSIDE_NS, OUTSIDE_NS);
			kp_post(&turn[!side]);
		}
	}
}

static void *even(void *kp)
{
	kp_enter(kp);
	take_turns(0);
	return kp_leave();
}

static void *odd(void *kp)
{
	kp_enter(kp);
	take_turns(1);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];
	int i;

	kp_begin();
	for (i = 0; i < 2; i++)
		sem_init(&turn_sem[i], 0, 0);
	work_main(MAIN_US);
	thread[0] = kp_create(even, NULL);
	thread[1] = kp_create(odd, NULL);
	kp_post(&turn[0]);
	kp_join(thread[0]);
	kp_join(thread[1]);
	work_main(MAIN_US);

	return kp_finish();
}
