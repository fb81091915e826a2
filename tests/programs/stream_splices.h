/* SPDX-License-Identifier: MIT */
/* tests/programs/stream_splices.h - the cases of streams.c in which the kernel moves bytes between streams */
#ifndef CPA_TESTS_PROGRAMS_STREAM_SPLICES_H
#define CPA_TESTS_PROGRAMS_STREAM_SPLICES_H

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "tests/programs/stream_work.h"

/* Move what comes, until it ends. */
static void relay(int from, int to)
{
	ssize_t n;

	while ((n = splice(from, NULL, to, NULL, 16, 0)) > 0)
		;
	must(n == 0);
}

/* Close all ends of some pairs but @keep and @keep_too. */
static void keep_two(int (*pair)[2], unsigned n, int keep, int keep_too)
{
	for (unsigned i = 0; i < 2 * n; i++)
		if (pair[i / 2][i % 2] != keep && pair[i / 2][i % 2] != keep_too)
			close(pair[i / 2][i % 2]);
}

static void put_rounds(int fd, unsigned units)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(units);
		put(fd);
	}
}

/* A writer, a thread that moves bytes between two pipes, and a reader. */
static int run_relay(unsigned a, unsigned c, unsigned path)
{
	int pair[2][2];

	must(!pipe(pair[0]) && !pipe(pair[1]));
	CHILD(keep_two(pair, 2, pair[0][1], -1); put_rounds(pair[0][1], a));
	CHILD(keep_two(pair, 2, pair[0][0], pair[1][1]); relay(pair[0][0], pair[1][1]));
	keep_two(pair, 2, pair[1][0], -1);
	while (get(pair[1][0]))
		burn(c);
	reap();
	return report(path, (a + c) * ROUNDS);
}

static int relay_slow_writer(void)
{
	return run_relay(2, 1, 2 * ROUNDS + 1);
}

static int relay_slow_reader(void)
{
	return run_relay(1, 3, 1 + 3 * ROUNDS);
}

/* Who moves the bytes works before each move. */
static int relay_works(void)
{
	int pair[2][2];

	must(!pipe(pair[0]) && !pipe(pair[1]));
	CHILD(keep_two(pair, 2, pair[0][1], -1); put_rounds(pair[0][1], 1));
	CHILD(keep_two(pair, 2, pair[0][0], pair[1][1]); for (unsigned i = 0; i < ROUNDS; i++) {
		burn(3);
		must(splice(pair[0][0], NULL, pair[1][1], NULL, 16, 0) == 16);
	});
	keep_two(pair, 2, pair[1][0], -1);
	while (get(pair[1][0]))
		burn(1);
	reap();
	return report(3 * ROUNDS + 1, 5 * ROUNDS);
}

/* From a pipe to a pair of sockets, and from there to another pipe. */
static int relay_through(int (*pair)[2])
{
	must(!pipe(pair[0]) && !pipe(pair[2]));
	CHILD(keep_two(pair, 3, pair[0][1], -1); put_rounds(pair[0][1], 2));
	CHILD(keep_two(pair, 3, pair[0][0], pair[1][0]); relay(pair[0][0], pair[1][0]));
	CHILD(keep_two(pair, 3, pair[1][1], pair[2][1]); relay(pair[1][1], pair[2][1]));
	keep_two(pair, 3, pair[2][0], -1);
	while (get(pair[2][0]))
		burn(1);
	reap();
	return report(2 * ROUNDS + 1, 3 * ROUNDS);
}

static int relay_unix(void)
{
	int pair[3][2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair[1]));
	return relay_through(pair);
}

static int relay_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0), pair[3][2];

	must(!bind(server, (struct sockaddr *)&address, size) && !listen(server, 5));
	must(!getsockname(server, (struct sockaddr *)&address, &size));
	pair[1][0] = socket(AF_INET, SOCK_STREAM, 0);
	must(!connect(pair[1][0], (struct sockaddr *)&address, size));
	pair[1][1] = accept(server, NULL, NULL);
	must(pair[1][1] >= 0 && !close(server));
	return relay_through(pair);
}

/* sendfile() moves what a socket has received to a pipe, as much as it is told to. */
static int relay_sendfile(void)
{
	int pair[2][2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair[0]) && !pipe(pair[1]));
	CHILD(keep_two(pair, 2, pair[0][1], -1); put_rounds(pair[0][1], 2));
	CHILD(keep_two(pair, 2, pair[0][0], pair[1][1]); for (unsigned i = 0; i < ROUNDS; i++)
		      must(sendfile(pair[1][1], pair[0][0], NULL, 16) == 16));
	keep_two(pair, 2, pair[1][0], -1);
	while (get(pair[1][0]))
		burn(1);
	reap();
	return report(2 * ROUNDS + 1, 3 * ROUNDS);
}

/* Bytes go to two readers: copied to one, and moved to the other. */
static int relay_tee(void)
{
	int pair[3][2];

	must(!pipe(pair[0]) && !pipe(pair[1]) && !pipe(pair[2]));
	CHILD(keep_two(pair, 3, pair[0][1], -1); put_rounds(pair[0][1], 2));
	CHILD(keep_two(pair, 3, pair[1][0], -1); while (get(pair[1][0])) burn(2));
	CHILD(keep_two(pair, 3, pair[2][0], -1); while (get(pair[2][0])) burn(1));
	close(pair[0][1]);
	close(pair[1][0]);
	close(pair[2][0]);
	while (tee(pair[0][0], pair[1][1], 16, 0) == 16)
		must(splice(pair[0][0], NULL, pair[2][1], NULL, 16, 0) == 16);
	close(pair[1][1]);
	close(pair[2][1]);
	reap();
	return report(2 * ROUNDS + 2, 5 * ROUNDS);
}

