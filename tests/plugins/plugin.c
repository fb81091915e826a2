/* SPDX-License-Identifier: MIT */
/*
 * tests/plugins/plugin.c - a library that locks, and has a thread work, by names of its own
 *
 * Built several times, with -DNAME=...: all have the same variables and functions at the same
 * places, only their names differ.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define OWN(what)   JOIN(NAME, what)

static pthread_mutex_t OWN(lock) = PTHREAD_MUTEX_INITIALIZER;
static long OWN(sum);

static __attribute__((noinline)) void OWN(burn)(long times)
{
	for (volatile long i = 0; i < times; i++)
		;
}

/* What the sampler is to find is computed in here. */
static void *OWN(work)(void *argument)
{
	for (long i = 0; i < *(long *)argument; i++) {
		pthread_mutex_lock(&OWN(lock));
		OWN(sum) += i;
		OWN(burn)(1000);
		pthread_mutex_unlock(&OWN(lock));
	}
	return NULL;
}

/* As often as @times, at once in the caller and in a thread. */
long plugin_run(long times);
long plugin_run(long times)
{
	pthread_t t;

	if (pthread_create(&t, NULL, OWN(work), &times))
		return -1;
	OWN(work)(&times);
	pthread_join(t, NULL);
	return OWN(sum);
}

/* Whether this library, by its own RUNPATH, finds @file. */
int plugin_finds(const char *file);
int plugin_finds(const char *file)
{
	void *other = dlopen(file, RTLD_NOW);

	return other ? !dlclose(other) : 0;
}
