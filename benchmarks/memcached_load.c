/* SPDX-License-Identifier: MIT */
/*
 * benchmarks/memcached_load.c - keep a memcached server busy
 *
 *	memcached_load PORT ROUNDS [batch]
 *
 * In a round each of some connections sends DEPTH sets and gets in one packet and waits for the
 * answers: always the same requests, whatever the server's speed. memcached answers each by a
 * system call; a batch of sets that want no answer and one get of all keys saves those, and shows
 * the server's locks alone. Exits with 1 if an answer is wrong.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNECTIONS 8
#define DEPTH	    50
#define VALUE	    "12345678\r\n"
#define SIZE	    8192

static int port, rounds;
static bool batch;

static int connect_server(void)
{
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), yes = 1;

	server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || connect(fd, (struct sockaddr *)&server, sizeof(server)))
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	return fd;
}

static size_t append(char *text, size_t used, const char *format, int connection, int key)
{
	int n = snprintf(text + used, used < SIZE ? SIZE - used : 0, format, connection, key);

	return used + (size_t)n;
}

/* What one connection asks in a round, and what answers it. Return false if there is no room. */
static bool compose(int connection, char *request, char *answer)
{
	size_t asked = 0, answered = 0;

	for (int i = 0; i < DEPTH; i++) {
		asked = append(request, asked,
			       batch ? "set k%d.%d 0 0 8 noreply\r\n" VALUE :
				       "set k%d.%d 0 0 8\r\n" VALUE,
			       connection, i);
		if (!batch)
			asked = append(request, asked, "get k%d.%d\r\n", connection, i);
		answered = append(answer, answered,
				  batch ? "VALUE k%d.%d 0 8\r\n" VALUE :
					  "STORED\r\nVALUE k%d.%d 0 8\r\n" VALUE "END\r\n",
				  connection, i);
	}
	for (int i = 0; batch && i < DEPTH; i++)
		asked = append(request, asked, i ? " k%d.%d" : "get k%d.%d", connection, i);
	if (asked + sizeof("\r\n") > SIZE || answered + sizeof("END\r\n") > SIZE)
		return false;
	if (batch) {
		strcpy(request + asked, "\r\n");
		strcpy(answer + answered, "END\r\n");
	}
	return true;
}

static void *client(void *argument)
{
	static char wrong[] = "wrong";
	char request[SIZE], answer[SIZE], got[SIZE];
	int fd = connect_server();

	if (fd < 0 || !compose((int)(intptr_t)argument, request, answer))
		return wrong;
	for (int i = 0; i < rounds; i++) {
		size_t want = strlen(answer), have = 0;
		ssize_t n = write(fd, request, strlen(request));

		while (n > 0 && have < want) {
			n = read(fd, got + have, want - have);
			have += n > 0 ? (size_t)n : 0;
		}
		if (have != want || memcmp(got, answer, want) != 0)
			return wrong;
	}
	close(fd);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[CONNECTIONS];
	int status = 0;

	if (argc < 3)
		return 2;
	batch = argc > 3;
	port = atoi(argv[1]);
	rounds = atoi(argv[2]);
	for (intptr_t i = 0; i < CONNECTIONS; i++)
		if (pthread_create(&thread[i], NULL, client, (void *)i))
			return 1;
	for (int i = 0; i < CONNECTIONS; i++) {
		void *result = NULL;

		pthread_join(thread[i], &result);
		status |= result != NULL;
	}
	return status;
}
