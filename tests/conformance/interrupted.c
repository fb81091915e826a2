/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/interrupted.c - calls that work for long in the kernel, and then block
 *
 * A signal that came meanwhile would end them: with EINTR, or with less than was asked for. The
 * kernel's timers on CPU clocks send theirs when a thread returns from it, since Linux 5.11. And
 * calls that let through what the thread blocks, of which a sample may be pending then.
 */
#include "tests/conformance/case.h"

#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/utsname.h>

#define SECONDS 2
#define BLOCK	(1 << 20)
#define MANY	200 /* descriptors: some 10 us to look at */
#define THREADS 12  /* that wait for a handler */

static int in, out, epoll;

/* Slower than who writes: a write finds the pipe full. */
static void *reader(void *unused)
{
	static char block[BLOCK];

	while (read(in, block, BLOCK) > 0)
		for (volatile int i = 0; i < 20000; i++)
			;
	return unused;
}

static bool is_old(void)
{
	struct utsname system;
	int major = 0, minor = 0;

	must(!uname(&system) && sscanf(system.release, "%d.%d", &major, &minor) == 2, "uname");
	return major < 5 || (major == 5 && minor < 11);
}

static struct {
	unsigned writes, polls, epolls, selects;
} wrong;

static void call_all(struct pollfd *fds)
{
	static char block[BLOCK];
	const struct timespec soon = { 0, 100000 };
	struct timeval also = { 0, 100 };
	struct epoll_event event;
	fd_set none;

	for (int i = 0; i < 5; i++) {
		wrong.writes += write(out, block, BLOCK) != BLOCK;
		wrong.polls += ppoll(fds, MANY, &soon, NULL) != 0;
	}
	wrong.epolls += epoll_wait(epoll, &event, 1, 1) != 0;
	FD_ZERO(&none);
	wrong.selects += select(0, &none, NULL, NULL, &also) != 0;
}

static sigset_t before;
static sem_t ready;
static __thread volatile sig_atomic_t handled;

static void on_signal(int sig)
{
	handled = sig;
}

static void burn(long ms)
{
	struct timespec t = { 0, 0 };

	while (t.tv_sec == 0 && t.tv_nsec < ms * 1000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
}

/* Wait for the handler in one of four ways. */
static void wait_in(unsigned way)
{
	static const struct timespec long_ = { 20, 0 };
	struct epoll_event event;

	if (way == 0)
		sigsuspend(&before);
	else if (way == 1)
		ppoll(NULL, 0, &long_, &before);
	else if (way == 2)
		pselect(0, NULL, NULL, NULL, &long_, &before);
	else
		epoll_pwait(epoll, &event, 1, 20000, &before);
}

static unsigned too_early[4];

/* Once, with a sample that waits for the mask. */
static void *wait_for_handler(void *number)
{
	unsigned way = (unsigned)(uintptr_t)number % 4;
	sigset_t all;

	sigfillset(&all);
	burn(1);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	burn(10);
	sem_post(&ready);
	wait_in(way);
	too_early[way] += !handled;
	while (!handled)
		sigsuspend(&before);
	return NULL;
}

static void signal_all(void)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t blocked;
	pthread_t t;

	sem_init(&ready, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &blocked, &before);
	for (uintptr_t i = 0; i < THREADS; i++) {
		must(!pthread_create(&t, NULL, wait_for_handler, (void *)i), "thread");
		sem_wait(&ready);
		usleep(2000);
		pthread_kill(t, SIGUSR1);
		pthread_join(t, NULL);
	}
}

int main(void)
{
	struct pollfd fds[MANY];
	struct timespec until = in_ms(CLOCK_MONOTONIC, SECONDS * 1000), now = { 0, 0 };
	int pipes[2];
	pthread_t t;

	epoll = epoll_create1(0);
	must(!pipe(pipes) && epoll >= 0, "pipe, epoll");
	in = pipes[0];
	out = pipes[1];
	for (int i = 0; i < MANY; i++)
		fds[i] = (struct pollfd){ .fd = in, .events = POLLERR };
	must(!pthread_create(&t, NULL, reader, NULL), "pthread_create");
	while (now.tv_sec < until.tv_sec && !is_old()) {
		call_all(fds);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	close(out);
	pthread_join(t, NULL);
	signal_all();
	begin("calls that ended early");
	add(" write %u, ppoll %u, epoll_wait %u, select %u", wrong.writes, wrong.polls,
	    wrong.epolls, wrong.selects);
	add("; with a mask: sigsuspend %u, ppoll %u, pselect %u, epoll_pwait %u", too_early[0],
	    too_early[1], too_early[2], too_early[3]);
	end();
	return 0;
}
