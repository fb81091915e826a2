/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/streams.c - a program started without standard streams
 *
 *	streams FD	writes what it finds to FD
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "tests/conformance/case.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

static void *work(void *argument)
{
	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int to = argc > 1 ? atoi(argv[1]) : 1, opened[4];

	in_thread(work, NULL);
	for (int fd = 0; fd < 3; fd++)
		dprintf(to, "descriptor %d open: %d\n", fd, fcntl(fd, F_GETFD) >= 0);
	for (int i = 0; i < 4; i++)
		opened[i] = open("/dev/null", O_RDWR);
	for (int i = 0; i < 4; i++)
		dprintf(to, "opened: %d\n", opened[i]);
	in_thread(work, NULL);
	dprintf(to, "stderr: %d\n", fputs("to stderr\n", stderr) >= 0);
	return 7;
}
