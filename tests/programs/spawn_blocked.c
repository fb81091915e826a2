/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/spawn_blocked.c - a thread is blocked in posix_spawn(), or vfork(), for 0.1 s and more
 *
 * The argument says which. Both return when the child has called exec(), or ended. Before that it waits
 * for the other thread, twice: when the first wait has ended the child is there, and its parent is
 * blocked until the second one ends, 0.1 s later.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BLOCKED_NS 100000000

static char folder[] = "/tmp/cpa-spawn.XXXXXX";
static char begun[64], goes_on[64];
static bool by_vfork;

static pid_t spawn(void)
{
	char program[] = "/bin/true";
	char *argv[] = { program, NULL }, *envp[] = { NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 3, begun, O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 4, goes_on, O_RDONLY, 0);
	if (posix_spawn(&pid, program, &actions, NULL, argv, envp))
		exit(1);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static pid_t fork_and_wait(void)
{
	pid_t pid = vfork();

	if (pid)
		return pid;
	syscall(SYS_openat, AT_FDCWD, begun, O_WRONLY);
	syscall(SYS_openat, AT_FDCWD, goes_on, O_RDONLY);
	_exit(0);
}

static void *start(void *unused)
{
	pid_t pid = by_vfork ? fork_and_wait() : spawn();

	if (waitpid(pid, NULL, 0) != pid)
		exit(1);
	return unused;
}

int main(int argc, char **argv)
{
	const struct timespec blocked = { .tv_nsec = BLOCKED_NS };
	pthread_t thread;
	int first, second;

	by_vfork = argc > 1 && !strcmp(argv[1], "vfork");
	if (!mkdtemp(folder))
		return 1;
	snprintf(begun, sizeof(begun), "%s/begun", folder);
	snprintf(goes_on, sizeof(goes_on), "%s/goes-on", folder);
	if (mkfifo(begun, 0600) || mkfifo(goes_on, 0600) ||
	    pthread_create(&thread, NULL, start, NULL))
		return 1;
	first = open(begun, O_RDONLY);
	nanosleep(&blocked, NULL);
	second = open(goes_on, O_WRONLY);
	pthread_join(thread, NULL);
	unlink(begun);
	unlink(goes_on);
	rmdir(folder);
	return first < 0 || second < 0;
}
