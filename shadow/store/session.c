/* SPDX-License-Identifier: MIT */
#include "shadow/store/session.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shadow/store/kernel.h"
#include "shadow/store/table.h"

#define PAGE UINT64_C(4096)
#define STEP (UINT64_C(64) << 10) /* space is allocated in multiples of this, bytes */
/* space allocated at creation, bytes: enough for the smallest processes */
#define FIRST	 (UINT64_C(192) << 10)
#define LARGE	 (UINT64_C(256) << 10)
#define SMALLEST (UINT64_C(2) << 20)

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

#define SHARE 16 /* 1/SHARE of a limited address space is for cpa */

char *cpa_base;

/* Atomic: bytes of address space mapped at cpa_base; only shrinks. */
static uint64_t mapped;

/*
 * Atomic: a large block was backed, so the kernel may read ahead again: it then uses large folios,
 * 1.0 us a page instead of 2.3 to 3.1 (ext4).
 */
static bool reads_ahead;

/* Return the address space and file size, in bytes, that the process's limits allow. */
static uint64_t allowed(uint64_t limit)
{
	struct rlimit r;

	if (!getrlimit(RLIMIT_AS, &r) && r.rlim_cur / SHARE < limit)
		limit = r.rlim_cur / SHARE;
	/* Growing the file past this limit would send SIGXFSZ to the target. */
	if (!getrlimit(RLIMIT_FSIZE, &r) && r.rlim_cur != RLIM_INFINITY && r.rlim_cur < limit)
		limit = r.rlim_cur;
	return limit & ~(STEP - 1);
}

/*
 * Allocate file space for @size bytes. Kernels before 5.14 cannot do this; that counts as success.
 * Return 0 or -errno.
 */
static int populate(char *start, uint64_t size)
{
	if (!cpa_kernel(SYS_madvise, start, size, MADV_POPULATE_WRITE) || errno == EINVAL)
		return 0;
	return errno == EFAULT ? -ENOSPC : -errno;
}

