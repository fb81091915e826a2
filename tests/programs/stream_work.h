/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_work.h - counted work, children, and messages of one size, for streams.c
 */
#ifndef CPA_TESTS_PROGRAMS_STREAM_WORK_H
#define CPA_TESTS_PROGRAMS_STREAM_WORK_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define UNIT_MS 20
#define ROUNDS	4

static const char *own;

__attribute__((unused)) static void burn(unsigned units)
{
	burn_ms((int)units * UNIT_MS);
}

static void must(int ok)
{
	if (!ok)
		exit(9);
}

/* A child that does the statements and ends. */
#define CHILD(...)                   \
	do {                         \
		if (fork() == 0) {   \
			__VA_ARGS__; \
			_exit(0);    \
		}                    \
	} while (0)

__attribute__((unused)) static void reap(void)
{
	int status;

	while (wait(&status) > 0)
		must(status == 0);
}

__attribute__((unused)) static int report(unsigned path, unsigned work)
{
	fprintf(stderr, "path %u work %u\n", path, work);
	return 0;
}

/* A number that children share: of a thread that is about to wait. */
__attribute__((unused)) static volatile int *shared_number(void)
{
	void *number =
		mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	must(number != MAP_FAILED);
	return number;
}

__attribute__((unused)) static void put(int fd)
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

__attribute__((unused)) static void get_end(int fd)
{
	must(!get(fd));
}

#endif
