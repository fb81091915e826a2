/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/ended_idle.c - a busy thread, and one that is idle until SIGTERM ends the program
 *
 * handler: main is in sigsuspend() and returns; thread: a thread in sigwait() calls _exit(); killed:
 * nobody handles it. Prints a line when the work has gone on for a while.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define FIRST 60 /* rounds until others may end it */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t ended;

static void *work(void *argument)
{
	for (unsigned round = 0;; round++) {
		burn_ms(5);
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		if (round == FIRST && write(1, "busy\n", 5) != 5)
			_exit(1);
	}
	return argument;
}

static void end(int signal)
{
	ended = signal;
}

static void *wait_for_end(void *set)
{
	int signal;

	sigwait(set, &signal);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "handler";
	pthread_t thread;
	sigset_t set, before;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (strcmp(how, "killed") != 0)
		pthread_sigmask(SIG_BLOCK, &set, &before);
	if (!strcmp(how, "thread") && pthread_create(&thread, NULL, wait_for_end, &set))
		return 1;
	if (!strcmp(how, "handler"))
		signal(SIGTERM, end);
	if (pthread_create(&thread, NULL, work, NULL))
		return 1;
	while (!ended)
		if (!strcmp(how, "handler"))
			sigsuspend(&before);
		else
			pause();
	return 0;
}
