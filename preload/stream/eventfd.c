/* SPDX-License-Identifier: MIT */
#include "preload/stream/eventfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "preload/core/identity.h"
#include "preload/core/track.h"
#include "preload/libc/fd_guard.h"
#include "preload/stream/address.h"
#include "shadow/store/kernel.h"

#define FOLDER "/proc/thread-self/fdinfo/"
#define DOUBT \
	UINT64_MAX /* in place of a number: its row has 1 if no number is certain any more; there before any */

const char *cpa_fd_path(char path[CPA_FD_PATH], const char *folder, int fd)
{
	char *end = path + CPA_FD_PATH - 1, *to = end;
	size_t n = strlen(folder);

	*end = 0;
	for (unsigned rest = (unsigned)fd; to == end || rest; rest /= 10)
		*--to = (char)('0' + rest % 10);
	memcpy(to - n, folder, n);
	return to - n;
}

/* The inode of @fd; 0: none. */
static uint64_t inode(int fd)
{
	struct stat st;

	return cpa_kernel(SYS_fstat, fd, &st) ? 0 : st.st_ino;
}

/* Read the start of the file @path into @text. Return the number of bytes; 0: that failed. */
static size_t read_start(const char *path, char *text, size_t size)
{
	int fd = (int)cpa_kernel(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	uint64_t file = fd < 0 ? 0 : inode(fd);
	long n;

	if (!file)
		return 0;
	n = cpa_kernel(SYS_read, fd, text, size);
	/* Unless the program has closed it, and has a file of its own there. */
	if (inode(fd) == file)
		cpa_kernel(SYS_close, fd);
	return n > 0 ? (size_t)n : 0;
}

/* The number behind @key in @text, and 1. 0: there is none. */
static uint64_t number_behind(const char *key, const char *text)
{
	const char *p = strstr(text, key);
	uint64_t number = 0;

	for (p += p ? strlen(key) : 0; p && (*p == ' ' || *p == '\t'); p++)
		;
	if (!p || *p < '0' || *p > '9')
		return 0;
	for (; *p >= '0' && *p <= '9'; p++)
		number = number * 10 + (uint64_t)(*p - '0');
	return number + 1;
}

/* What the kernel calls the eventfd @fd, and 1. 0: that is not known. */
static uint64_t number_of(int fd)
{
	char path[CPA_FD_PATH], text[256];
	sigset_t signals;
	size_t n;

	if (!cpa_fd_guard_begin(&signals))
		return 0;
	n = read_start(cpa_fd_path(path, FOLDER, fd), text, sizeof(text) - 1);
	cpa_fd_guard_end(&signals);
	text[n] = 0;
	return number_behind("eventfd-id:", text);
}

/* The key of a row that stands for the eventfd of @number. */
static uint64_t key_of(uint64_t number)
{
	return cpa_stream_key(CPA_STREAM_EVENTFD, 0, number, 1);
}

/* Whether no number leads to a stream any more. */
static bool in_doubt(void)
{
	uint32_t doubt = cpa_stream_find(key_of(DOUBT));

	/* ACQUIRE: pairs with note(). */
	return doubt && __atomic_load_n(&cpa_stream(doubt)->accepts, __ATOMIC_ACQUIRE);
}

/* The eventfd of @number, 0 if that is not known, is the stream in @row; 0: there is no space for one. */
static void note(uint64_t number, uint32_t row)
{
	uint32_t doubt = cpa_stream_intern(key_of(DOUBT), CPA_STREAM_EVENTFD, 0);
	uint32_t name = doubt && number && row ?
				cpa_stream_intern(key_of(number), CPA_STREAM_EVENTFD, 0) :
				0;

	/* RELEASE, both: the row is there. Pairs with in_doubt() and cpa_eventfd_find(). */
	if (name)
		__atomic_store_n(&cpa_stream(name)->accepts, row, __ATOMIC_RELEASE);
	else if (doubt)
		__atomic_store_n(&cpa_stream(doubt)->accepts, 1, __ATOMIC_RELEASE);
}

uint64_t cpa_eventfd_made(int fd, uint64_t value)
{
	static uint64_t made;
	/* Relaxed: a number that nobody else has. */
	uint64_t number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	uint32_t row = cpa_stream_intern(cpa_stream_key(CPA_STREAM_EVENTFD, cpa_process_number,
							number, cpa_clock_now()),
					 CPA_STREAM_EVENTFD, value);

	if (!in_doubt())
		note(row ? number_of(fd) : 0, row);
	return CPA_DESCRIPTOR_GIVEN | cpa_descriptor_of(row, row);
}

uint32_t cpa_eventfd_find(int fd)
{
	uint64_t number = number_of(fd);
	uint32_t name = number ? cpa_stream_find(key_of(number)) : 0;

	if (!name || in_doubt())
		return 0;
	/* ACQUIRE: pairs with note(). */
	return __atomic_load_n(&cpa_stream(name)->accepts, __ATOMIC_ACQUIRE);
}
