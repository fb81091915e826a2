/* SPDX-License-Identifier: MIT */
/*
 * examples/remote.c - a program that waits for the answers of another one
 *
 * The other program is a shell without the profiler, as if it were on another host: an answer takes
 * it 20 ms and the start of a process. main() asks 25 times, one after the other, and does 1 unit of
 * work with each answer.
 *
 * Critical path: 25 times more than 20 ms blocked in read(), and 25 units of work. With all
 * questions asked at first the waits would overlap.
 */
#include "examples/work.h"

#include <spawn.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#define QUESTIONS 25

/* Start the other program with its input and output in socket @theirs. Return its pid, or -1. */
static pid_t start(int theirs)
{
	char *command[] = { "sh", "-c", "while read question; do sleep 0.02; echo; done", NULL };
	char *environment[] = { "PATH=/usr/bin:/bin", NULL };
	posix_spawn_file_actions_t files;
	pid_t pid;
	int error;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, theirs, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, theirs, STDOUT_FILENO);
	error = posix_spawn(&pid, "/bin/sh", &files, NULL, command, environment);
	posix_spawn_file_actions_destroy(&files);
	return error ? -1 : pid;
}

int main(void)
{
	int ends[2];
	char answer;
	pid_t other;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return 1;
	other = start(ends[1]);
	close(ends[1]);
	for (int i = 0; i < QUESTIONS; i++) {
		if (write(ends[0], "?\n", 2) != 2 || read(ends[0], &answer, 1) != 1)
			return 1;
		work(1);
	}
	close(ends[0]);
	return waitpid(other, NULL, 0) != other;
}
