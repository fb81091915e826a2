/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/handler_in_wait.c - waits that end with EINTR, behind a signal handler that slept
 *
 * The handler's sleep is an event of its own, in the middle of the wait for the semaphore. The signals come from
 * a process that is not in the session, and that has seen the wait.
 */
#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/conformance/asleep.h"

#define ROUNDS 3

static sem_t never;
static volatile int *waits; /* who waits, in each round; 0: nobody does yet */

static void sleeps(int signal)
{
	const struct timespec long_enough = { .tv_nsec = 100 * 1000 * 1000 };
	int err = errno;

	(void)signal;
	nanosleep(&long_enough, NULL);
	errno = err;
}

static void send_signals(pid_t to)
{
	for (int i = 0; i < ROUNDS; i++) {
		await_asleep(&waits[i]);
		kill(to, SIGALRM);
	}
	_exit(0);
}

int main(void)
{
	struct sigaction action = { .sa_handler = sleeps };
	struct timespec until;
	pid_t self = getpid();
	int bad = 0;

	waits = mmap(NULL, ROUNDS * sizeof(*waits), PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sem_init(&never, 0, 0);
	sigaction(SIGALRM, &action, NULL);
	if (waits == MAP_FAILED || clock_gettime(CLOCK_REALTIME, &until))
		return 1;
	if (!_Fork())
		send_signals(self);
	until.tv_sec += 1000;
	for (int i = 0; i < ROUNDS; i++) {
		__atomic_store_n(&waits[i], self, __ATOMIC_RELEASE);
		bad |= sem_timedwait(&never, &until) == 0 || errno != EINTR;
	}
	return bad || wait(NULL) < 0;
}
