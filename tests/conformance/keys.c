/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/keys.c - thread-specific keys: all that there may be, and none that nobody made
 */
#include <limits.h>
#include <threads.h>

#include "tests/conformance/case.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t keys[PTHREAD_KEYS_MAX + 1];
static int destroyed;

static void destroy(void *value)
{
	pthread_mutex_lock(&m);
	destroyed += value == keys;
	pthread_mutex_unlock(&m);
}

static unsigned make_all(void)
{
	unsigned n = 0;

	while (n <= PTHREAD_KEYS_MAX && !pthread_key_create(&keys[n], destroy))
		n++;
	return n;
}

static void delete_all(unsigned n)
{
	while (n)
		pthread_key_delete(keys[--n]);
}

static void *set_all(void *count)
{
	for (unsigned i = 0; i < *(unsigned *)count; i++)
		if (pthread_getspecific(keys[i]) || pthread_setspecific(keys[i], keys))
			return NULL;
	return count;
}

static void *set_all_and_exit(void *count)
{
	pthread_exit(set_all(count));
}

static void *wait_and_set(void *barrier)
{
	unsigned n = PTHREAD_KEYS_MAX;

	pthread_barrier_wait(barrier);
	pthread_barrier_wait(barrier);
	return set_all(&n);
}

static void in_thread_of(const char *name, void *(*routine)(void *), unsigned n)
{
	void *ret = NULL;
	pthread_t t;

	destroyed = 0;
	must(!pthread_create(&t, NULL, routine, &n), "pthread_create");
	must(!pthread_join(t, &ret), "pthread_join");
	begin("%s", name);
	add(" set=%d destroyed=%d", ret != NULL, destroyed);
	end();
}

int main(void)
{
	pthread_barrier_t barrier;
	pthread_t early;
	void *ret = NULL;
	tss_t key;
	unsigned n;

	CASE("set key 0, never made", tss_set(0, keys) == thrd_success);
	CASE("key 0, never made", tss_get(0) != NULL);
	CASE("delete key 0, never made", pthread_key_delete(0));
	begin("first");
	DO("create", pthread_key_create(&keys[0], NULL));
	add(" number=%u", keys[0]);
	DO("delete", pthread_key_delete(keys[0]));
	end();
	begin("C11");
	DO("create", tss_create(&key, NULL));
	add(" number=%u", key);
	tss_delete(key);
	end();

	pthread_barrier_init(&barrier, NULL, 2);
	must(!pthread_create(&early, NULL, wait_and_set, &barrier), "pthread_create");
	pthread_barrier_wait(&barrier);
	n = make_all();
	CASE("keys that there may be", n);
	CASE("one more", tss_create(&key, NULL) == thrd_success);
	pthread_barrier_wait(&barrier);
	must(!pthread_join(early, &ret), "pthread_join");
	begin("a thread that was there before");
	add(" set=%d destroyed=%d", ret != NULL, destroyed);
	end();
	in_thread_of("a thread", set_all, n);
	in_thread_of("a thread that ends by pthread_exit()", set_all_and_exit, n);
	delete_all(n);
	n = make_all();
	CASE("keys, again", n);
	in_thread_of("a thread, again", set_all, n);
	delete_all(n);
	return 0;
}
