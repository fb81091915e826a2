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

/* The delay of the thread cannot be read, and is not asked for again. */
static void give_up(struct cpa_clock *c)
{
	c->schedstat = -2;
	cpa_diag(CPA_DIAG_DELAYS_UNKNOWN);
}

/* Leave c->schedstat below 0 if that fails. */
static void open_delay(struct cpa_clock *c)
{
	int fd = (int)cpa_kernel(SYS_openat, AT_FDCWD, "/proc/thread-self/schedstat",
				 O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	c->file = inode(fd);
	if (!c->file) {
		if (errno != EBADF)
			cpa_kernel(SYS_close, fd);
		return;
	}
	/* Where the descriptor limit is low this fails. */
	c->schedstat = (int)cpa_kernel(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	close_delay(c, fd);
}

/* Whether the text of the file is that of a kernel which does not count delays. */
static bool is_empty(const char *text)
{
	return text[0] == '0' && text[1] == ' ' && text[2] == '0' && text[3] == ' ' &&
	       text[4] == '0';
}

/* Find the delay in @text, the content of the file. */
static bool find_delay(const char *text, uint64_t *delay)
{
	const char *p;

	for (p = text; *p >= '0' && *p <= '9'; p++)
		;
	if (*p != ' ' || p == text)
		return false;
	*delay = 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		*delay = *delay * 10 + (uint64_t)(*p - '0');
	return *p == ' ';
}

bool cpa_delay_early(uint64_t *delay)
{
	char text[96];

	return cpa_machine_text("/proc/thread-self/schedstat", text, sizeof(text)) &&
	       !is_empty(text) && find_delay(text, delay);
}

bool cpa_delay_read(struct cpa_clock *c, uint64_t *delay)
{
	char text[96];
	ssize_t n;

	if (c->schedstat == -2)
		return false;
	if (c->schedstat == -1) {
		sigset_t signals;

		if (!cpa_fd_guard_begin(&signals))
			return false;
		open_delay(c);
		cpa_fd_guard_end(&signals);
		if (c->schedstat < 0) {
			give_up(c);
			return false;
		}
	}
	if (unlikely(inode(c->schedstat) != c->file)) { /* the program has closed it */
		c->schedstat = -1;
		return false;
	}
	n = cpa_machine_read(c->schedstat, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	if (n <= 0 || is_empty(text)) {
		give_up(c);
		return false;
	}
	return find_delay(text, delay);
}

void cpa_delay_close(struct cpa_clock *c)
{
	close_delay(c, c->schedstat);
}
