/* SPDX-License-Identifier: MIT */
/*
 * preload/jemalloc_hooks.c - what the private jemalloc calls instead of libc
 *
 * Its locks are the original mutexes, never our wrappers; it does not see the program's
 * environment, so MALLOC_CONF is the program's own.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "preload/real.h"

CPA_HIDDEN int cpa_je_pthread_mutex_lock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_mutex_trylock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_mutex_unlock(pthread_mutex_t *m);
CPA_HIDDEN char *cpa_je_secure_getenv(const char *name);
CPA_HIDDEN void *cpa_je_mmap(void *at, size_t size, int rights, int flags, int fd, off_t from);
CPA_HIDDEN int cpa_je_munmap(void *p, size_t size);

/* In place of a page that there is no memory for; see cpa_je_mmap(). */
static char spare[4096] __attribute__((aligned(4096)));
static bool spare_used;

int cpa_je_pthread_mutex_lock(pthread_mutex_t *m)
{
	return REAL(pthread_mutex_lock)(m);
}

int cpa_je_pthread_mutex_trylock(pthread_mutex_t *m)
{
	return REAL(pthread_mutex_trylock)(m);
}

int cpa_je_pthread_mutex_unlock(pthread_mutex_t *m)
{
	return REAL(pthread_mutex_unlock)(m);
}

char *cpa_je_secure_getenv(const char *name)
{
	(void)name;
	return NULL;
}

/*
 * As it starts, jemalloc maps a page to try madvise() on, and writes to it without a look at
 * whether it has one (pages.c of 5.2 and 5.3); its constructor tries again when the first start
 * failed. What fails later it copes with. Before there are other threads.
 */
void *cpa_je_mmap(void *at, size_t size, int rights, int flags, int fd, off_t from)
{
	void *p = mmap(at, size, rights, flags, fd, from);

	if (likely(p != MAP_FAILED) || size != sizeof(spare) || at || spare_used)
		return p;
	spare_used = true;
	return spare;
}

int cpa_je_munmap(void *p, size_t size)
{
	if (likely(p != spare))
		return munmap(p, size);
	spare_used = false;
	return 0;
}
