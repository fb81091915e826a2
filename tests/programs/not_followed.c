/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/not_followed.c - waits for descriptors whose other end is not followed
 *
 * `not_followed KIND [poll]`: a child reads the descriptor, or waits for it in poll(). It becomes ready
 * when the child has slept for some time.
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/asleep.h"

#define ASLEEP 4 /* looks, 10 ms apart, at which it sleeps */

static void must(int good)
{
	if (!good)
		abort();
}

/* What both processes know. */
static int fd, other;
static pid_t child;
static char file[64];

/* The master is not seen: it is made, and written, by system calls. */
static void open_terminal(void)
{
	int locked = 0;

	other = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	must(other >= 0 && !ioctl(other, TIOCSPTLCK, &locked));
	fd = ioctl(other, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	must(fd >= 0);
}

static void write_terminal(void)
{
	must(syscall(SYS_write, other, "x\n", 2) == 2);
}

static void open_timer(void)
{
	fd = timerfd_create(CLOCK_MONOTONIC, 0);
	must(fd >= 0);
}

/* For the process that waits: a time that never comes. */
static void set_once(void)
{
	must(!timerfd_settime(fd, 0, &(struct itimerspec){ .it_value.tv_sec = 1000 }, NULL));
}

static void set_each(void)
{
	must(!timerfd_settime(
		fd, 0, &(struct itimerspec){ .it_value.tv_sec = 1000, .it_interval.tv_sec = 1000 },
		NULL));
}

static void expire(void)
{
	must(!timerfd_settime(fd, 0, &(struct itimerspec){ .it_value.tv_nsec = 1 }, NULL));
}

static void open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	must(!sigprocmask(SIG_BLOCK, &set, NULL));
	fd = signalfd(-1, &set, 0);
	must(fd >= 0);
}

static void send_signal(void)
{
	must(!kill(child, SIGUSR1));
}

static void open_files(void)
{
	strcpy(file, "/tmp/not_followed.XXXXXX");
	other = mkstemp(file);
	fd = inotify_init1(0);
	must(other >= 0 && fd >= 0 && inotify_add_watch(fd, file, IN_MODIFY) >= 0);
}

static void change_file(void)
{
	must(write(other, "x", 1) == 1);
	unlink(file);
}

static void nothing(void)
{
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*open)(void), (*prepare)(void), (*make_ready)(void);
	} kinds[] = {
		{ "terminal", open_terminal, nothing, write_terminal },
		{ "once", open_timer, set_once, expire },
		{ "each", open_timer, set_each, expire },
		{ "signal", open_signals, nothing, send_signal },
		{ "files", open_files, nothing, change_file },
	};
	int polls = argc > 2, status;
	char bytes[256];
	size_t kind = 0;

	while (argc > 1 && kind < sizeof(kinds) / sizeof(*kinds) &&
	       strcmp(argv[1], kinds[kind].name) != 0)
		kind++;
	must(kind < sizeof(kinds) / sizeof(*kinds));
	kinds[kind].open();
	child = fork();
	if (!child) {
		kinds[kind].prepare();
		if (polls)
			_exit(poll(&(struct pollfd){ fd, POLLIN, 0 }, 1, -1) != 1);
		_exit(read(fd, bytes, sizeof(bytes)) <= 0);
	}
	for (unsigned i = 0; i < ASLEEP; i = is_asleep(child) ? i + 1 : 0)
		usleep(10000);
	kinds[kind].make_ready();
	must(waitpid(child, &status, 0) == child && !status);
	return 0;
}
