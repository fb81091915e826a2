/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/late.c - functions that are first called while the loader is locked
 *
 * A thread loads adversary.so, whose constructor calls back and waits until the main thread has
 * called everything once, which must not need the loader for it.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <threads.h>

#include "tests/conformance/case.h"

#define HANG_S 200 /* what takes this long hangs */

extern char **environ;

static atomic_int inside, done;

static void from_constructor(void)
{
	inside = 1;
	while (!done)
		sched_yield();
}

static void *load(void *path)
{
	return dlopen(path, RTLD_NOW);
}

static void locks(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
	pthread_spinlock_t s;
	mtx_t c11;

	begin("mutex");
	DO("trylock", pthread_mutex_trylock(&m));
	DO("unlock", pthread_mutex_unlock(&m));
	DO("lock", pthread_mutex_lock(&m));
	DO("unlock", pthread_mutex_unlock(&m));
	DO("init", mtx_init(&c11, mtx_plain));
	DO("lock", mtx_lock(&c11));
	DO("unlock", mtx_unlock(&c11));
	end();
	begin("rwlock");
	DO("rdlock", pthread_rwlock_rdlock(&l));
	DO("unlock", pthread_rwlock_unlock(&l));
	DO("wrlock", pthread_rwlock_wrlock(&l));
	DO("unlock", pthread_rwlock_unlock(&l));
	end();
	begin("spin lock");
	DO("init", pthread_spin_init(&s, 0));
	DO("lock", pthread_spin_lock(&s));
	DO("unlock", pthread_spin_unlock(&s));
	DO("destroy", pthread_spin_destroy(&s));
	end();
}

static void others(void)
{
	pthread_cond_t c = PTHREAD_COND_INITIALIZER;
	pthread_barrier_t b;
	sem_t s;

	begin("semaphore");
	DO("init", sem_init(&s, 0, 1));
	DO("wait", sem_wait(&s));
	DO("post", sem_post(&s));
	end();
	begin("condition variable");
	DO("signal", pthread_cond_signal(&c));
	DO("broadcast", pthread_cond_broadcast(&c));
	end();
	begin("barrier");
	DO("init", pthread_barrier_init(&b, NULL, 1));
	DO("wait", pthread_barrier_wait(&b));
	end();
}

static int ends_with(pid_t pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

static void children(void)
{
	char *arguments[] = { (char *)"true", NULL };
	pid_t pid = fork();

	if (!pid)
		_exit(3);
	CASE("fork", ends_with(pid));
	pid = _Fork();
	if (!pid)
		_exit(4);
	CASE("_Fork", ends_with(pid));
	begin("spawn");
	DO("spawn", posix_spawnp(&pid, "true", NULL, NULL, arguments, environ));
	DO("wait", ends_with(pid));
	end();
	CASE("system", system("exit 5"));
}

static void signals(void)
{
	sigset_t set;
	int sig = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	begin("signals");
	DO("mask", pthread_sigmask(SIG_BLOCK, &set, NULL));
	DO("kill", pthread_kill(pthread_self(), SIGUSR2));
	DO("pending", sigpending(&set));
	DO("descriptor", close(signalfd(-1, &set, 0)));
	DO("wait", sigwait(&set, &sig));
	add(" %d", sig == SIGUSR2);
	end();
}

static void keys(void)
{
	pthread_key_t key;

	begin("key");
	DO("create", pthread_key_create(&key, free));
	DO("set", pthread_setspecific(key, NULL));
	DO("delete", pthread_key_delete(key));
	DO("atfork", pthread_atfork(NULL, NULL, NULL));
	end();
}

static int walk(struct dl_phdr_info *info, size_t size, void *argument)
{
	(void)info, (void)size, (void)argument;
	inside = 1;
	while (!done)
		sched_yield();
	return 1;
}

static void *walk_modules(void *argument)
{
	dl_iterate_phdr(walk, NULL);
	return argument;
}

/* A dlclose() that unloads nothing, while the list of modules is locked. */
static void close_one_of_two(const char *path)
{
	void *library = dlopen(path, RTLD_NOW), *again = dlopen(path, RTLD_NOW);
	pthread_t t;

	inside = done = 0;
	must(!pthread_create(&t, NULL, walk_modules, NULL), "pthread_create");
	while (!inside)
		sched_yield();
	CASE("close one of two", dlclose(library));
	done = 1;
	must(!pthread_join(t, NULL), "pthread_join");
	CASE("close the other", dlclose(again));
}

int main(int argc, char **argv)
{
	char path[PATH_MAX], program[PATH_MAX - 20], address[32];
	const char *folder;
	void *library = NULL;
	pthread_t t;

	(void)argc;
	alarm(HANG_S);
	snprintf(program, sizeof(program), "%s", argv[0]);
	folder = dirname(program);
	snprintf(path, sizeof(path), "%s/adversary.so", folder);
	snprintf(address, sizeof(address), "%p", (void *)from_constructor);
	setenv("ADVERSARY_CALL", address, 1);
	must(!pthread_create(&t, NULL, load, path), "pthread_create");
	/* By nothing that is ours: these calls are the first. */
	while (!inside)
		sched_yield();
	locks();
	others();
	signals();
	keys();
	children();
	done = 1;
	begin("loaded");
	DO("join", pthread_join(t, &library));
	add(" %d", library != NULL);
	end();
	snprintf(path, sizeof(path), "%s/library.so", folder);
	close_one_of_two(path);
	return 0;
}
