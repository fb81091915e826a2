/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_work.h - counted work, children, and messages of one size, for streams.c
 */
#ifndef CPA_TESTS_PROGRAMS_STREAM_WORK_H
#define CPA_TESTS_PROGRAMS_STREAM_WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define UNIT_MS 20
#define ROUNDS	4

static const char *own;

static void burn(unsigned units)
{
	burn_ms((int)units * UNIT_MS);
}

static void must(int ok)
{
	if (!ok)
		exit(9);
}

/* When the latest child was about to end; shared with the children. NULL: it does not matter. */
static int64_t *ended_ns;

static int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* A child that does the statements and ends. */
#define CHILD(...)                                    \
	do {                                          \
		if (fork() == 0) {                    \
			__VA_ARGS__;                  \
			if (ended_ns)                 \
				*ended_ns = now_ns(); \
			_exit(0);                     \
		}                                     \
	} while (0)

static void reap(void)
{
	int status;

	while (wait(&status) > 0)
		must(status == 0);
}

static int report(unsigned path, unsigned work)
{
	fprintf(stderr, "path %u work %u\n", path, work);
	return 0;
}

static void put(int fd)
{
	must(write(fd, "0123456789abcdef", 16) == 16);
}

/* A message of 16 bytes, in two reads. False: the end of the stream. */
static int get(int fd)
{
	char bytes[16];
	ssize_t n = read(fd, bytes, 10);

	if (n > 0)
		must(n == 10 && read(fd, bytes + n, 6) == 6);
	return n > 0;
}

/*
 * To the end of a stream, which is that of a child. Where the child was held up between its last event
 * and its end, or the reader before or after, cpa may take the end for that of a stranger: say so.
 */
#define PROMPT_NS 9000000 /* of the 10 ms in preload/stream/stream.c */

__attribute__((unused)) static void get_end(int fd)
{
	int64_t begin = now_ns();

	must(!get(fd));
	if (begin >= *ended_ns || now_ns() - *ended_ns > PROMPT_NS)
		fprintf(stderr, "late\n");
}

#endif
