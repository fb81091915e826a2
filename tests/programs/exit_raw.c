/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/exit_raw.c - a program that ends by a system call, past every exit function
 *
 *	exit_raw syscall|inline|late|child-inline STATUS
 *
 * It uses a lock, ends as it is told and prints nothing. "inline": by an instruction of its own, as
 * Go does it. "late": so, after 0.3 s without an event. "child-inline": so does its child, and it ends as that did.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LATE_NS 300000000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void end_inline(long status)
{
	__asm__ volatile("syscall" ::"a"((long)SYS_exit_group), "D"(status)
			 : "rcx", "r11", "memory");
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void compute(int64_t ns)
{
	int64_t begun = now_ns();

	while (now_ns() - begun < ns)
		;
}

int main(int argc, char **argv)
{
	long status = argc > 2 ? atol(argv[2]) : 0;
	int told;

	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
	if (argc > 1 && strcmp(argv[1], "syscall") == 0)
		syscall(SYS_exit_group, status);
	if (argc > 1 && strcmp(argv[1], "late") == 0)
		compute(LATE_NS);
	if (argc > 1 && (strcmp(argv[1], "inline") == 0 || strcmp(argv[1], "late") == 0))
		end_inline(status);
	if (argc > 1 && strcmp(argv[1], "child-inline") == 0) {
		if (fork() == 0)
			end_inline(status);
		wait(&told);
		return WIFEXITED(told) ? WEXITSTATUS(told) : 99;
	}
	return 100;
}
