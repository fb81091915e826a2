/* SPDX-License-Identifier: MIT */
/* tests/programs/stream_rooms.h - the cases of streams.c in which a thread waits for room outside a write */
#ifndef CPA_TESTS_PROGRAMS_STREAM_ROOMS_H
#define CPA_TESTS_PROGRAMS_STREAM_ROOMS_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>

#include "tests/programs/stream_work.h"

#define MUCH ((size_t)256 << 10) /* more than there is room for */

/*
 * A write that does not block puts a part of the bytes there, and finds no room for the rest. The reader begins to
 * work when the writer waits for room in @await. With @tries it tries once more before.
 */
static int run_room(int ends[2], bool tries, void (*await)(int fd))
{
	static char bytes[MUCH];
	volatile int *waits = shared_number();
	ssize_t n;

	CHILD(close(ends[1]); await_asleep(waits); burn(3);
	      for (size_t all = 0; all < MUCH; all += (size_t)n)
		      must((n = read(ends[0], bytes, sizeof(bytes))) > 0));
	close(ends[0]);
	must(!fcntl(ends[1], F_SETFL, O_NONBLOCK));
	n = write(ends[1], bytes, sizeof(bytes));
	must(n > 0 && n < (ssize_t)sizeof(bytes));
	must(!tries || (write(ends[1], bytes, sizeof(bytes)) < 0 && errno == EAGAIN));
	*waits = getpid();
	await(ends[1]);
	burn(9);
	must(!fcntl(ends[1], F_SETFL, 0));
	must(write(ends[1], bytes, sizeof(bytes) - (size_t)n) == (ssize_t)sizeof(bytes) - n);
	close(ends[1]);
	reap();
	return report(3 + 9, 3 + 9);
}

static void room_in_poll(int fd)
{
	struct pollfd p = { fd, POLLOUT, 0 };

	must(poll(&p, 1, -1) == 1);
}

static void room_in_select(int fd)
{
	fd_set out;

	FD_ZERO(&out);
	FD_SET(fd, &out);
	must(select(FD_SETSIZE, NULL, &out, NULL, NULL) == 1);
}

static void room_in_epoll(int fd)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET };
	int epoll = epoll_create1(0);

	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) && epoll_wait(epoll, &e, 1, -1) == 1);
	close(epoll);
}

/*
 * A writer that waits until there is room, and then writes no more than that. Of the first such wait it is not known
 * what for.
 */
static int wait_before(void)
{
	static char page[4096];
	volatile int *waits = shared_number();
	int ends[2];

	must(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, sizeof(page)) == sizeof(page));
	CHILD(close(ends[1]); for (unsigned i = 0; i < 2; i++) {
		await_asleep(waits);
		*waits = 0;
		burn(3 * i);
		must(read(ends[0], page, sizeof(page)) == sizeof(page));
	});
	must(write(ends[1], page, sizeof(page)) == sizeof(page));
	for (unsigned i = 0; i < 2; i++) {
		*waits = getpid();
		room_in_poll(ends[1]);
		must(write(ends[1], page, sizeof(page)) == sizeof(page));
	}
	burn(9);
	reap();
	return report(3 + 9, 3 + 9);
}

/* The calling process, and what it will fork, has the processor that it is on, and no other one. */
static void keep_processor(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET((unsigned)sched_getcpu(), &one);
	must(!sched_setaffinity(0, sizeof(one), &one));
}

#define STEPS 16
#define BUSY  6

/*
 * One write fills the pipe many times. Whenever a read makes room, the writer is ready for long before it runs, as
 * others have its processor. It depends on the read that made room for its last page.
 */
static int many_rooms(void)
{
	static char pages[STEPS * 4096];
	volatile int *over = shared_number();
	int ends[2];

	must(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
	CHILD(close(ends[1]); for (unsigned i = 0; i < STEPS; i++) {
		burn(1);
		must(read(ends[0], pages, 4096) == 4096);
	});
	close(ends[0]);
	keep_processor();
	for (unsigned i = 0; i < BUSY; i++)
		CHILD(while (!*over));
	must(write(ends[1], pages, sizeof(pages)) == sizeof(pages));
	*over = 1;
	burn(9);
	close(ends[1]);
	reap();
	return report(STEPS - 1 + 9, STEPS + 9);
}

static int poll_room(void)
{
	int ends[2];

	must(!pipe(ends));
	return run_room(ends, true, room_in_poll);
}

static int select_room(void)
{
	int ends[2];

	must(!pipe(ends));
	return run_room(ends, true, room_in_select);
}

static int epoll_room(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	return run_room(ends, false, room_in_epoll);
}

#endif
