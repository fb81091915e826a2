/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/blocking_libraries.h - waits of GLib, libuv and APR, for blocking_ops.h
 */
#ifndef CPA_TESTS_BLOCKING_LIBRARIES_H
#define CPA_TESTS_BLOCKING_LIBRARIES_H

#include <apr_general.h>
#include <apr_queue.h>
#include <apr_thread_cond.h>
#include <apr_thread_mutex.h>
#include <apr_thread_rwlock.h>
#include <glib.h>
#include <uv.h>

/* The object of one cell. */
struct library_object {
	GAsyncQueue *items;
	uv_mutex_t mutex;
	uv_cond_t cond;
	uv_rwlock_t rwlock;
	uv_sem_t sem;
	uv_barrier_t barrier;
	apr_thread_mutex_t *apr_mutex;
	apr_thread_cond_t *apr_cond;
	apr_thread_rwlock_t *apr_rwlock;
	apr_queue_t *queue;
};

/* Of the main thread, which prepares all cells. Never given back. */
static inline apr_pool_t *library_pool(void)
{
	static apr_pool_t *pool;

	if (!pool) {
		apr_initialize();
		apr_pool_create(&pool, NULL);
	}
	return pool;
}

static inline int uv_result(int ret)
{
	return -ret;
}

static inline int apr_result(apr_status_t ret)
{
	return ret == APR_TIMEUP ? ETIMEDOUT : ret;
}

#endif
