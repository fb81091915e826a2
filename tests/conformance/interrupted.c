/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/interrupted.c - calls that work for long in the kernel, and then block
 *
 * A signal that came meanwhile would end them: with EINTR, or with less than was asked for. The
 * kernel's timers on CPU clocks send theirs when a thread returns from it, since Linux 5.11.
 */
#include "tests/conformance/case.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/utsname.h>

#define SECONDS 2
#define BLOCK	(1 << 20)
#define MANY	200 /* descriptors: some 10 us to look at */

static int in, out;

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

static void call_all(int epoll, struct pollfd *fds)
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

int main(void)
{
	struct pollfd fds[MANY];
	struct timespec until = in_ms(CLOCK_MONOTONIC, SECONDS * 1000), now = { 0, 0 };
	int pipes[2], epoll = epoll_create1(0);
	pthread_t t;

	must(!pipe(pipes) && epoll >= 0, "pipe, epoll");
	in = pipes[0];
	out = pipes[1];
	for (int i = 0; i < MANY; i++)
		fds[i] = (struct pollfd){ .fd = in, .events = POLLERR };
	must(!pthread_create(&t, NULL, reader, NULL), "pthread_create");
	while (now.tv_sec < until.tv_sec && !is_old()) {
		call_all(epoll, fds);
		clock_gettime(CLOCK_MONOTONIC, &now);
	}
	close(out);
	pthread_join(t, NULL);
	begin("calls that ended early");
	add(" write %u, ppoll %u, epoll_wait %u, select %u", wrong.writes, wrong.polls,
	    wrong.epolls, wrong.selects);
	end();
	return 0;
}
