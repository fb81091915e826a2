/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/late_writes.c - writes that began while profiling was off, and that others read while it is on
 *
 *	late_writes COUNT
 *
 * Run it with CPA_START=off. A thread is in a write of more bytes than a pipe holds when main starts profiling, and
 * reads them. Then the thread writes COUNT times, each time that main asks.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "preload/cpa.h"

#define FIRST (200 << 10) /* bytes */

static int data[2], request[2], count;
static char bytes[FIRST];

static void *writer(void *argument)
{
	char wanted;

	if (write(data[1], bytes, FIRST) != FIRST)
		exit(1);
	for (int i = 0; i < count; i++)
		if (read(request[0], &wanted, 1) != 1 || write(data[1], "x", 1) != 1)
			exit(1);
	return argument;
}

/* Until the pipe is full, and so the writer blocked. */
static void wait_full(void)
{
	int size = fcntl(data[1], F_GETPIPE_SZ), there = 0;

	while (there < size)
		if (usleep(1000) || ioctl(data[0], FIONREAD, &there))
			exit(1);
}

static void take(size_t left)
{
	while (left) {
		ssize_t n = read(data[0], bytes, left < 4096 ? left : 4096);

		if (n <= 0)
			exit(1);
		left -= (size_t)n;
	}
}

int main(int argc, char **argv)
{
	pthread_t thread;

	count = argc == 2 ? atoi(argv[1]) : 1;
	if (pipe(data) || pipe(request) || pthread_create(&thread, NULL, writer, NULL))
		return 1;
	wait_full();
	CPA_START();
	take(FIRST);
	for (int i = 0; i < count; i++) {
		if (write(request[1], "x", 1) != 1)
			return 1;
		take(1);
	}
	return pthread_join(thread, NULL);
}
