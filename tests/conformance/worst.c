/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/worst.c - a program for adversary.so: it does what gives that its moments
 *
 * Every other thread makes threads, forks and ends while the main one does; the adversary runs
 * inside of it all.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define THREADS 4
#define ROUNDS	5

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int count;
static volatile bool stop;

static void *locks(void *argument)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&m);
		count++;
		pthread_mutex_unlock(&m);
	}
	return argument;
}

static int ends_with(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		must(errno == EINTR, "waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* In the child of a fork(): what the parent's other threads had is gone, or as it was. */
static int in_child(void)
{
	pthread_t t;
	int ret;

	pthread_mutex_init(&m, NULL);
	ret = pthread_create(&t, NULL, locks, NULL);
	return ret ? ret : pthread_join(t, NULL) ? 2 : 42;
}

static int fork_once(bool by_exit)
{
	pid_t pid = fork();

	if (pid)
		return ends_with(pid);
	if (by_exit)
		exit(in_child());
	_exit(in_child());
}

/* Makes threads all the time, so that forks of others fall into it. */
static void *make_threads(void *argument)
{
	while (!stop) {
		pthread_t t;

		if (!pthread_create(&t, NULL, locks, NULL))
			pthread_join(t, NULL);
	}
	return argument;
}

static void *forks(void *result)
{
	for (int i = 0; i < ROUNDS; i++)
		*(int *)result += fork_once(i % 2);
	return NULL;
}

static void *leaves(void *argument)
{
	pthread_exit(argument);
}

static void *cancelled(void *argument)
{
	for (;;)
		pause();
	return argument;
}

typedef unsigned long counter(void);

static counter *adversarys(const char *name)
{
	return (counter *)dlsym(RTLD_DEFAULT, name);
}

static unsigned long allocations_of(void (*act)(void))
{
	counter *allocations = adversarys("adversary_allocations");
	unsigned long before;

	act(); /* what is made once */
	before = allocations();
	act();
	return allocations() - before;
}

static void lock_and_join(void)
{
	pthread_t t;

	locks(NULL);
	must(!pthread_create(&t, NULL, locks, NULL), "pthread_create");
	pthread_join(t, NULL);
}

/* library.so lies beside the program: its constructor and destructor make threads. */
static int load_library(const char *program)
{
	char copy[PATH_MAX - 20], path[PATH_MAX];
	void *library;

	snprintf(copy, sizeof(copy), "%s", program);
	snprintf(path, sizeof(path), "%s/library.so", dirname(copy));
	library = dlopen(path, RTLD_NOW);
	return library ? dlclose(library) : -1;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS], maker;
	int results[THREADS] = { 0 }, sum = 0;
	void *ret = NULL;
	unsigned long before;

	(void)argc;
	must(adversarys("adversary_mappings"), "dlsym");
	before = adversarys("adversary_mappings")();
	CASE("fork", fork_once(false));
	CASE("fork, exit", fork_once(true));
	begin("threads");
	for (int i = 0; i < THREADS; i++)
		DO("create", pthread_create(&t[i], NULL, locks, NULL));
	for (int i = 0; i < THREADS; i++)
		DO("join", pthread_join(t[i], NULL));
	add(" count=%d", count);
	end();
	begin("pthread_exit");
	DO("create", pthread_create(&t[0], NULL, leaves, &count));
	DO("join", pthread_join(t[0], &ret));
	add(" %d", ret == &count);
	end();
	begin("cancelled");
	DO("create", pthread_create(&t[0], NULL, cancelled, NULL));
	DO("cancel", pthread_cancel(t[0]));
	DO("join", pthread_join(t[0], &ret));
	add(" %d", ret == PTHREAD_CANCELED);
	end();
	CASE("allocations of the program's malloc", allocations_of(lock_and_join));

	for (int i = 0; i < ROUNDS; i++)
		CASE("library", load_library(argv[0]));
	must(!pthread_create(&maker, NULL, make_threads, NULL), "pthread_create");
	for (int i = 0; i < THREADS; i++)
		must(!pthread_create(&t[i], NULL, forks, &results[i]), "pthread_create");
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	stop = true;
	pthread_join(maker, NULL);
	for (int i = 0; i < THREADS; i++)
		sum += results[i];
	CASE("forks of four threads while another makes threads: sum of statuses", sum);
	CASE("calls of the program's mmap and munmap", adversarys("adversary_mappings")() - before);
	CASE("system", system("exit 5"));
	/* The process ends while threads are made. */
	stop = false;
	must(!pthread_create(&maker, NULL, make_threads, NULL), "pthread_create");
	return 9;
}
