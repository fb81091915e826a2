/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/sleep_rounds.c - sleeps of 10 ms, with CPU time between them as the argument says
 *
 * loop: none; at_times: 2 ms before every eighth, a 40th of all sleeps; work: 3 ms before each; timer: none,
 * and the sleeps are reads of a timer that goes off once.
 */
#include <stdint.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/burn.h"

static void wait_for_timer(int timer, struct timespec sleep)
{
	const struct itimerspec once = { .it_value = sleep };
	uint64_t times;

	if (timerfd_settime(timer, 0, &once, NULL) ||
	    read(timer, &times, sizeof(times)) != sizeof(times))
		_exit(1);
}

int main(int argc, char **argv)
{
	const struct timespec sleep = { .tv_nsec = 10000000 };
	const char *how = argc > 1 ? argv[1] : "loop";
	int timer = strcmp(how, "timer") ? -1 : timerfd_create(CLOCK_MONOTONIC, 0);

	for (int i = 0; i < 40; i++) {
		if (!strcmp(how, "work"))
			burn_ms(3);
		else if (!strcmp(how, "at_times") && i % 8 == 7)
			burn_ms(2);
		if (timer >= 0)
			wait_for_timer(timer, sleep);
		else
			nanosleep(&sleep, NULL);
	}
	return 0;
}
