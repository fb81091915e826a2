/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/sleep_rounds.c - sleeps of 10 ms, with CPU time between them as the argument says
 *
 * loop: none; at_times: 2 ms before every eighth, a 40th of all sleeps; work: 3 ms before each.
 */
#include <string.h>
#include <time.h>

#include "tests/programs/burn.h"

int main(int argc, char **argv)
{
	const struct timespec sleep = { .tv_nsec = 10000000 };
	const char *how = argc > 1 ? argv[1] : "loop";

	for (int i = 0; i < 40; i++) {
		if (!strcmp(how, "work"))
			burn_ms(3);
		else if (!strcmp(how, "at_times") && i % 8 == 7)
			burn_ms(2);
		nanosleep(&sleep, NULL);
	}
	return 0;
}
