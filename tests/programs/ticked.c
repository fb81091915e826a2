/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/ticked.c - the first thread waits for a timer's signals; another sends some to itself
 *
 * Path: main before + main after. What the other thread does between its signals, and in their
 * handler, ends no wait of main.
 */
#include "tests/programs/known_path.h"

#include <sys/time.h>

#define MAIN_US	  (100 * KP_MS)
#define AFTER_US  (300 * KP_MS)
#define WORK_US	  (30 * KP_MS)
#define HANDLE_US (70 * KP_MS)
#define TICK_US	  (20 * KP_MS)
#define ROUNDS	  2

static volatile sig_atomic_t ended;

static void on_tick(int sig)
{
	(void)sig;
}

static void on_signal(int sig)
{
	(void)sig;
	work_b(HANDLE_US);
}

static void *worker(void *kp)
{
	kp_enter(kp);
	for (int i = 0; i < ROUNDS; i++) {
		work_a(WORK_US);
		pthread_kill(pthread_self(), SIGUSR1);
	}
	ended = 1;
	return kp_leave();
}

int main(void)
{
	const struct itimerval every = { { 0, TICK_US }, { 0, TICK_US } };
	struct sigaction tick = { .sa_handler = on_tick }, own = { .sa_handler = on_signal };
	struct kp_thread *thread;
	sigset_t blocked, before;

	kp_begin();
	sigaction(SIGALRM, &tick, NULL);
	sigaction(SIGUSR1, &own, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	work_main(MAIN_US);
	thread = kp_create(worker, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (!ended)
		sigsuspend(&before);
	work_main(AFTER_US);
	kp_join(thread);

	kp_claim(KP_PATH, NULL, MAIN_US + AFTER_US);
	kp_claim(KP_SHARE, "work_a", 0);
	kp_claim(KP_SHARE, "work_b", 0);
	return kp_finish();
}
