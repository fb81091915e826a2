/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/connects_at_once.c - threads of one process connect to a unix socket at the same time
 *
 * connects_at_once N: the server is a process, which N threads accept in. Its queue has room for one, so
 * that other connects are under way. Each client thread, one() to three(), sends messages of so many bytes
 * through connections of its own, and gets them back.
 */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 40
#define CLIENTS	    3

static struct sockaddr_un address = { .sun_family = AF_UNIX };
static socklen_t size;
static int listens, served; /* atomic: connections */

static void must(int good)
{
	if (good)
		return;
	perror("connects_at_once");
	_exit(1);
}

static void *serve(void *unused)
{
	char bytes[CLIENTS];

	(void)unused;
	while (__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED) < CLIENTS * CONNECTIONS) {
		int fd = accept(listens, NULL, NULL);
		ssize_t n;

		must(fd >= 0);
		while ((n = read(fd, bytes, sizeof(bytes))) > 0)
			must(write(fd, bytes, (size_t)n) == n);
		must(n == 0 && close(fd) == 0);
	}
	return NULL;
}

static void server(int threads)
{
	pthread_t thread[8];

	must(threads > 0 && threads <= 8);
	for (int i = 1; i < threads; i++)
		must(pthread_create(&thread[i], NULL, serve, NULL) == 0);
	serve(NULL);
	for (int i = 1; i < threads; i++)
		must(pthread_join(thread[i], NULL) == 0);
	exit(0);
}

static void *client(ssize_t n)
{
	char bytes[CLIENTS] = { 0 };

	for (int i = 0; i < CONNECTIONS; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		must(connect(fd, (struct sockaddr *)&address, size) == 0);
		for (int k = 0; k < 2; k++) {
			must(write(fd, bytes, (size_t)n) == n);
			must(recv(fd, bytes, (size_t)n, MSG_WAITALL) == n);
		}
		must(close(fd) == 0);
	}
	return NULL;
}

static void *one(void *unused)
{
	(void)unused;
	return client(1);
}

static void *two(void *unused)
{
	(void)unused;
	return client(2);
}

static void *three(void *unused)
{
	(void)unused;
	return client(3);
}

int main(int argc, char **argv)
{
	static void *(*const run[CLIENTS])(void *) = { one, two, three };
	pthread_t thread[CLIENTS];
	int status;

	must(argc == 2);
	/* An abstract name, of this process. */
	size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 +
			   (unsigned)snprintf(address.sun_path + 1, sizeof(address.sun_path) - 1,
					      "cpa-connects-%d", (int)getpid()));
	listens = socket(AF_UNIX, SOCK_STREAM, 0);
	must(bind(listens, (struct sockaddr *)&address, size) == 0 && listen(listens, 0) == 0);
	if (fork() == 0)
		server(atoi(argv[1]));
	for (int i = 0; i < CLIENTS; i++)
		must(pthread_create(&thread[i], NULL, run[i], NULL) == 0);
	for (int i = 0; i < CLIENTS; i++)
		must(pthread_join(thread[i], NULL) == 0);
	must(wait(&status) > 0 && status == 0);
	return 0;
}
