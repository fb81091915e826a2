/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/jump_beside.c - signal handlers jump out of sleeps in which a child ends
 *
 * In each of ROUNDS a child ends while THREADS sleep. A signal comes to each of them somewhat later than
 * its sleep is to end, at random, and its handler jumps out. Then main waits for the child, and prints how
 * many there were.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS	 20
#define THREADS	 8
#define SLEEP_NS 5000000
#define LATER_NS 250000 /* at most */

static __thread sigjmp_buf target;
static __thread volatile sig_atomic_t may_jump;

static void on_signal(int sig)
{
	(void)sig;
	if (!may_jump)
		return;
	may_jump = 0;
	siglongjmp(target, 1);
}

static void *sleep_beside(void *later)
{
	const struct itimerspec then = { .it_value.tv_nsec = SLEEP_NS + *(const long *)later };
	const struct timespec length = { .tv_nsec = SLEEP_NS };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1 };
	timer_t timer;

	event._sigev_un._tid = gettid();
	if (timer_create(CLOCK_MONOTONIC, &event, &timer))
		abort();
	if (!sigsetjmp(target, 1)) {
		may_jump = 1;
		timer_settime(timer, 0, &then, NULL);
		nanosleep(&length, NULL);
	}
	may_jump = 0;
	timer_delete(timer);
	return NULL;
}

static void run_threads(void)
{
	pthread_t thread[THREADS];
	long later[THREADS];

	for (int i = 0; i < THREADS; i++) {
		later[i] = rand() % LATER_NS;
		if (pthread_create(&thread[i], NULL, sleep_beside, &later[i]))
			abort();
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

int main(void)
{
	int ended = 0, status;
	pid_t child;

	signal(SIGUSR1, on_signal);
	for (int i = 0; i < ROUNDS; i++) {
		child = fork();
		if (child < 0)
			return 2;
		if (!child)
			_exit(3);
		run_threads();
		if (waitpid(child, &status, 0) == child && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 3)
			ended++;
	}
	printf("%d children\n", ended);
	return 0;
}
