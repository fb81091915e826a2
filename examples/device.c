/* SPDX-License-Identifier: MIT */
/*
 * examples/device.c - a program that waits for a slow device
 *
 * The device is a timer of the kernel: a read() from it takes 20 ms. main() reads 25 times and does
 * 1 unit of work with each answer, which is about a millisecond.
 *
 * Critical path: 25 x 20 ms blocked in read(), and 25 units of work.
 */
#include "examples/work.h"

#include <stdint.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ANSWERS	  25
#define ANSWER_NS 20000000L

int main(void)
{
	const struct itimerspec once = { .it_value = { 0, ANSWER_NS } };
	int device = timerfd_create(CLOCK_MONOTONIC, 0);
	uint64_t answer;

	for (int i = 0; i < ANSWERS; i++) {
		timerfd_settime(device, 0, &once, NULL); /* ask */
		if (read(device, &answer, sizeof(answer)) != sizeof(answer))
			return 1;
		work(1);
	}
	return 0;
}
