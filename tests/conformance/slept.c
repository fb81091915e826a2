/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/slept.c - sleeps whose time is in memory that another thread gives back meanwhile
 *
 * The kernel reads it when the sleep begins. Nobody may read it later.
 */
#include "tests/conformance/case.h"

#include <sys/mman.h>
#include <threads.h>

#define SLEEP_MS 60
#define PAGE	 4096

static struct timespec *asked;

static struct timespec *ask(void)
{
	asked = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	must(asked != MAP_FAILED, "mmap");
	*asked = (struct timespec){ 0, SLEEP_MS * 1000000L };
	return asked;
}

static void *give_back(void *unused)
{
	usleep(SLEEP_MS * 1000 / 3);
	must(!munmap(asked, PAGE), "munmap");
	return unused;
}

static int sleep_by(unsigned way, const struct timespec *t)
{
	switch (way) {
	case 0:
		return nanosleep(t, NULL);
	case 1:
		return clock_nanosleep(CLOCK_MONOTONIC, 0, t, NULL);
	default:
		return thrd_sleep(t, NULL);
	}
}

int main(void)
{
	static const char *const name[] = { "nanosleep", "clock_nanosleep", "thrd_sleep" };

	for (unsigned way = 0; way < 3; way++) {
		const struct timespec *t = ask();
		pthread_t helper;

		must(!pthread_create(&helper, NULL, give_back, NULL), "pthread_create");
		begin("%s, time given back", name[way]);
		DO("slept", sleep_by(way, t));
		pthread_join(helper, NULL);
		end();
		begin("%s, nothing there", name[way]);
		DO("slept", sleep_by(way, t));
		end();
	}
	return 0;
}
