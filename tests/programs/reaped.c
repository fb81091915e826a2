/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/reaped.c - children whose end is told in unusual ways
 *
 *	cancelled	system() is cancelled while its child waits
 *	leaving		system() is cancelled while its child ends: its profile has ended
 *	closed		streams of popen() are closed by fclose(), and one by pclose(), whose child exits with 5
 *	several		threads in system() at once; each child exits with the number in its argument
 *	syscall		children that exit with 5 and 6 are waited for by syscall()
 *	late		a child of vfork() waits before it becomes another program, when there is a mark
 *	unseen		during a system() whose child is in no session and exits with 3, a child of fork() exits with 7,
 *			and is waited for by a function that nobody sees
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "preload/cpa.h"

static int there[2], go_on[2]; /* the child's ends have the numbers 3 and 4 */

static void *run(void *command)
{
	static int status;

	status = system(command);
	return &status;
}

static pid_t child(int status)
{
	pid_t pid = fork();

	if (!pid)
		_exit(status);
	return pid;
}

static void stay(void)
{
	char byte = 0;

	if (write(3, &byte, 1) == 1)
		pause();
}

/* A program whose profile ends before it waits. */
static int leave(void)
{
	at_quick_exit(stay);
	quick_exit(5);
}

static int cancelled(char *command)
{
	pthread_t thread;
	void *result;
	char byte;

	if (pthread_create(&thread, NULL, run, command))
		return 1;
	if (read(there[0], &byte, 1) != 1)
		return 1;
	pthread_cancel(thread);
	pthread_join(thread, &result);
	return result != PTHREAD_CANCELED;
}

enum { THREADS = 4, ROUNDS = 12 };

static const char *own;

static void *run_many(void *first)
{
	char command[256];

	for (int i = 0; i < ROUNDS; i++) {
		int status = *(int *)first + i;

		snprintf(command, sizeof(command), "exec %s with%d", own, status);
		if (WEXITSTATUS(system(command)) != status)
			_exit(1);
	}
	return NULL;
}

static int several(void)
{
	pthread_t thread[THREADS];
	int first[THREADS];

	for (int i = 0; i < THREADS; i++) {
		first[i] = 1 + i * ROUNDS;
		if (pthread_create(&thread[i], NULL, run_many, &first[i]))
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return 0;
}

/* With the C library it waits, too. Compilers warn of it. */
static int (*volatile close_file)(FILE *) = fclose;

static int closed(void)
{
	FILE *stream;

	for (int i = 0; i < 3; i++) {
		stream = popen("exit 4", "r");
		if (!stream || WEXITSTATUS(close_file(stream)) != 4)
			return 1;
	}
	stream = popen("exit 5", "r");
	return !stream || WEXITSTATUS(pclose(stream)) != 5;
}

static int by_syscall(void)
{
	siginfo_t info = { 0 };
	pid_t first = child(5), second = child(6);
	int status = 0;

	if (syscall(SYS_wait4, first, &status, 0, NULL) != first || WEXITSTATUS(status) != 5)
		return 1;
	return syscall(SYS_waitid, P_PID, second, &info, WEXITED, NULL) || info.si_status != 6;
}

static const char *fifos; /* a folder */

static int open_fifo(const char *name, int how)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fifos, name);
	return (int)syscall(SYS_openat, AT_FDCWD, path, how, 0);
}

static void *mark(void *nothing)
{
	if (open_fifo("is_there", O_RDONLY) < 0) /* waits for the child */
		_exit(1);
	CPA_MARK("made");
	if (open_fifo("goes_on", O_WRONLY) < 0)
		_exit(1);
	return nothing;
}

static int late(void)
{
	pthread_t thread;
	int status;
	pid_t pid;

	if (pthread_create(&thread, NULL, mark, NULL))
		return 1;
	pid = vfork();
	if (!pid) {
		if (open_fifo("is_there", O_WRONLY) < 0 || open_fifo("goes_on", O_RDONLY) < 0)
			_exit(1);
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	pthread_join(thread, NULL);
	return waitpid(pid, &status, 0) != pid || status;
}

static int unseen(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	pid_t (*wait_unseen)(pid_t, int *, int);
	pthread_t thread;
	int status;
	void *result;
	char byte;
	pid_t pid;

	*(void **)&wait_unseen = libc ? dlsym(libc, "waitpid") : NULL;
	unsetenv("LD_PRELOAD");
	if (!wait_unseen || pthread_create(&thread, NULL, run, "echo >&3; read x <&4; exit 3"))
		return 1;
	if (read(there[0], &byte, 1) != 1)
		return 1;
	pid = child(7);
	if (wait_unseen(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		return 1;
	if (write(go_on[1], "\n", 1) != 1)
		return 1;
	pthread_join(thread, &result);
	return WEXITSTATUS(*(int *)result) != 3;
}

int main(int argc, char **argv)
{
	char command[256];

	if (argc == 2 && !strcmp(argv[1], "leave"))
		return leave();
	if (argc == 2 && !strncmp(argv[1], "with", 4))
		return atoi(argv[1] + 4);
	own = argv[0];
	if (argc == 2 && !strcmp(argv[1], "several"))
		return several();
	if (argc == 2 && !strcmp(argv[1], "closed"))
		return closed();
	if (pipe(there) || pipe(go_on) || dup2(there[1], 30) < 0 || dup2(go_on[0], 31) < 0 ||
	    argc < 2)
		return 1;
	there[0] = dup2(there[0], 20);
	go_on[1] = dup2(go_on[1], 21);
	if (dup2(30, 3) < 0 || dup2(31, 4) < 0)
		return 1;
	if (!strcmp(argv[1], "cancelled"))
		return cancelled("echo >&3; read x <&4");
	if (!strcmp(argv[1], "leaving")) {
		snprintf(command, sizeof(command), "exec %s leave", argv[0]);
		return cancelled(command);
	}
	if (!strcmp(argv[1], "late")) {
		fifos = argv[2];
		return late();
	}
	return !strcmp(argv[1], "syscall") ? by_syscall() : unseen();
}
