/* SPDX-License-Identifier: MIT */
#include "preload/core/shared.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "preload/core/track.h"
#include "shadow/store/index.h"
#include "shadow/store/kernel.h"

/*
 * Offset of the process-shared flag in objects whose fields glibc's headers do not name (2.25 and
 * later).
 */
#define MAPS	       3072u /* bytes of /proc/self/maps at a time */
#define BARRIER_SHARED 12
#define SEM_SHARED     8
#define MUTEX_SHARED   128 /* bit of the kind that means shared between processes */
#define COND_SHARED    1   /* bit of __wrefs that means shared between processes */

static bool is_set(const void *object, size_t at)
{
	int flag;

	memcpy(&flag, (const char *)object + at, sizeof(flag));
	return flag != 0;
}

bool cpa_shared_is(const void *address, enum cpa_object_kind kind)
{
	switch (kind) {
	case CPA_MUTEX:
		return ((const pthread_mutex_t *)address)->__data.__kind & MUTEX_SHARED;
	case CPA_COND:
		return ((const pthread_cond_t *)address)->__data.__wrefs & COND_SHARED;
	case CPA_RWLOCK:
		return ((const pthread_rwlock_t *)address)->__data.__shared;
	case CPA_BARRIER:
		return is_set(address, BARRIER_SHARED);
	case CPA_SEM:
		return is_set(address, SEM_SHARED);
	default:
		return false;
	}
}

/* A line of /proc/self/maps: 7f01-7f02 rw-s 00001000 00:01 1234 /name. */
struct mapping {
	uint64_t start, end, offset, major, minor, inode;
	bool shared;
};

static uint64_t number(const char **text, unsigned base)
{
	uint64_t n = 0;

	for (;; (*text)++) {
		char c = **text;
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
				 c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 :
							16;

		if (digit >= base)
			return n;
		n = n * base + digit;
	}
}

static struct mapping parse(const char *line)
{
	struct mapping m;

	m.start = number(&line, 16);
	line++;
	m.end = number(&line, 16);
	m.shared = line[4] == 's';
	line += 6;
	m.offset = number(&line, 16);
	line++;
	m.major = number(&line, 16);
	line++;
	m.minor = number(&line, 16);
	line++;
	m.inode = number(&line, 10);
	return m;
}

struct search {
	uint64_t address;
	struct mapping found;
	bool done;
	char text[MAPS];
};

static void search(void *argument)
{
	struct search *s = argument;
	size_t have = 0;
	ssize_t n;
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	while (!s->done &&
	       (n = syscall(SYS_read, fd, s->text + have, sizeof(s->text) - 1 - have)) > 0) {
		char *line = s->text, *end;

		have += (size_t)n;
		s->text[have] = '\0';
		while (!s->done && (end = strchr(line, '\n'))) {
			*end = '\0';
			s->found = parse(line);
			s->done = s->address >= s->found.start && s->address < s->found.end;
			line = end + 1;
		}
		have -= (size_t)(line - s->text);
		memmove(s->text, line, have);
		/* so long a line has no mapping that matters here */
		if (have == sizeof(s->text) - 1)
			have = 0;
	}
	syscall(SYS_close, fd);
}

/* Find the mapping that contains @address. False: none, or unknown. */
static bool find(uint64_t address, struct mapping *found)
{
	struct search s;

	s.address = address;
	s.done = false;
	if (!cpa_kernel_begin())
		return false;
	if (!cpa_track_private_call(cpa_tls.worker, search, &s))
		search(&s);
	cpa_kernel_end();
	*found = s.found;
	return s.done;
}

uint64_t cpa_shared_key(const void *address)
{
	struct mapping m;
	uint64_t hash;

	if (!find((uint64_t)address, &m) || !m.shared || !m.inode)
		return 0;
	hash = cpa_index_hash(m.major << 32 | m.minor);
	hash = cpa_index_hash(hash ^ m.inode);
	hash = cpa_index_hash(hash ^ ((uint64_t)address - m.start + m.offset));
	return (hash & (CPA_SHARED_OBJECT - 1)) | CPA_SHARED_OBJECT;
}
