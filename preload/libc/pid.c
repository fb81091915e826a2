/* SPDX-License-Identifier: MIT */
#include "preload/libc/pid.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shadow/store/kernel.h"
#include "shadow/store/timespec.h"

#define BEGIN_FIELD  22u /* field of the start time in /proc/self/stat, counted from 1 */
#define BEFORE_FIELD 2u	 /* the name may contain anything: it ends at the last parenthesis */

uint32_t cpa_pid_space(void)
{
	int err = errno;
	struct stat s;
	bool known = false;

	if (cpa_kernel_begin()) {
		known = !stat("/proc/self/ns/pid", &s);
		cpa_kernel_end();
	}
	errno = err;
	return known ? (uint32_t)s.st_ino : 0;
}

uint64_t cpa_pid_now_ns(void)
{
	return cpa_timespec_now_ns(CLOCK_BOOTTIME);
}

/* Start time of the process in the kernel's ticks. 0: not known. */
static uint64_t began(void)
{
	char text[1024], *p;
	uint64_t ticks = 0;
	ssize_t size;
	int fd;

	fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/stat", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	size = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	text[size > 0 ? size : 0] = '\0';
	p = strrchr(text, ')');
	for (unsigned i = BEFORE_FIELD; p && i < BEGIN_FIELD; i++)
		p = strchr(p + 1, ' ');
	for (p = p ? p + 1 : text; *p >= '0' && *p <= '9'; p++)
		ticks = ticks * 10 + (uint64_t)(*p - '0');
	return ticks;
}

bool cpa_pid_is_since(uint64_t seen_ns)
{
	uint64_t hz = getauxval(AT_CLKTCK), ticks;

	if (!seen_ns || !hz)
		return true;
	if (!cpa_kernel_begin())
		return true;
	ticks = began();
	cpa_kernel_end();
	return ticks / hz * CPA_SECOND_NS + ticks % hz * (CPA_SECOND_NS / hz) <= seen_ns;
}
