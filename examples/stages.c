/* SPDX-License-Identifier: MIT */
/*
 * examples/stages.c - processes joined by pipes, one of which is slow
 *
 * A process reads 60 blocks (1 unit each), a second one compresses them (5 units), a third one writes
 * them (1 unit). Each hands a block on through a pipe.
 *
 * Critical path: 1 + 60 x 5 + 1 = 302 units, of which the second process has 300. Were that free, the
 * others would take 61 units.
 */
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/work.h"

#define BLOCKS 60

/* Take a block from @in for each of @units, or make one if there is no @in, and hand it on to @out. */
static void stage(const char *name, int in, int out, int units)
{
	char block[512] = { 0 };

	pthread_setname_np(pthread_self(), name);
	for (int i = 0; i < BLOCKS; i++) {
		if (in >= 0 && read(in, block, sizeof(block)) != sizeof(block))
			_exit(1);
		work(units);
		if (out >= 0 && write(out, block, sizeof(block)) != sizeof(block))
			_exit(1);
	}
	_exit(0);
}

int main(void)
{
	int first[2], second[2], status, failed = 0;

	if (pipe(first) < 0 || pipe(second) < 0)
		return 1;
	if (!fork())
		stage("reader", -1, first[1], 1);
	if (!fork())
		stage("compressor", first[0], second[1], 5);
	if (!fork())
		stage("writer", second[0], -1, 1);
	for (int i = 0; i < 3; i++)
		failed |= wait(&status) < 0 || status;
	return failed;
}
