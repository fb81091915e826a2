/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/private_lock.c - a lock that one thread used very often, then another
 *
 * Path: main before + the owner, a quarter of whose time is in sections + the heir's section + main
 * after. Only the lock leads from the owner to what comes after it. Until the owner has finished
 * the heir must neither work nor block: it polls, on the owner's processor and with the least
 * priority.
 */
#include "tests/programs/known_path.h"

#include <sched.h>
#include <stdatomic.h>

#define MAIN_US	   (150 * KP_MS)
#define USES	   500000L
#define INSIDE_NS  500
#define OUTSIDE_NS 1500
#define POLL_US	   100L
#define HEIR_US	   (20 * KP_MS)

static pthread_mutex_t private_lock = PTHREAD_MUTEX_INITIALIZER;
static struct kp_mutex private = { .mutex = &private_lock, .name = "private_lock" };
static sem_t inherited_sem;
static struct kp_sem inherited = { .sem = &inherited_sem };
static atomic_bool finished;

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

static void *owner(void *kp)
{
	kp_enter(kp);
	share_processor();
	kp_use(&private, USES, INSIDE_NS, OUTSIDE_NS);
	atomic_store(&finished, true);
	return kp_leave();
}

static void *heir(void *kp)
{
	static const struct sched_param none;

	kp_enter(kp);
	share_processor();
	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!atomic_load(&finished))
		work_d(POLL_US);
	kp_lock(&private);
	work_b(HEIR_US);
	kp_unlock(&private);
	kp_post(&inherited);
	return kp_leave();
}

int main(void)
{
	struct kp_thread *thread[2];

	kp_begin();
	sem_init(&inherited_sem, 0, 0);
	work_main(MAIN_US);
	thread[0] = kp_create(owner, NULL);
	thread[1] = kp_create(heir, NULL);
	kp_sem_wait(&inherited);
	work_main(MAIN_US);
	kp_join(thread[0]);
	kp_join(thread[1]);

	kp_claim(KP_SAVED, "heir", HEIR_US);
	return kp_finish();
}
