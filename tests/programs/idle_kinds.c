/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/idle_kinds.c - blocks in each way that tests/e2e/idle.py asks for, once or in a loop
 *
 * On the descriptor of the argument a stranger answers each byte; on standard input he sends one unasked.
 */
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MS	 1000000
#define BLOCKED	 (30 * MS) /* ns */
#define POLLED	 300	   /* ms: longer than all that weighs */
#define SLEEPS	 12
#define ANSWERED 2

static void sleep_for(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void *sleep_loop(void *unused)
{
	for (int i = 0; i < SLEEPS; i++)
		sleep_for(5 * MS);
	return unused;
}

static void *poll_once(void *unused)
{
	poll(NULL, 0, POLLED);
	return unused;
}

static void *wait_in_vain(void *unused)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += BLOCKED;
	if (until.tv_nsec >= 1000 * MS) {
		until.tv_sec++;
		until.tv_nsec -= 1000 * MS;
	}
	pthread_mutex_lock(&mutex);
	while (!pthread_cond_timedwait(&never, &mutex, &until))
		;
	pthread_mutex_unlock(&mutex);
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const routines[])(void *) = { sleep_loop, poll_once, wait_in_vain };
	pthread_t thread[3];
	int talk = argc > 1 ? atoi(argv[1]) : -1;
	char c = 'x';

	for (unsigned i = 0; i < 3; i++)
		if (pthread_create(&thread[i], NULL, routines[i], NULL))
			return 1;
	for (int i = 0; i < ANSWERED; i++)
		if (write(talk, &c, 1) != 1 || read(talk, &c, 1) != 1)
			return 1;
	if (read(STDIN_FILENO, &c, 1) != 1)
		return 1;
	for (unsigned i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
