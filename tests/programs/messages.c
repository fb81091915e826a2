/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/messages.c - requests and answers between two processes, over a slower network
 *
 *	messages pipe|unix|tcp ROUNDS WORK_US BYTES DELAY_US
 *
 * Each side works so long, of its own CPU time, and sends so many bytes; the other one uses them no
 * earlier than DELAY_US after they were sent, as if they had been under way. The last line is
 * "seconds S": from the first request to the last answer.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES_MAX 65536

static long rounds, work_us, bytes, delay_us;

static void must(int ok)
{
	if (!ok)
		exit(9);
}

static int64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void work(void)
{
	int64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_us * 1000;

	while (work_us && clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void send_one(int to)
{
	static char message[BYTES_MAX];
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	memcpy(message, &now, sizeof(now));
	must(write(to, message, (size_t)bytes) == bytes);
}

static void receive(int from)
{
	static char message[BYTES_MAX];
	int64_t sent;
	long got = 0;

	while (got < bytes) {
		ssize_t n = read(from, message + got, (size_t)(bytes - got));

		must(n > 0);
		got += n;
	}
	memcpy(&sent, message, sizeof(sent));
	sent += delay_us * 1000;
	while (delay_us && clock_ns(CLOCK_MONOTONIC) < sent) {
		struct timespec until = { sent / 1000000000, sent % 1000000000 };

		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	}
}

/* Ends of a connection: what the client and the server read from and write to. */
struct ends {
	int client_in, client_out, server_in, server_out;
};

static struct ends by_pipes(void)
{
	int there[2], back[2];

	must(pipe(there) == 0 && pipe(back) == 0);
	return (struct ends){ back[0], there[1], there[0], back[1] };
}

static struct ends by_unix(void)
{
	int pair[2];

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	return (struct ends){ pair[0], pair[0], pair[1], pair[1] };
}

static struct ends by_tcp(void)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int listens = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	int server, one = 1;

	must(bind(listens, (struct sockaddr *)&address, size) == 0 && listen(listens, 1) == 0);
	must(getsockname(listens, (struct sockaddr *)&address, &size) == 0);
	must(connect(client, (struct sockaddr *)&address, size) == 0);
	server = accept(listens, NULL, NULL);
	must(server >= 0);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return (struct ends){ client, client, server, server };
}

static void serve(const struct ends *ends)
{
	for (long i = 0; i < rounds; i++) {
		receive(ends->server_in);
		work();
		send_one(ends->server_out);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	struct ends ends;
	int64_t begun;
	int status;

	must(argc == 6);
	rounds = atol(argv[2]);
	work_us = atol(argv[3]);
	bytes = atol(argv[4]);
	delay_us = atol(argv[5]);
	must(bytes >= (long)sizeof(int64_t) && bytes <= BYTES_MAX);
	prctl(PR_SET_TIMERSLACK, 1);
	ends = !strcmp(argv[1], "pipe") ? by_pipes() :
	       !strcmp(argv[1], "unix") ? by_unix() :
					  by_tcp();
	if (fork() == 0)
		serve(&ends);
	begun = clock_ns(CLOCK_MONOTONIC);
	for (long i = 0; i < rounds; i++) {
		work();
		send_one(ends.client_out);
		receive(ends.client_in);
	}
	printf("seconds %.9f\n", (double)(clock_ns(CLOCK_MONOTONIC) - begun) * 1e-9);
	must(wait(&status) > 0 && status == 0);
	return 0;
}
