/* SPDX-License-Identifier: MIT */
/*
 * preload/process/end_key.c - our thread-specific key, and wrappers of the functions that create
 * and delete keys
 */
#include "preload/process/end_key.h"

#include <errno.h>
#include <pthread.h>
#include <threads.h>

#include "preload/libc/real.h"

/*
 * glibc keeps values of the first 32 keys in the thread's descriptor, others in the program's heap.
 */
#define INSIDE 32u

static pthread_key_t key;
static uint32_t held; /* 1: the key belongs to cpa */

void cpa_end_key_init(void (*ended)(void *))
{
	pthread_key_t made[INSIDE];
	unsigned n = 0;

	while (n < INSIDE && !REAL(pthread_key_create)(&made[n], ended) && made[n] < INSIDE)
		n++;
	if (n < INSIDE && made[n] >= INSIDE)
		REAL(pthread_key_delete)(made[n]);
	if (!n)
		return;
	key = made[--n];
	while (n)
		REAL(pthread_key_delete)(made[--n]);
	/* RELEASE: a thread that finds the key owned finds its number. */
	__atomic_store_n(&held, 1, __ATOMIC_RELEASE);
}

/* ACQUIRE pairs with the RELEASE in cpa_end_key_init(). */
static bool is_ours(pthread_key_t k)
{
	return __atomic_load_n(&held, __ATOMIC_ACQUIRE) && k == key;
}

bool cpa_end_key_is_lost(void)
{
	/* Relaxed: if the key is given up in the meantime, the end of this thread is not seen. */
	return !__atomic_load_n(&held, __ATOMIC_RELAXED);
}

/*
 * If the key becomes the program's at the same time, this may have overwritten the calling thread's
 * value of it. Put the old value back: only this thread reads it, and it has not left our code
 * since.
 */
void cpa_end_key_set(void *value)
{
	if (!is_ours(key))
		return;
	REAL(pthread_setspecific)(key, value);
	/* SEQ_CST: the value was set before this read. Pairs with give_up(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!is_ours(key))
		REAL(pthread_setspecific)(key, NULL);
}

/* The program asks for more keys than are left: give it ours. False: given already. */
static bool give_up(void)
{
	/*
	 * SEQ_CST: the key is no longer ours before anybody else can have it. Pairs with
	 * cpa_end_key_set().
	 */
	if (!__atomic_exchange_n(&held, 0, __ATOMIC_SEQ_CST))
		return false;
	REAL(pthread_key_delete)(key);
	return true;
}

CPA_EXPORT int pthread_key_create(pthread_key_t *made, void (*destructor)(void *))
{
	int ret = REAL(pthread_key_create)(made, destructor);

	if (unlikely(ret == EAGAIN) && give_up())
		ret = REAL(pthread_key_create)(made, destructor);
	return ret;
}

/* libgcc calls it by this name. */
CPA_EXPORT int __pthread_key_create(pthread_key_t *made, void (*destructor)(void *));
int __pthread_key_create(pthread_key_t *made, void (*destructor)(void *))
{
	return pthread_key_create(made, destructor);
}

CPA_EXPORT int tss_create(tss_t *made, tss_dtor_t destructor)
{
	int ret = REAL(tss_create)(made, destructor);

	if (unlikely(ret != thrd_success) && give_up())
		ret = REAL(tss_create)(made, destructor);
	return ret;
}

/* A key that the program did not create. */
CPA_EXPORT int pthread_key_delete(pthread_key_t old)
{
	return unlikely(is_ours(old)) ? EINVAL : REAL(pthread_key_delete)(old);
}

CPA_EXPORT void tss_delete(tss_t old)
{
	if (likely(!is_ours(old)))
		REAL(tss_delete)(old);
}
