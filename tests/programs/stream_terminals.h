/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_terminals.h - a parent that reads its child's answers through a pseudo terminal
 *
 * Who writes has seen that the other one sleeps in its read, and works for a unit at least before it writes:
 * each read waits, and is woken by that write.
 */
#ifndef CPA_TESTS_PROGRAMS_STREAM_TERMINALS_H
#define CPA_TESTS_PROGRAMS_STREAM_TERMINALS_H

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <termios.h>

#include "tests/programs/stream_work.h"

#define ECHO_US 20000 /* what is shown later is taken for no echo, by far */

/* A pair, and who waits in a read of it: numbers that both processes share; 0: nobody. */
struct pair {
	int master, slave;
	volatile int *parent, *child;
	bool cooked; /* lines, which the terminal echoes; else it passes each byte on */
};

static void make_raw(int fd)
{
	struct termios settings;

	must(!tcgetattr(fd, &settings));
	cfmakeraw(&settings);
	must(!tcsetattr(fd, TCSANOW, &settings));
}

static struct pair open_pair(bool cooked)
{
	struct pair pair = { .parent = shared_number(),
			     .child = shared_number(),
			     .cooked = cooked };

	must(!openpty(&pair.master, &pair.slave, NULL, NULL, NULL));
	if (!cooked)
		make_raw(pair.slave);
	return pair;
}

static void put_line(int fd)
{
	must(write(fd, "0123456789abcde\n", 16) == 16);
}

/* What is shown of a line ends in "\r\n", and may come in several pieces. */
static void get_shown_line(int fd)
{
	char bytes[17];

	for (size_t n = 0; n < sizeof(bytes);) {
		ssize_t more = read(fd, bytes + n, sizeof(bytes) - n);

		must(more > 0);
		n += (size_t)more;
	}
	must(!memcmp(bytes, "0123456789abcde\r\n", sizeof(bytes)));
}

static void answer_parent(const struct pair *pair)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		__atomic_store_n(pair->child, getpid(), __ATOMIC_RELEASE);
		must(get(pair->slave));
		__atomic_store_n(pair->child, 0, __ATOMIC_RELEASE);
		await_asleep(pair->parent);
		burn(2);
		pair->cooked ? put_line(pair->slave) : put(pair->slave);
	}
}

/* @await: until the master can be read. */
static int ask_child(const struct pair *pair, void (*await)(int fd))
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		await_asleep(pair->child);
		burn(1);
		pair->cooked ? put_line(pair->master) : put(pair->master);
		if (pair->cooked) {
			get_shown_line(pair->master); /* the echo */
			usleep(ECHO_US);
		}
		__atomic_store_n(pair->parent, getpid(), __ATOMIC_RELEASE);
		await(pair->master);
		pair->cooked ? get_shown_line(pair->master) : (void)must(get(pair->master));
		__atomic_store_n(pair->parent, 0, __ATOMIC_RELEASE);
	}
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static void await_nothing(int fd)
{
	(void)fd;
}

static void await_poll_of(int fd)
{
	must(poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, -1) == 1);
}

static void await_select_of(int fd)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(fd, &in);
	must(select(fd + 1, &in, NULL, NULL, NULL) == 1);
}

static void await_epoll_of(int fd)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u64 = 1000 };
	int epoll = epoll_create1(0);

	must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) && epoll_wait(epoll, &e, 1, -1) == 1);
	close(epoll);
}

static int talk(bool cooked, void (*await)(int fd))
{
	struct pair pair = open_pair(cooked);

	CHILD(answer_parent(&pair));
	return ask_child(&pair, await);
}

static int terminal(void)
{
	return talk(false, await_nothing);
}

static int terminal_cooked(void)
{
	return talk(true, await_nothing);
}

static int terminal_poll(void)
{
	return talk(false, await_poll_of);
}

static int terminal_select(void)
{
	return talk(false, await_select_of);
}

static int terminal_epoll(void)
{
	return talk(false, await_epoll_of);
}

/* The master is opened by name, and the slave when the master is unlocked. */
static int terminal_opened(void)
{
	struct pair pair = { .parent = shared_number(), .child = shared_number() };

	pair.master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	must(pair.master >= 0 && !grantpt(pair.master) && !unlockpt(pair.master));
	pair.slave = open(ptsname(pair.master), O_RDWR | O_NOCTTY);
	must(pair.slave >= 0);
	make_raw(pair.slave);
	CHILD(answer_parent(&pair));
	return ask_child(&pair, await_nothing);
}

/* The child has the slave as its standard descriptors. */
static int terminal_forked(void)
{
	struct pair pair = { .parent = shared_number(), .child = shared_number() };
	struct termios raw;

	cfmakeraw(memset(&raw, 0, sizeof(raw)));
	raw.c_cc[VMIN] = 1;
	raw.c_cflag |= CREAD;
	switch (forkpty(&pair.master, NULL, &raw, NULL)) {
	case -1:
		must(0);
		break;
	case 0:
		answer_parent(&pair);
		_exit(0);
	}
	return ask_child(&pair, await_nothing);
}

/* A line in two writes: the second one wakes the reader. */
static int terminal_line(void)
{
	struct pair pair = open_pair(true);

	CHILD(__atomic_store_n(pair.child, getpid(), __ATOMIC_RELEASE); must(get(pair.slave));
	      burn(3));
	await_asleep(pair.child);
	must(write(pair.master, "0123456789", 10) == 10);
	burn(2);
	must(write(pair.master, "abcde\n", 6) == 6);
	reap();
	return report(2 + 3, 2 + 3);
}

/* The child has no room for what it writes, until the parent reads. */
static int terminal_full(void)
{
	static char bytes[200000];
	struct pair pair = open_pair(false);
	size_t n = 0;

	CHILD(__atomic_store_n(pair.child, getpid(), __ATOMIC_RELEASE);
	      must(write(pair.slave, bytes, sizeof(bytes)) == sizeof(bytes)); burn(3));
	await_asleep(pair.child);
	burn(2);
	while (n < sizeof(bytes)) {
		ssize_t more = read(pair.master, bytes, sizeof(bytes) - n);

		must(more > 0);
		n += (size_t)more;
	}
	reap();
	return report(2 + 3, 2 + 3);
}

/* The reader is stopped in its read, until two others have written: the first one works, the last one wakes it. */
static int terminal_several(void)
{
	struct pair pair = open_pair(false);
	volatile int *turn = shared_number();
	pid_t reader = getpid();

	CHILD(burn(3); await_asleep(pair.parent); must(!kill(reader, SIGSTOP));
	      while (!is_in_state(reader, 'T')) sched_yield(); put(pair.slave);
	      __atomic_store_n(turn, 1, __ATOMIC_RELEASE));
	CHILD(while (!__atomic_load_n(turn, __ATOMIC_ACQUIRE)) sched_yield(); burn(1);
	      put(pair.slave); must(!kill(reader, SIGCONT)));
	__atomic_store_n(pair.parent, reader, __ATOMIC_RELEASE);
	must(get(pair.master));
	burn(1);
	must(get(pair.master));
	reap();
	return report(3 + 1, 3 + 1 + 1);
}

#endif
