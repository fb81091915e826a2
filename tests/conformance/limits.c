/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/limits.c - a program that limits its own address space, and still needs some
 */
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define SPACE	(UINT64_C(800) << 20)
#define LARGE	(UINT64_C(400) << 20)
#define THREADS 16

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock(void *argument)
{
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return argument;
}

static void threads(void)
{
	pthread_t thread[THREADS];
	int made = 0;

	while (made < THREADS && !pthread_create(&thread[made], NULL, lock, NULL))
		made++;
	for (int i = 0; i < made; i++)
		pthread_join(thread[i], NULL);
	add(" threads=%d", made);
}

static const struct rlimit limit = { SPACE, SPACE };

static int by_setrlimit(void)
{
	return setrlimit(RLIMIT_AS, &limit);
}

static int by_prlimit(void)
{
	struct rlimit old;

	return prlimit(0, RLIMIT_AS, &limit, &old);
}

static int by_system_call(void)
{
	return (int)syscall(SYS_prlimit64, getpid(), RLIMIT_AS, &limit, NULL);
}

static void limited(const char *how, int (*confine)(void))
{
	void *large;

	begin("%s", how);
	DO("set", confine());
	threads();
	large = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	add(" large=%d", large != MAP_FAILED);
	munmap(large, LARGE);
	end();
}

static void in_child(const char *how, int (*confine)(void))
{
	pid_t pid = fork();

	if (!pid) {
		limited(how, confine);
		_exit(0);
	}
	must(pid > 0 && waitpid(pid, NULL, 0) == pid, "child");
}

int main(void)
{
	lock(NULL);
	in_child("setrlimit, in a child", by_setrlimit);
	in_child("prlimit, in a child", by_prlimit);
	in_child("a system call, in a child", by_system_call);
	CASE("bad address", prlimit(0, RLIMIT_AS, (const struct rlimit *)1, NULL));
	limited("setrlimit", by_setrlimit);
	limited("and again", by_setrlimit);
	return 0;
}
