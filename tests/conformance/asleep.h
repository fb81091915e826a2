/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/asleep.h - until another thread is asleep in the kernel
 *
 * It says its number just before the call that is to block, and nothing that it could sleep for comes
 * before that. A thread that waits for a processor, or for a page, is in another state. So it is in that
 * call, whatever else the machine does.
 */
#ifndef CPA_TESTS_CONFORMANCE_ASLEEP_H
#define CPA_TESTS_CONFORMANCE_ASLEEP_H

#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Whether thread @tid, of any process, is in the state @letter of proc(5). Not by stdio: no locks. */
static inline bool is_in_state(int tid, char letter)
{
	char path[64], text[512];
	const char *state;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	size = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[size > 0 ? size : 0] = '\0';
	state = strrchr(text, ')');
	return state && state[2] == letter;
}

static inline bool is_asleep(int tid)
{
	return is_in_state(tid, 'S');
}

/* Wait until the thread that sets @tid has done so, and sleeps. */
static inline void await_asleep(const volatile int *tid)
{
	while (!__atomic_load_n(tid, __ATOMIC_ACQUIRE) ||
	       !is_asleep(__atomic_load_n(tid, __ATOMIC_ACQUIRE)))
		sched_yield();
}

#endif
