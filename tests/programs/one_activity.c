/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/one_activity.c - a thread without events: two functions, and a sleep between them
 *
 * The sleep is a system call that nobody wraps.
 */
#include "tests/programs/burn.h"

#include <sys/syscall.h>
#include <time.h>

#define FIRST_MS  200 /* its sampler changes before and after the sleep */
#define SLEEP_MS  300
#define SECOND_MS 1600

__attribute__((noinline)) static void first(void)
{
	burn_ms(FIRST_MS);
}

__attribute__((noinline)) static void second(void)
{
	burn_ms(SECOND_MS);
}

static void sleep_unseen(void)
{
	struct timespec t = { 0, SLEEP_MS * 1000000L };
	long number = SYS_nanosleep;

	__asm__ volatile("syscall" : "+a"(number) : "D"(&t), "S"(0L) : "rcx", "r11", "memory");
}

int main(void)
{
	first();
	sleep_unseen();
	second();
	return 0;
}
