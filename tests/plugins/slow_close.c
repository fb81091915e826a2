/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/slow_close.c - close(), close_range() and shutdown() that take 50 ms before the kernel does it
 *
 * To be loaded behind libcpa.so, as if the thread lost its processor there.
 */
#include <pthread.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* By no function that cpa wraps. */
static void sleep_50_ms(void)
{
	struct timespec left = { .tv_nsec = 50000000 };

	while (syscall(SYS_nanosleep, &left, &left))
		;
}

/* A cancellation point, as the original. */
int close(int fd)
{
	pthread_testcancel();
	sleep_50_ms();
	return (int)syscall(SYS_close, fd);
}

int close_range(unsigned first, unsigned last, int flags)
{
	sleep_50_ms();
	return (int)syscall(SYS_close_range, first, last, flags);
}

int shutdown(int fd, int how)
{
	sleep_50_ms();
	return (int)syscall(SYS_shutdown, fd, how);
}
