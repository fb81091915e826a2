/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/fork_unload.c - forks while libraries are unloaded
 *
 * With -DLIBRARY the library: it is large, so that it takes long to unmap, and forks in its destructor
 * if $FORKED says where to note that. $1 is what the program does, $2 the library.
 */
#include <dlfcn.h>
#include <iconv.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef LIBRARY

static char large[128 << 20];

int library_function(void)
{
	return large[1];
}

__attribute__((constructor)) static void loaded(void)
{
	if (!getenv("FORKED"))
		memset(large, 1, sizeof(large));
}

__attribute__((destructor)) static void unloaded(void)
{
	const char *where = getenv("FORKED");
	pid_t child = where ? fork() : -1;

	if (!child)
		*(int *)strtoul(where, NULL, 16) = 1;
	else if (child > 0)
		waitpid(child, NULL, 0);
}

#else

#define LOADS  8
#define ROUNDS 400
#define DEPTH  60	  /* a stack of so many pages takes long to read */
#define NAPS   1000	  /* that a call which waits for nobody never takes */
#define WORK   500000000L /* ns of CPU time */

static const char *path;
static int stop, closing; /* atomic */
static void *function;
static pid_t child;

/* Calls fork() with a frame that no table covers; @frame is the next one that its frame pointer names. */
pid_t fork_from(void *frame[2]);
__asm__(".globl fork_from\nfork_from:\n\tpush %rbp\n\tsub $80, %rsp\n\tmov (%rdi), %rax\n"
	"\tmov %rax, 64(%rsp)\n\tmov 8(%rdi), %rax\n\tmov %rax, 72(%rsp)\n\tlea 64(%rsp), %rbp\n"
	"\tcall fork@PLT\n\tadd $80, %rsp\n\tpop %rbp\n\tret\n");

static void *load(void *argument)
{
	for (int i = 0; i < LOADS; i++) {
		void *library = dlopen(path, RTLD_NOW);

		function = dlsym(library, "library_function");
		__atomic_store_n(&closing, 1, __ATOMIC_SEQ_CST);
		dlclose(library);
		__atomic_store_n(&closing, 0, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	return argument;
}

/* A stale address in a library on the stack while that is unmapped. */
static void stale(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, load, NULL);
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		void *frame[2] = { NULL, (char *)function + 4 };

		if (!__atomic_load_n(&closing, __ATOMIC_SEQ_CST))
			continue;
		child = fork_from(frame);
		if (!child)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	pthread_join(thread, NULL);
}

static __attribute__((noinline)) int fork_deep(int depth) /* NOLINT(misc-no-recursion) */
{
	volatile char page[4096];
	pid_t other;

	page[0] = 1;
	if (depth)
		return fork_deep(depth - 1) + page[0];
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		other = fork();
		if (!other)
			_exit(0);
		waitpid(other, NULL, 0);
	}
	return page[0];
}

static void *fork_always(void *argument)
{
	fork_deep(DEPTH);
	return argument;
}

static void forks(int sig)
{
	(void)sig;
	child = fork();
}

/* Exits with 1 if iconv_close() waited. */
static void close_in_child(iconv_t conversion)
{
	struct rusage before, after;

	getrusage(RUSAGE_SELF, &before);
	iconv_close(conversion);
	getrusage(RUSAGE_SELF, &after);
	_exit(after.ru_nvcsw - before.ru_nvcsw >= NAPS);
}

/* Children of a signal handler, of which other threads were reading modules. */
static void in_handler(void)
{
	iconv_t conversion = iconv_open("UTF-8", "UTF-16");
	pthread_t thread[3];
	int status, waited = 0;

	signal(SIGUSR1, forks);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, fork_always, NULL);
	for (int i = 0; i < ROUNDS && !waited; i++) {
		raise(SIGUSR1);
		if (!child)
			close_in_child(conversion);
		waitpid(child, &status, 0);
		waited = status;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	printf("waited: %d\n", waited);
}

__attribute__((noinline)) static void work_of_child(void)
{
	struct timespec now;

	do {
		for (volatile int i = 0; i < 1000000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while (!now.tv_sec && now.tv_nsec < WORK);
}

/* The child of a destructor goes on when the library is gone. */
static void in_destructor(void)
{
	static int forked;
	char where[32];
	void *library;

	snprintf(where, sizeof(where), "%lx", (unsigned long)&forked);
	setenv("FORKED", where, 1);
	library = dlopen(path, RTLD_NOW);
	dlclose(library);
	if (*(volatile int *)&forked)
		work_of_child();
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	path = argv[2];
	if (!strcmp(argv[1], "stale"))
		stale();
	else if (!strcmp(argv[1], "handler"))
		in_handler();
	else
		in_destructor();
	puts("done");
	return 0;
}

#endif
