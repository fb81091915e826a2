/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/counted_on.c - writes and reads of streams between windows
 *
 *	counted_on KIND CALLS WINDOWS		KIND: pipe, unix or tcp; CALLS: read, vector, send or message
 *
 * Run it with CPA_START=off. Before each window of profiling main writes 300 bytes, and reads 100 of them. In it main
 * writes 10 times a byte, reads the 200 bytes that were left, and then one byte 10 times.
 */
#include <arpa/inet.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "preload/cpa.h"

#define BETWEEN 300
#define TAKEN	100
#define IN	10

static int from, to;
static char calls, bytes[BETWEEN];

static void must(bool good)
{
	if (!good)
		abort();
}

static void put(size_t n)
{
	struct iovec piece = { bytes, n };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	ssize_t ret = calls == 'm' ? sendmsg(to, &message, 0) :
		      calls == 's' ? send(to, bytes, n, 0) :
		      calls == 'v' ? writev(to, &piece, 1) :
				     write(to, bytes, n);

	must(ret == (ssize_t)n);
}

static void take(size_t n)
{
	struct iovec piece = { bytes, n };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	ssize_t ret = calls == 'm' ? recvmsg(from, &message, MSG_WAITALL) :
		      calls == 's' ? recv(from, bytes, n, MSG_WAITALL) :
		      calls == 'v' ? readv(from, &piece, 1) :
				     read(from, bytes, n);

	must(ret == (ssize_t)n);
}

static void connect_both(int ends[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	must(!bind(listener, (struct sockaddr *)&at, size) && !listen(listener, 1) &&
	     !getsockname(listener, (struct sockaddr *)&at, &size) &&
	     !connect(ends[1], (struct sockaddr *)&at, size));
	ends[0] = accept(listener, NULL, NULL);
	must(ends[0] >= 0);
}

int main(int argc, char **argv)
{
	int ends[2];

	must(argc == 4);
	calls = argv[2][0];
	if (!strcmp(argv[1], "pipe"))
		must(!pipe(ends));
	else if (!strcmp(argv[1], "unix"))
		must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	else
		connect_both(ends);
	from = ends[0];
	to = ends[1];
	for (int window = atoi(argv[3]); window; window--) {
		for (int left = BETWEEN; left; left -= TAKEN)
			put(TAKEN);
		take(TAKEN);
		CPA_START();
		for (int i = 0; i < IN; i++)
			put(1);
		take(BETWEEN - TAKEN);
		for (int i = 0; i < IN; i++)
			take(1);
		CPA_STOP();
	}
	return 0;
}