/* Record that [0, @until) need not be allocated again. */
static void raise_reserved(uint64_t until)
{
	uint64_t *reserved = &cpa_header()->reserved,
		 have = __atomic_load_n(reserved, __ATOMIC_RELAXED);

	/* Relaxed: the space is zero; this word publishes no data in it. */
	while (have < until && !__atomic_compare_exchange_n(reserved, &have, until, true,
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/*
 * Allocate file space for [0, @until). Several threads may do so at once: all steps are idempotent.
 */
static int make_usable(uint64_t from, uint64_t until)
{
	struct cpa_header *h = cpa_header();
	uint64_t have = __atomic_load_n(&h->reserved, __ATOMIC_RELAXED);
	int ret;

	until = cpa_round_up(until, STEP);
	if (until > h->limit)
		return -ENOSPC;
	if (until <= have)
		return 0;
	/* Missing space below @from is a table's; the table is about to allocate it. */
	from = from > have ? from & ~(PAGE - 1) : have;
	ret = populate(cpa_base + from, until - from);
	if (!ret)
		raise_reserved(until);
	return ret;
}

/* As cpa_session_alloc(), but without file space if not @usable. */
static uint64_t hand_out(uint64_t size, uint64_t align, bool usable)
{
	struct cpa_header *h = cpa_header();
	uint64_t at, old = __atomic_load_n(&h->used, __ATOMIC_RELAXED);
	int err = errno;

	do {
		at = cpa_round_up(old, align);
		if (size > h->limit || at > h->limit - size)
			return 0;
		if (usable && at + size > __atomic_load_n(&h->reserved, __ATOMIC_RELAXED) &&
		    make_usable(old, at + size)) {
			errno = err;
			return 0;
		}
		/*
		 * SEQ_CST: either this thread sees the new limit or cpa_session_fit() sees the new
		 * `used`.
		 */
	} while (!__atomic_compare_exchange_n(&h->used, &old, at + size, true, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	errno = err;
	/* SEQ_CST: pairs with cpa_session_fit(). Memory beyond the limit stays unused. */
	return at + size > __atomic_load_n(&h->limit, __ATOMIC_SEQ_CST) ? 0 : at;
}

uint64_t cpa_session_alloc(uint64_t size, uint64_t align)
{
	return hand_out(size, align, true);
}

uint64_t cpa_session_reserve(uint64_t size)
{
	uint64_t at;

	size = cpa_round_up(size, PAGE);
	at = hand_out(size, PAGE, false);
	if (at)
		raise_reserved(at + size);
	return at;
}

bool cpa_session_back(uint64_t at, uint64_t size)
{
	uint64_t from = at & ~(PAGE - 1), until = cpa_round_up(at + size, PAGE);
	int err = errno, ret;

	if (until <= FIRST)
		return true;
	if (size >= LARGE && !__atomic_exchange_n(&reads_ahead, true, __ATOMIC_RELAXED))
		cpa_kernel(SYS_madvise, cpa_base, cpa_header()->limit, MADV_NORMAL);
	ret = populate(cpa_base + from, until - from);
	errno = err;
	return !ret;
}

/*
 * Exclude the session from core dumps. Disable readahead: otherwise the first touch of a page makes
 * the kernel fill dozens of file pages around it, 2 ms of a short process.
 */
static void advise(char *start, uint64_t size)
{
	madvise(start, size, MADV_DONTDUMP);
	madvise(start, size, MADV_RANDOM);
}

/*
 * Allocate pages for the first bytes of @fd. Writing them costs a third of first touches of mapped
 * pages without file data. Return 0 or -errno.
 */
static int fill(int fd)
{
	static const char zeros[STEP];

	for (uint64_t at = 0; at < FIRST; at += STEP) {
		ssize_t n = pwrite(fd, zeros, STEP, (off_t)at);

		if (n != (ssize_t)STEP)
			return n < 0 ? -errno : -ENOSPC;
	}
	return 0;
}

/* Map @limit bytes of the new file @path, or of anonymous memory. Return 0 or -errno. */
static int map_range(const char *path, uint64_t limit)
{
	int fd = -1, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, ret = 0;
	void *p;

	if (path) {
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0)
			return -errno;
		flags = MAP_SHARED | MAP_NORESERVE;
	}
	if (fd >= 0)
		ret = ftruncate(fd, (off_t)limit) ? -errno : fill(fd);
	p = ret ? MAP_FAILED : mmap(NULL, limit, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (!ret && p == MAP_FAILED)
		ret = -errno;
	if (fd >= 0)
		close(fd);
	if (ret) {
		if (path)
			unlink(path);
		return ret;
	}
	cpa_base = p;
	mapped = limit;
	return 0;
}

int cpa_session_create(const char *path, uint64_t limit, uint32_t slots)
{
	struct cpa_header *h;
	int ret;

	limit = allowed(limit);
	do {
		if (limit < SMALLEST)
			return -ENOMEM;
		ret = map_range(path, limit);
		if (ret == -ENOMEM)
			limit = (limit / 4) & ~(STEP - 1);
	} while (ret == -ENOMEM);
	if (ret)
		return ret;
	advise(cpa_base, limit);
	ret = populate(cpa_base, FIRST);
	if (ret) {
		munmap(cpa_base, limit);
		cpa_base = NULL;
		if (path)
			unlink(path);
		return ret;
	}
	h = cpa_header();
	h->byte_order = CPA_BYTE_ORDER;
	_Static_assert(CPA_DIAG_USED <= CPA_DIAG_COUNT, "each counter has its place");
	_Static_assert(CPA_TABLES <= sizeof(((struct cpa_header *)NULL)->table) /
					     sizeof(struct cpa_table),
		       "each table has its place");
	h->format = CPA_FORMAT;
	h->header_size = CPA_HEADER_SIZE;
	h->tables = CPA_TABLES;
	h->used = CPA_HEADER_SIZE;
	h->reserved = FIRST;
	h->limit = limit;
	h->slots = slots;
	h->period = CPA_PERIOD;
	h->note = CPA_NOTE;
	h->note_most = CPA_NOTE;
	cpa_tables_init();
	memcpy(h->magic, CPA_MAGIC, sizeof(h->magic));
	return 0;
}

/*
 * Return whether @fd is a file that only this user can have made, that no other user can read, and
 * that has a single name.
 */
static bool is_private(int fd, uint64_t inode)
{
	struct stat s;

	return !fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_ino == inode && s.st_nlink == 1 &&
	       s.st_uid == geteuid() && !(s.st_mode & 07077) && s.st_size >= (off_t)CPA_HEADER_SIZE;
}

/* Return whether the session has the format and tables of this build, and the right secret. */
static bool is_alike(const struct cpa_header *h, uint64_t secret)
{
	return !memcmp(h->magic, CPA_MAGIC, sizeof(h->magic)) && h->format == CPA_FORMAT &&
	       h->header_size == CPA_HEADER_SIZE && secret && h->secret == secret &&
	       cpa_tables_alike(h);
}

int cpa_session_join(const char *path, uint64_t inode, uint64_t secret)
{
	int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC), ret = 0;
	struct cpa_header *h;
	uint64_t limit = 0, used = 0;
	void *p = MAP_FAILED;

	if (fd < 0)
		return -errno;
	if (!is_private(fd, inode) ||
	    pread(fd, &limit, sizeof(limit), offsetof(struct cpa_header, limit)) != sizeof(limit) ||
	    pread(fd, &used, sizeof(used), offsetof(struct cpa_header, used)) != sizeof(used) ||
	    limit < CPA_HEADER_SIZE)
		ret = -EPERM;
	if (limit < used) /* allocated while another process reduced the limit */
		limit = cpa_round_up(used, PAGE);
	if (!ret)
		p = mmap(NULL, limit, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (!ret && p == MAP_FAILED)
		ret = -errno;
	close(fd);
	if (ret)
		return ret;
	h = p;
	if (!is_alike(h, secret)) {
		munmap(p, limit);
		return -EPERM;
	}
	advise(p, limit);
	cpa_base = p;
	mapped = limit;
	cpa_tables_joined();
	return 0;
}

uint64_t cpa_session_mapped(void)
{
	/* Relaxed: memory in use stays mapped. */
	return __atomic_load_n(&mapped, __ATOMIC_RELAXED);
}

/* Return the bytes that must stay mapped. */
static uint64_t in_use(void)
{
	const struct cpa_header *h = cpa_header();
	/* SEQ_CST: pairs with hand_out(). */
	uint64_t used = __atomic_load_n(&h->used, __ATOMIC_SEQ_CST);
	uint64_t reserved = __atomic_load_n(&h->reserved, __ATOMIC_RELAXED);

	return cpa_round_up(used > reserved ? used : reserved, STEP);
}

void cpa_session_fit(uint64_t space)
{
	uint64_t *limit = &cpa_header()->limit, share = space / SHARE & ~(STEP - 1);
	uint64_t old = __atomic_load_n(limit, __ATOMIC_RELAXED), used = in_use(), keep, had;
	int err = errno;

	keep = share > used ? share : used;
	/* SEQ_CST: pairs with hand_out(). */
	while (keep < old && !__atomic_compare_exchange_n(limit, &old, keep, false,
							  __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))
		;
	used = in_use();
	keep = keep > used ? keep : used;
	had = cpa_session_mapped();
	/* Relaxed: the thread that removes a range from `mapped` unmaps it. */
	while (keep < had && !__atomic_compare_exchange_n(&mapped, &had, keep, false,
							  __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
	if (keep < had)
		cpa_kernel(SYS_munmap, cpa_base + keep, had - keep);
	errno = err;
}

void cpa_session_destroy(void)
{
	munmap(cpa_base, mapped);
	cpa_base = NULL;
}
