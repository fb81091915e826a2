/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/suspended.c - the first thread waits for signals that another sends to the process
 *
 * Path: main before + what the worker does in every round, without the rest of the last one + main
 * after. A signal ends a round; the next begins when main says so, who has less to do in it.
 */
#include "tests/programs/known_path.h"

#define MAIN_US	 (100 * KP_MS)
#define WORK_US	 (25 * KP_MS)
#define REST_US	 (3 * KP_MS)
#define ROUND_US (2 * KP_MS)
#define ROUNDS	 20

static sem_t go_sem;
static struct kp_sem go = { .sem = &go_sem };

static void on_signal(int sig)
{
	(void)sig;
}

static void *worker(void *kp)
{
	kp_enter(kp);
	for (int i = 0; i < ROUNDS; i++) {
		kp_sem_wait(&go);
		work_a(WORK_US);
		kp_kill(SIGUSR1);
		work_b(REST_US);
	}
	return kp_leave();
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct kp_thread *thread;
	sigset_t blocked, before;

	kp_begin();
	sem_init(&go_sem, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	work_main(MAIN_US);
	thread = kp_create(worker, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		kp_post(&go);
		work_main(ROUND_US);
		kp_suspend(&before);
	}
	work_main(MAIN_US);
	kp_join(thread);

	kp_claim(KP_PATH, NULL, 2 * MAIN_US + ROUNDS * WORK_US + (ROUNDS - 1) * REST_US);
	kp_claim(KP_SHARE, "work_a", ROUNDS * WORK_US);
	kp_claim(KP_SAVED, "work_a", ROUNDS * WORK_US);
	kp_claim(KP_SHARE, "work_b", (ROUNDS - 1) * REST_US);
	return kp_finish();
}
