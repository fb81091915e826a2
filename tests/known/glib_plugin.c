/* SPDX-License-Identifier: MIT */
/*
 * tests/known/glib_plugin.c - what the wrapped functions of GLib return, case by case
 *
 * plugin_main() ends with a call of one: that seems to come from the host, which has no GLib.
 */
#define GLIB_DISABLE_DEPRECATION_WARNINGS /* g_async_queue_timed_pop() is one that we wrap */

#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/conformance/asleep.h"
#include "tests/conformance/case.h"

#define POOLS 80 /* more than there are stand-ins */

static _Atomic int ran, freed;
static volatile int freeing; /* the thread that frees a pool, before it does */

static int descending(const void *a, const void *b, void *unused)
{
	(void)unused;
	return GPOINTER_TO_INT(b) - GPOINTER_TO_INT(a);
}

/* A wait for nothing. GLib sets errno where it sleeps, but not where the time is over already. */
static void expired(const char *label, const void *item)
{
	add(" %s=%d errno=%d", label, !item, errno == UNTOUCHED || errno == ETIMEDOUT);
	errno = UNTOUCHED;
}

static void queues(void)
{
	GAsyncQueue *q = g_async_queue_new();
	GTimeVal soon;

	begin("queue, order");
	for (int i = 1; i <= 3; i++)
		g_async_queue_push(q, GINT_TO_POINTER(i));
	g_async_queue_push_front(q, GINT_TO_POINTER(4));
	g_async_queue_push(q, GINT_TO_POINTER(5));
	for (int i = 0; i < 5; i++)
		DO("pop", GPOINTER_TO_INT(g_async_queue_pop(q)));
	DO("empty", g_async_queue_try_pop(q) == NULL);
	end();

	begin("queue, priorities");
	for (int i = 1; i <= 5; i++)
		g_async_queue_push_sorted(q, GINT_TO_POINTER(i * 7 % 6), descending, NULL);
	for (int i = 0; i < 5; i++)
		DO("pop", GPOINTER_TO_INT(g_async_queue_timeout_pop(q, 1000)));
	end();

	begin("queue, equal items, removed ones");
	for (int i = 0; i < 4; i++)
		g_async_queue_push(q, GINT_TO_POINTER(1));
	DO("remove", g_async_queue_remove(q, GINT_TO_POINTER(1)));
	DO("remove another", g_async_queue_remove(q, GINT_TO_POINTER(2)));
	DO("length", g_async_queue_length(q));
	for (int i = 0; i < 4; i++)
		DO("try", GPOINTER_TO_INT(g_async_queue_try_pop(q)));
	end();

	begin("queue, locked by the program");
	g_async_queue_lock(q);
	g_async_queue_push_unlocked(q, GINT_TO_POINTER(1));
	g_async_queue_push_front_unlocked(q, GINT_TO_POINTER(2));
	g_async_queue_push_sorted_unlocked(q, GINT_TO_POINTER(3), descending, NULL);
	DO("remove", g_async_queue_remove_unlocked(q, GINT_TO_POINTER(1)));
	DO("pop", GPOINTER_TO_INT(g_async_queue_pop_unlocked(q)));
	DO("try", GPOINTER_TO_INT(g_async_queue_try_pop_unlocked(q)));
	errno = UNTOUCHED;
	expired("timeout", g_async_queue_timeout_pop_unlocked(q, 100));
	g_async_queue_unlock(q);
	end();

	begin("queue, timeouts");
	errno = UNTOUCHED;
	expired("timeout", g_async_queue_timeout_pop(q, 20000));
	g_get_current_time(&soon);
	g_time_val_add(&soon, 10000);
	expired("timed", g_async_queue_timed_pop(q, &soon));
	end();
	g_async_queue_unref(q);
}

static void *consumer(void *queue)
{
	long sum = 0, item;

	while ((item = GPOINTER_TO_INT(g_async_queue_pop(queue))) != 1000000)
		sum += item;
	return (void *)sum;
}

static void threads(void)
{
	GAsyncQueue *q = g_async_queue_new();
	pthread_t t[3];
	void *sum;
	long total = 0;

	for (int i = 0; i < 3; i++)
		must(!pthread_create(&t[i], NULL, consumer, q), "pthread_create");
	for (int i = 1; i <= 3000; i++)
		g_async_queue_push(q, GINT_TO_POINTER(i));
	for (int i = 0; i < 3; i++)
		g_async_queue_push(q, GINT_TO_POINTER(1000000));
	for (int i = 0; i < 3; i++) {
		pthread_join(t[i], &sum);
		total += (long)sum;
	}
	CASE("queue, sum of three consumers", total);
	g_async_queue_unref(q);
}

