/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/je_hooks.c - what the private jemalloc calls, outside libcpa.so
 *
 * scripts/private-jemalloc.sh renames some functions that jemalloc calls. In a test there are no
 * wrappers to keep out of, so they go to libc; MALLOC_CONF stays ignored.
 */

#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>

int cpa_je_pthread_mutex_lock(pthread_mutex_t *mutex);
int cpa_je_pthread_mutex_trylock(pthread_mutex_t *mutex);
int cpa_je_pthread_mutex_unlock(pthread_mutex_t *mutex);
char *cpa_je_secure_getenv(const char *name);
void *cpa_je_mmap(void *at, size_t size, int rights, int flags, int fd, off_t from);
int cpa_je_munmap(void *p, size_t size);

int cpa_je_pthread_mutex_lock(pthread_mutex_t *mutex)
{
	return pthread_mutex_lock(mutex);
}

int cpa_je_pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	return pthread_mutex_trylock(mutex);
}

int cpa_je_pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	return pthread_mutex_unlock(mutex);
}

char *cpa_je_secure_getenv(const char *name)
{
	(void)name;
	return NULL;
}

void *cpa_je_mmap(void *at, size_t size, int rights, int flags, int fd, off_t from)
{
	return mmap(at, size, rights, flags, fd, from);
}

int cpa_je_munmap(void *p, size_t size)
{
	return munmap(p, size);
}
