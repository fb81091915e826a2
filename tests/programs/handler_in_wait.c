/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/handler_in_wait.c - waits that end with EINTR, behind a signal handler that slept
 *
 * The handler's sleep is an event of its own, in the middle of the wait for the semaphore.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>
#include <time.h>

#define ROUNDS 3

static sem_t never;

static void sleeps(int signal)
{
	const struct timespec long_enough = { .tv_nsec = 100 * 1000 * 1000 };
	int err = errno;

	(void)signal;
	nanosleep(&long_enough, NULL);
	errno = err;
}

int main(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 20 * 1000 };
	struct sigaction action = { .sa_handler = sleeps };
	struct timespec until;
	int bad = 0;

	sem_init(&never, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_sec += 100;
		setitimer(ITIMER_REAL, &soon, NULL);
		bad |= sem_timedwait(&never, &until) == 0 || errno != EINTR;
	}
	return bad;
}
