/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/jemalloc_hooks.c - functions that the private jemalloc calls in place of libc's
 *
 * preload/libc/memory.c lets one thread at a time into jemalloc. So it needs no locks, and nobody
 * meets one held: no fork, no ending thread. Its thread-specific value is taken away before the
 * thread leaves, so its destructor does not run among the program's. It does not see the
 * environment: MALLOC_CONF belongs to the program.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <unistd.h>

#include "preload/libc/memory.h"
#include "shadow/store/kernel.h"

CPA_HIDDEN int cpa_je_pthread_mutex_lock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_mutex_trylock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_mutex_unlock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_atfork(void (*before)(void), void (*parent)(void),
				     void (*child)(void));
CPA_HIDDEN int cpa_je_pthread_key_create(pthread_key_t *key, void (*destructor)(void *));
CPA_HIDDEN int cpa_je_pthread_setspecific(pthread_key_t key, const void *value);
CPA_HIDDEN void *cpa_je_dlsym(void *handle, const char *name);
CPA_HIDDEN char *cpa_je_secure_getenv(const char *name);
CPA_HIDDEN void *cpa_je_mmap(void *at, size_t size, int rights, int flags, int fd, off_t from);
CPA_HIDDEN int cpa_je_munmap(void *p, size_t size);
CPA_HIDDEN int cpa_je_madvise(void *p, size_t size, int advice);

/* jemalloc's only thread-specific value: that of the thread that is in it. NULL: none. */
static void *of_thread;
static void (*put_away)(void *value);

/* Returned in place of a page when there is no memory; see cpa_je_mmap(). */
static char spare[4096] __attribute__((aligned(4096)));
static bool spare_used;

int cpa_je_pthread_mutex_lock(pthread_mutex_t *m)
{
	(void)m;
	return 0;
}

int cpa_je_pthread_mutex_trylock(pthread_mutex_t *m)
{
	(void)m;
	return 0;
}

int cpa_je_pthread_mutex_unlock(pthread_mutex_t *m)
{
	(void)m;
	return 0;
}

/* Not registered: jemalloc's fork handlers would take its locks. */
int cpa_je_pthread_atfork(void (*before)(void), void (*parent)(void), void (*child)(void))
{
	(void)before, (void)parent, (void)child;
	return 0;
}

int cpa_je_pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
	*key = 0;
	put_away = destructor;
	return 0;
}

int cpa_je_pthread_setspecific(pthread_key_t key, const void *value)
{
	(void)key;
	of_thread = (void *)value;
	return 0;
}

/* The destructor may set the value again, as in a thread that ends. */
void cpa_memory_leave(void)
{
	while (of_thread) {
		void *value = of_thread;

		of_thread = NULL;
		put_away(value);
	}
}

/* jemalloc looks up pthread_create() for background threads, which are switched off. */
void *cpa_je_dlsym(void *handle, const char *name)
{
	(void)handle, (void)name;
	return NULL;
}

char *cpa_je_secure_getenv(const char *name)
{
	(void)name;
	return NULL;
}

/*
 * When it starts, jemalloc maps a page to try madvise() on, and writes to it without a check
 * (pages.c of 5.2 and 5.3). After a failed start its constructor tries again. Later failures it
 * handles. This runs before there are other threads.
 *
 * By system calls: mmap() may be a function of the program, which takes locks.
 */
void *cpa_je_mmap(void *at, size_t size, int rights, int flags, int fd, off_t from)
{
	void *p = (void *)cpa_kernel(SYS_mmap, at, size, rights, flags, fd, from);

	if (likely(p != MAP_FAILED) || size != sizeof(spare) || at || spare_used)
		return p;
	spare_used = true;
	return spare;
}

int cpa_je_munmap(void *p, size_t size)
{
	int ret = 0; /* pages that cannot be given back stay */

	if (likely(p != spare) && cpa_kernel_begin()) {
		ret = (int)syscall(SYS_munmap, p, size);
		cpa_kernel_end();
	}
	if (unlikely(p == spare))
		spare_used = false;
	return ret;
}

int cpa_je_madvise(void *p, size_t size, int advice)
{
	return (int)cpa_kernel(SYS_madvise, p, size, (long)advice);
}
