/* SPDX-License-Identifier: MIT */
/*
 * tests/unit/je_hooks.c - what the private jemalloc calls, outside libcpa.so
 *
 * scripts/private-jemalloc.sh renames jemalloc's mutex calls and secure_getenv. In a test there
 * are no wrappers to keep out of, so the mutex calls go to libc; MALLOC_CONF stays ignored.
 */

#include <pthread.h>
#include <stddef.h>

int cpa_je_pthread_mutex_lock(pthread_mutex_t *mutex);
int cpa_je_pthread_mutex_trylock(pthread_mutex_t *mutex);
int cpa_je_pthread_mutex_unlock(pthread_mutex_t *mutex);
char *cpa_je_secure_getenv(const char *name);

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
