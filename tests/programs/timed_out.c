/* SPDX-License-Identifier: MIT */
/* tests/programs/timed_out.c - waits of 5 ms for a semaphore that nobody posts, with 3 ms of work behind each */
#include <semaphore.h>
#include <time.h>

#include "tests/programs/burn.h"

#define ROUNDS	   10
#define TIMEOUT_NS 5000000
#define WORK_MS	   3

int main(void)
{
	sem_t never;

	sem_init(&never, 0, 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += TIMEOUT_NS;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
		sem_timedwait(&never, &until);
		burn_ms(WORK_MS);
	}
	return 0;
}