static char piece[4096];

/* A pipe with room for one page, which is full. */
static void full(int ends[2])
{
	must(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, sizeof(piece)) == sizeof(piece));
	must(write(ends[1], piece, sizeof(piece)) == sizeof(piece));
}

static void move_piece(int from, int to)
{
	must(splice(from, NULL, to, NULL, sizeof(piece), 0) == sizeof(piece));
}

/*
 * There are bytes, but no room: a reader that begins to work when the other waits makes some. @tee: they
 * are copied.
 */
static int run_blocked(bool copies)
{
	volatile int *waits = shared_number();
	int one[2], two[2];

	must(!pipe(one));
	full(two);
	must(write(one[1], piece, sizeof(piece)) == sizeof(piece));
	CHILD(close(two[1]); await_asleep(waits); burn(3);
	      while (read(two[0], piece, sizeof(piece)) == sizeof(piece)));
	close(two[0]);
	*waits = getpid();
	if (copies)
		must(tee(one[0], two[1], sizeof(piece), 0) == sizeof(piece));
	else
		move_piece(one[0], two[1]);
	burn(9);
	close(two[1]);
	reap();
	return report(3 + 9, 3 + 9);
}

static int relay_blocked(void)
{
	return run_blocked(false);
}

static int tee_blocked(void)
{
	return run_blocked(true);
}

/* There are neither bytes nor room: a writer and a reader begin to work when the other waits. */
static int run_for_both(unsigned writer, unsigned reader, unsigned later)
{
	volatile int *waits = shared_number();
	int one[2], two[2];

	must(!pipe(one));
	full(two);
	CHILD(close(one[0]); close(two[0]); close(two[1]); await_asleep(waits); burn(writer);
	      must(write(one[1], piece, sizeof(piece)) == sizeof(piece)));
	CHILD(close(one[0]); close(one[1]); close(two[1]); await_asleep(waits); burn(reader);
	      while (read(two[0], piece, sizeof(piece)) == sizeof(piece)));
	close(one[1]);
	close(two[0]);
	*waits = getpid();
	move_piece(one[0], two[1]);
	burn(9);
	close(two[1]);
	reap();
	return report(later + 9, writer + reader + 9);
}

static int relay_for_bytes(void)
{
	return run_for_both(6, 2, 6);
}

static int relay_for_room(void)
{
	return run_for_both(2, 6, 6);
}

static char much[1 << 20];

/*
 * There are neither bytes nor room in a socket: who moves bytes waits for a writer, and then for a reader that begins
 * to work when it waits again.
 */
static int relay_in_turn(void)
{
	volatile int *waits = shared_number(), *wrote = shared_number();
	int one[2], two[2];

	must(!pipe(one) && !socketpair(AF_UNIX, SOCK_STREAM, 0, two));
	must(send(two[1], much, sizeof(much), MSG_DONTWAIT) > 0);
	CHILD(close(one[0]); close(two[0]); close(two[1]); await_asleep(waits); burn(2);
	      must(write(one[1], piece, sizeof(piece)) == sizeof(piece));
	      __atomic_store_n(wrote, 1, __ATOMIC_RELEASE));
	CHILD(close(one[0]); close(one[1]); close(two[1]);
	      while (!__atomic_load_n(wrote, __ATOMIC_ACQUIRE)) sched_yield(); await_asleep(waits);
	      burn(6); while (read(two[0], much, sizeof(much)) > 0));
	close(one[1]);
	close(two[0]);
	*waits = getpid();
	move_piece(one[0], two[1]);
	burn(9);
	close(two[1]);
	reap();
	return report(6 + 9, 2 + 6 + 9);
}

/*
 * There is room though the pipe is not empty, and a reader that makes more is not what the other waits for. The
 * writer works meanwhile: of a wait of microseconds it would not be known that it was one.
 */
static int relay_has_room(void)
{
	volatile int *waits = shared_number(), *did_read = shared_number();
	int one[2], two[2];

	must(!pipe(one) && !pipe(two));
	must(write(two[1], piece, sizeof(piece)) == sizeof(piece));
	CHILD(close(one[0]); close(two[0]); close(two[1]); await_asleep(waits);
	      while (!__atomic_load_n(did_read, __ATOMIC_ACQUIRE)) sched_yield(); burn(1);
	      must(write(one[1], piece, sizeof(piece)) == sizeof(piece)));
	CHILD(close(one[0]); close(one[1]); close(two[1]); await_asleep(waits);
	      must(read(two[0], piece, sizeof(piece)) == sizeof(piece));
	      __atomic_store_n(did_read, 1, __ATOMIC_RELEASE);
	      while (read(two[0], piece, sizeof(piece)) == sizeof(piece)));
	close(one[1]);
	close(two[0]);
	*waits = getpid();
	move_piece(one[0], two[1]);
	close(two[1]);
	reap();
	return report(1, 1);
}

#endif
