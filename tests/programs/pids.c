/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/pids.c - pids that are used again
 *
 *	pids reuse FIRST SECOND | pids parent | pids outside HOW | pids burn UNITS
 *
 * Children are waited for by the C library's own syscall(), which the profiler does not see, so that of what they were
 * only a row of the session is left; then one gets the pid of the one before. To choose it takes a pid namespace of
 * its own, and root. FIRST and SECOND are fork, vfork or spawn: how they are made. What is printed
 * is the critical path in units of CPU time, as of tests/programs/process_tree.c; on standard
 * error, how many seconds it has of sleeping until the first one has gone.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define UNIT_MS 20
#define LOOK_US 1000

extern char **environ;

static const char *own;

static void burn(unsigned units)
{
	burn_ms((int)units * UNIT_MS);
}

static pid_t by_spawn(char *const argv[], char *const envp[])
{
	pid_t pid;

	if (posix_spawn(&pid, argv[0], NULL, NULL, argv, envp))
		exit(8);
	return pid;
}

static pid_t by_vfork(char *const argv[], char *const envp[])
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/no/such", argv, envp);
		execve(argv[0], argv, envp);
		_exit(1);
	}
	return pid;
}

static pid_t by_fork(char *const argv[], char *const envp[])
{
	pid_t pid = fork();

	if (pid == 0) {
		execve(argv[0], argv, envp);
		_exit(1);
	}
	return pid;
}

static const struct how {
	const char *name;
	pid_t (*make)(char *const argv[], char *const envp[]);
} hows[] = { { "fork", by_fork }, { "vfork", by_vfork }, { "spawn", by_spawn } };

static const struct how *how_of(const char *name)
{
	for (size_t i = 0; i < sizeof(hows) / sizeof(*hows); i++)
		if (name && !strcmp(name, hows[i].name))
			return &hows[i];
	exit(2);
}

static double clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Until nobody has @pid. Not by kill() with SIGCHLD ignored: since Linux 6.15 a process that nobody
 * waits for cannot be found any more a moment before its number is free.
 */
static void await_gone(pid_t pid)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	long (*call)(long number, ...);
	double begin = clock_s();

	*(void **)&call = libc ? dlsym(libc, "syscall") : NULL;
	if (!call)
		exit(4);
	while (call(SYS_wait4, pid, NULL, WNOHANG, NULL) != pid)
		usleep(LOOK_US);
	fprintf(stderr, "%.6f\n", clock_s() - begin);
}

/* The next process gets @pid. */
static void choose(pid_t pid)
{
	int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);

	if (fd < 0 || dprintf(fd, "%d", (int)pid - 1) < 0)
		exit(7);
	close(fd);
}

static void await(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(9);
}

/* One that joins nothing ends, and the next one has its pid. */
static unsigned reuse(const struct how *first, const struct how *second)
{
	char *const quick[] = { (char *)own, "burn", "0", NULL }, *const none[] = { NULL };
	char *const work[] = { (char *)own, "burn", "4", NULL };
	pid_t old, new;

	burn(1);
	old = first->make(quick, none);
	await_gone(old);
	burn(5); /* the kernel tells in 10 ms when a process began */
	choose(old);
	new = second->make(work, environ);
	if (new != old)
		exit(6);
	await(new);
	burn(1);
	return 1 + 5 + 4 + 1;
}

/* The child is the first of a pid namespace; as its parent may be, of another. */
static unsigned outside(const struct how *how)
{
	char *const work[] = { (char *)own, "burn", "4", NULL };

	burn(1);
	if (unshare(CLONE_NEWPID))
		exit(5);
	await(how->make(work, environ));
	burn(3);
	return 1 + 3;
}

/* The pid is that of a process that makes others. */
static unsigned parent(void)
{
	char *const work[] = { (char *)own, "burn", "4", NULL };
	pid_t old, new;

	burn(1);
	old = fork();
	if (old == 0)
		_exit(0);
	await_gone(old);
	burn(3);
	choose(old);
	new = fork();
	if (new == 0) {
		char command[4096];

		burn(2);
		snprintf(command, sizeof(command), "exec %s burn 4", own);
		if (system(command))
			_exit(1);
		await(by_spawn(work, environ));
		_exit(0);
	}
	if (new != old)
		exit(6);
	await(new);
	return 1 + 3 + 2 + 4 + 4;
}

int main(int argc, char **argv)
{
	own = argv[0];
	if (argc == 4 && !strcmp(argv[1], "reuse"))
		printf("%u\n", reuse(how_of(argv[2]), how_of(argv[3])));
	else if (argc == 3 && !strcmp(argv[1], "outside"))
		printf("%u\n", outside(how_of(argv[2])));
	else if (argc == 2 && !strcmp(argv[1], "parent"))
		printf("%u\n", parent());
	else if (argc == 3 && !strcmp(argv[1], "burn"))
		burn((unsigned)atoi(argv[2]));
	else
		return 2;
	return 0;
}
