/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/unread.c - streams that nobody reads
 *
 *	unread pipe|socket|stopped|outward|sent|whole COUNT
 *
 * COUNT times: a pipe, or a pair of sockets, is made, written WRITES times, and closed; "stopped": closed
 * while profiling is off. "outward": COUNT writes of a KiB to the standard output, and as many while profiling is
 * off. "whole": COUNT writes of a KiB, which a child reads by one call that waits for all.
 * "sent": COUNT times SENDS calls of send() to the standard output, and a read of a byte of the standard input.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cpa.h"

#define WRITES 128
#define SENDS  WRITES

static void make(const char *kind, int end[2])
{
	if (!strcmp(kind, "socket") ? socketpair(AF_UNIX, SOCK_STREAM, 0, end) : pipe(end)) {
		perror("unread");
		exit(1);
	}
}

static char some[1024];

static int put_out(int count, int fd)
{
	while (count-- > 0)
		if (write(fd, some, sizeof(some)) != sizeof(some))
			return 1;
	return 0;
}

static int put_whole(int count)
{
	size_t size = (size_t)count * sizeof(some);
	char *bytes = malloc(size);
	int end[2], status = 1;

	make("socket", end);
	if (!fork())
		_exit(!bytes || recv(end[0], bytes, size, MSG_WAITALL) != (ssize_t)size);
	if (put_out(count, end[1]) || wait(&status) < 0)
		return 1;
	free(bytes);
	return status;
}

static int send_out(int count)
{
	char answer;

	while (count-- > 0) {
		for (int i = 0; i < SENDS; i++)
			if (send(STDOUT_FILENO, "x", 1, 0) != 1)
				return 1;
		if (read(STDIN_FILENO, &answer, 1) != 1)
			return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int end[2];

	if (argc != 3) {
		fprintf(stderr, "usage: unread pipe|socket|stopped|outward|sent|whole COUNT\n");
		return 2;
	}
	if (!strcmp(argv[1], "whole"))
		return put_whole(atoi(argv[2]));
	if (!strcmp(argv[1], "sent"))
		return send_out(atoi(argv[2]));
	if (!strcmp(argv[1], "outward")) {
		if (put_out(atoi(argv[2]), STDOUT_FILENO))
			return 1;
		CPA_STOP();
		return put_out(atoi(argv[2]), STDOUT_FILENO);
	}
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
