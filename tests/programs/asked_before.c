/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/asked_before.c - reads standard input by a number that was another descriptor's before
 *
 * That was written to, and is closed. Tells both numbers, which are the same unless something else took one.
 */
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	int before = open("/dev/null", O_WRONLY), in;
	char c = 'x';

	if (before < 0 || write(before, &c, 1) != 1 || close(before))
		return 1;
	in = open("/proc/self/fd/0", O_RDONLY);
	if (in < 0)
		return 1;
	printf("%d %d\n", before, in);
	fflush(stdout);
	return read(in, &c, 1) != 1;
}
