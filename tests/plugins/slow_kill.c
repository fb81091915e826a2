/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/slow_kill.c - kill() that takes 50 ms before the kernel has the signal
 *
 * To be loaded behind libcpa.so, as if the sender lost its processor there.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int kill(pid_t pid, int sig)
{
	struct timespec left = { .tv_nsec = 50000000 };

	/* By no function that cpa wraps. */
	while (syscall(SYS_nanosleep, &left, &left))
		;
	return (int)syscall(SYS_kill, pid, sig);
}
