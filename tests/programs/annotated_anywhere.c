/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/annotated_anywhere.c - every annotation in signal handlers that interrupt
 * annotations, in children of fork and in destructors of threads: none changes errno or hangs
 *
 * Prints how the child ended, and whether errno was changed.
 */
#include "preload/cpa.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIGNALS	  300
#define EVERY_US  500
#define UNTOUCHED EXDEV

static volatile sig_atomic_t signals, changed;

static void annotate(const char *name, void *address, long item)
{
	errno = UNTOUCHED;
	CPA_QUEUE_NAME(address, name);
	CPA_REGION_BEGIN(name);
	CPA_ENQUEUE(address, item);
	CPA_DEQUEUE(address, item);
	CPA_ITEM_DONE(address, item);
	CPA_HAPPENS_BEFORE(address);
	CPA_HAPPENS_AFTER(address);
	CPA_MARK(name);
	CPA_REGION_END();
	changed |= errno != UNTOUCHED;
}

static void on_alarm(int number)
{
	static char address;
	int err = errno;

	annotate("handler", &address, number);
	signals++;
	errno = err;
}

static void destroy(void *address)
{
	annotate("destructor", address, 2);
}

static void *thread(void *address)
{
	static pthread_key_t key;

	pthread_key_create(&key, destroy);
	pthread_setspecific(key, address);
	annotate("thread", address, 3);
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } }, never = { 0 };
	static char address[2];
	pthread_t other;
	int status;
	pid_t child;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; signals < SIGNALS; i++)
		annotate(i % 2 ? "odd" : "even", &address[i % 2], i);
	setitimer(ITIMER_REAL, &never, NULL);
	pthread_create(&other, NULL, thread, &address[0]);
	pthread_join(other, NULL);
	child = fork();
	if (!child) {
		annotate("child", &address[0], 1);
		_exit(changed ? 1 : 7);
	}
	waitpid(child, &status, 0);
	printf("child %d, errno %s\n", WEXITSTATUS(status), changed ? "changed" : "untouched");
	return 0;
}
