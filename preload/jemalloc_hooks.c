/* SPDX-License-Identifier: MIT */
/*
 * preload/jemalloc_hooks.c - what the private jemalloc calls instead of libc
 *
 * Its locks are the original mutexes, never our wrappers; it does not see the program's
 * environment, so MALLOC_CONF is the program's own.
 */
#include <pthread.h>

#include "preload/real.h"

CPA_HIDDEN int cpa_je_pthread_mutex_lock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_mutex_trylock(pthread_mutex_t *m);
CPA_HIDDEN int cpa_je_pthread_mutex_unlock(pthread_mutex_t *m);
CPA_HIDDEN char *cpa_je_secure_getenv(const char *name);

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
