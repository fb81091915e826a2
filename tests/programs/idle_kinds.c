/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/idle_kinds.c - blocks in each way that tests/e2e/idle.py asks for, once or in a loop
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS	 1000000
#define BLOCKED	 (30 * MS) /* ns */
#define POLLED	 300	   /* ms: longer than all that weighs */
#define SLEEPS	 12
#define ANSWERED 2

static int talk[2], told[2];

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

/* Answers who writes, and then writes to who did not ask. */
static void *answer(void *unused)
{
	char c;

	for (int i = 0; i < ANSWERED && read(talk[1], &c, 1) == 1; i++) {
		sleep_for(BLOCKED);
		if (write(talk[1], &c, 1) != 1)
			break;
	}
	sleep_for(BLOCKED);
	if (write(told[1], "x", 1) != 1)
		perror("write");
	return unused;
}

int main(void)
{
	static void *(*const routines[])(void *) = { sleep_loop, poll_once, wait_in_vain, answer };
	pthread_t thread[4];
	char c = 'x';

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, talk) || pipe(told))
		return 1;
	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, routines[i], NULL))
			return 1;
	for (int i = 0; i < ANSWERED; i++)
		if (write(talk[0], &c, 1) != 1 || read(talk[0], &c, 1) != 1)
			return 1;
	if (read(told[0], &c, 1) != 1)
		return 1;
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
