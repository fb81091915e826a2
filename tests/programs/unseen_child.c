/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unseen_child.c - waits for a child that is not in the session: a signal handler made it
 *
 * The child sleeps for 100 ms.
 */
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void forks(int signal)
{
	const struct timespec long_enough = { .tv_nsec = 100 * 1000 * 1000 };
	pid_t child = fork();

	(void)signal;
	if (!child) {
		nanosleep(&long_enough, NULL);
		_exit(0);
	}
	ended = child > 0 && waitpid(child, NULL, 0) == child;
}

int main(void)
{
	struct sigaction action = { .sa_handler = forks };

	sigaction(SIGUSR1, &action, NULL);
	raise(SIGUSR1);
	return !ended;
}
