/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/killed_child.c - a wait for a child that a signal handler kills, which takes a lock, too
 *
 * The child's last event is at its begin. The handler runs in the wait, 200 ms later.
 */
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pid_t child;

static void use(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}

static void kills(int signal)
{
	(void)signal;
	kill(child, SIGKILL);
	use();
}

int main(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 200000 };
	struct sigaction action = { .sa_handler = kills, .sa_flags = SA_RESTART };
	int status;

	child = fork();
	if (!child) {
		use();
		for (;;)
			pause();
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	return waitpid(child, &status, 0) != child || !WIFSIGNALED(status);
}
