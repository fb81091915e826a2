/* SPDX-License-Identifier: MIT */
#include "preload/clock/delay.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/libc/fd_guard.h"
#include "shadow/store/kernel.h"

#define FIRST_DESCRIPTOR 500 /* ours come from here: out of the way of the program's */

/* Inode of the file open at @fd; 0: none. */
static uint64_t inode(int fd)
{
	struct stat s;

	return cpa_kernel(SYS_fstat, fd, &s) ? 0 : s.st_ino;
}

/* Close descriptor @fd if it still is the thread's schedstat file, and not one of the program. */
static void close_delay(const struct cpa_clock *c, int fd)
{
	uint64_t there = inode(fd);

	if (there == c->file || (!there && errno != EBADF))
		cpa_kernel(SYS_close, fd);
}

static void open_delay(struct cpa_clock *c)
{
	int fd = (int)cpa_kernel(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat",
				 O_RDONLY | O_CLOEXEC);

	c->schedstat = -2;
	if (fd < 0)
		return;
	c->file = inode(fd);
	if (!c->file) {
		if (errno != EBADF)
			cpa_kernel(SYS_close, fd);
		return;
	}
	c->schedstat = (int)cpa_kernel(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	if (c->schedstat < 0) /* the descriptor limit is low: do without the file */
		c->schedstat = -2;
	close_delay(c, fd);
}

bool cpa_delay_read(struct cpa_clock *c, uint64_t *delay)
{
	char text[96], *p;
	ssize_t n;

	if (c->schedstat == -2)
		return false;
	if (c->schedstat == -1) {
		sigset_t signals;

		if (!cpa_fd_guard_begin(&signals))
			return false;
		open_delay(c);
		cpa_fd_guard_end(&signals);
	}
	n = cpa_machine_read(c->schedstat, text, sizeof(text) - 1);
	if (n <= 0) {
		c->schedstat = c->schedstat >= 0 && errno == EBADF ? -1 : -2;
		return false;
	}
	text[n] = '\0';
	for (p = text; *p >= '0' && *p <= '9'; p++)
		;
	if (*p != ' ' || p == text)
		return false;
	*delay = 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		*delay = *delay * 10 + (uint64_t)(*p - '0');
	return *p == ' ';
}

void cpa_delay_close(struct cpa_clock *c)
{
	close_delay(c, c->schedstat);
}