static void task(void *data, void *user_data)
{
	ran += GPOINTER_TO_INT(data) * GPOINTER_TO_INT(user_data);
}

static void slow_task(void *data, void *user_data)
{
	sleep_ms(30);
	task(data, user_data);
}

/* It ends when the thread that frees the pool waits for that: no other item is begun then. */
static void task_until_freed(void *data, void *user_data)
{
	await_asleep(&freeing);
	task(data, user_data);
}

static void free_item(void *data)
{
	(void)data;
	freed++;
}

static void pools(void)
{
	GThreadPool *pool[POOLS], *p;

	begin("pool, many at once");
	for (int i = 0; i < POOLS; i++)
		pool[i] = g_thread_pool_new(task, GINT_TO_POINTER(i), 1, FALSE, NULL);
	for (int i = 0; i < 3 * POOLS; i++)
		g_thread_pool_push(pool[i % POOLS], GINT_TO_POINTER(1 + i / POOLS), NULL);
	for (int i = 0; i < POOLS; i++)
		g_thread_pool_free(pool[i], FALSE, TRUE);
	DO("sum", ran);
	end();

	begin("pool, exclusive, more threads later");
	ran = 0;
	p = g_thread_pool_new(slow_task, GINT_TO_POINTER(1), 1, TRUE, NULL);
	DO("user data", GPOINTER_TO_INT(p->user_data));
	/* Without errno: a worker may have the queue's lock, and then GLib's futex calls set it. */
	for (int i = 1; i <= 6; i++)
		add(" push=%d", g_thread_pool_push(p, GINT_TO_POINTER(i), NULL));
	add(" set=%d", g_thread_pool_set_max_threads(p, 3, NULL));
	add(" move=%d", g_thread_pool_move_to_front(p, GINT_TO_POINTER(7)));
	g_thread_pool_free(p, FALSE, TRUE);
	DO("sum", ran);
	end();

	begin("pool, nobody waits for it");
	ran = 0;
	p = g_thread_pool_new(task, GINT_TO_POINTER(1), 2, FALSE, NULL);
	for (int i = 1; i <= 10; i++)
		g_thread_pool_push(p, GINT_TO_POINTER(i), NULL);
	g_thread_pool_free(p, FALSE, FALSE);
	while (ran < 55)
		sleep_ms(1);
	DO("sum", ran);
	end();

	begin("pool, ended at once");
	freeing = 0;
	p = g_thread_pool_new_full(task_until_freed, GINT_TO_POINTER(1), free_item, 1, FALSE, NULL);
	for (int i = 1; i <= 20; i++)
		g_thread_pool_push(p, GINT_TO_POINTER(i), NULL);
	set(&freeing, gettid());
	g_thread_pool_free(p, TRUE, TRUE);
	DO("some were dropped", freed > 10 && freed <= 20);
	end();

	begin("pool, the program calls its function itself");
	ran = 0;
	p = g_thread_pool_new(task, GINT_TO_POINTER(3), 1, FALSE, NULL);
	p->func(GINT_TO_POINTER(2), p->user_data);
	DO("sum", ran);
	g_thread_pool_free(p, FALSE, TRUE);
	end();
}

static void child(void)
{
	GAsyncQueue *q = g_async_queue_new();
	int status = -1;
	pid_t pid;

	g_async_queue_push(q, GINT_TO_POINTER(3));
	pid = fork();
	if (!pid) {
		g_async_queue_push(q, GINT_TO_POINTER(4));
		g_async_queue_push(q, g_async_queue_pop(q));
		_exit(GPOINTER_TO_INT(g_async_queue_pop(q)));
	}
	waitpid(pid, &status, 0);
	CASE("queue in a child", WEXITSTATUS(status));
	g_async_queue_unref(q);
}

int plugin_main(void);
int plugin_main(void)
{
	static GAsyncQueue *last;

	ran = freed = 0;
	queues();
	threads();
	pools();
	child();
	last = g_async_queue_new();
	g_async_queue_push(last, &ran);
	return g_async_queue_remove(last, &ran);
}
