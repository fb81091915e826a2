/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unread.c - streams that nobody reads
 *
 *	unread pipe|socket|stopped|outward COUNT
 *
 * COUNT times: a pipe, or a pair of sockets, is made, written WRITES times, and closed; "stopped": closed
 * while profiling is off. "outward": COUNT writes of a KiB to the standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "preload/cpa.h"

#define WRITES 128

static void make(const char *kind, int end[2])
{
	if (!strcmp(kind, "socket") ? socketpair(AF_UNIX, SOCK_STREAM, 0, end) : pipe(end)) {
		perror("unread");
		exit(1);
	}
}

static int put_out(int count)
{
	static const char some[1024];

	while (count-- > 0)
		if (write(STDOUT_FILENO, some, sizeof(some)) != sizeof(some))
			return 1;
	return 0;
}

int main(int argc, char **argv)
{
	int end[2];

	if (argc != 3) {
		fprintf(stderr, "usage: unread pipe|socket|stopped|outward COUNT\n");
		return 2;
	}
	if (!strcmp(argv[1], "outward"))
		return put_out(atoi(argv[2]));
	for (int i = atoi(argv[2]); i > 0; i--) {
		make(argv[1], end);
		for (int k = 0; k < WRITES; k++)
			if (write(end[1], "x", 1) != 1)
				return 1;
		if (!strcmp(argv[1], "stopped"))
			CPA_STOP();
		close(end[1]);
		close(end[0]);
		if (!strcmp(argv[1], "stopped"))
			CPA_START();
	}
	return 0;
}
