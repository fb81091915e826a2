/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_sockets.h - the cases of streams.c with sockets
 *
 * Connected pairs, TCP and unix names, connections that are waited for, packets and datagrams.
 */
#ifndef CPA_TESTS_PROGRAMS_STREAM_SOCKETS_H
#define CPA_TESTS_PROGRAMS_STREAM_SOCKETS_H

#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include "tests/programs/stream_work.h"

static void ask(int fd)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(send(fd, "ask", 3, 0) == 3);
		must(recv(fd, (char[4]){ 0 }, 4, MSG_WAITALL) == 4);
	}
	close(fd);
}

static void answer(int fd)
{
	char bytes[8];

	while (read(fd, bytes, sizeof(bytes)) == 3) {
		struct iovec parts[2] = { { "an", 2 }, { "sw", 2 } };

		burn(2);
		must(writev(fd, parts, 2) == 4);
	}
}

static int socket_pair(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHILD(close(ends[0]); answer(ends[1]));
	close(ends[1]);
	ask(ends[0]);
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static ssize_t read_at_any(int fd, void *bytes, size_t n, unsigned i)
{
	struct iovec part = { bytes, n };

	return i % 2 ? preadv2(fd, &part, 1, -1, 0) : preadv64v2(fd, &part, 1, -1, 0);
}

static ssize_t write_at_any(int fd, const void *bytes, size_t n, unsigned i)
{
	struct iovec part = { (void *)bytes, n };

	return i % 2 ? pwritev2(fd, &part, 1, -1, 0) : pwritev64v2(fd, &part, 1, -1, 0);
}

/* Calls that take an offset, which is none. */
static int no_offset(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHILD(for (unsigned i = 0; i < ROUNDS; i++) {
		must(read_at_any(ends[1], (char[4]){ 0 }, 4, i) == 3);
		burn(2);
		must(write_at_any(ends[1], "answ", 4, i) == 4);
	});
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(write_at_any(ends[0], "ask", 3, i) == 3);
		must(read_at_any(ends[0], (char[8]){ 0 }, 8, i) == 4);
	}
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* A server with a client in a child. */
static void serve(int server, const struct sockaddr *address, socklen_t size)
{
	int accepted;

	CHILD(int fd = socket(address->sa_family, SOCK_STREAM, 0);
	      must(!connect(fd, address, size)); ask(fd));
	accepted = accept(server, NULL, NULL);
	must(accepted >= 0);
	answer(accepted);
	reap();
}

/* Connect to @to, where a server listens at @at. */
static int tcp_between(uint32_t at, uint32_t to)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(at) };
	socklen_t size = sizeof(address);
	int server = socket(AF_INET, SOCK_STREAM, 0);

	must(!bind(server, (struct sockaddr *)&address, size) && !listen(server, 5));
	must(!getsockname(server, (struct sockaddr *)&address, &size));
	address.sin_addr.s_addr = htonl(to);
	serve(server, (struct sockaddr *)&address, size);
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static int tcp(void)
{
	return tcp_between(INADDR_LOOPBACK, INADDR_LOOPBACK);
}

/* The kernel gives the client the first address of the machine's loopback. */
static int tcp_to_other(void)
{
	return tcp_between(INADDR_LOOPBACK + 1, INADDR_LOOPBACK + 1);
}

static int tcp_to_any(void)
{
	return tcp_between(INADDR_ANY, INADDR_LOOPBACK + 2);
}

/* A socket that listens at @address, whose port is chosen; -1: there is no IPv6. */
static int listen6(struct sockaddr_in6 *address)
{
	socklen_t size = sizeof(*address);
	int server = socket(AF_INET6, SOCK_STREAM, 0);

	if (bind(server, (struct sockaddr *)address, size))
		return -1;
	must(!listen(server, 5));
	must(!getsockname(server, (struct sockaddr *)address, &size));
	return server;
}

static int tcp6(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback };
	int server = listen6(&address);

	if (server < 0)
		return 77;
	serve(server, (struct sockaddr *)&address, sizeof(address));
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* An address of the machine beside those of its loopback; 0: it has none. */
static struct in_addr own_address(void)
{
	struct ifreq all[16];
	struct ifconf list = { .ifc_len = sizeof(all), .ifc_req = all };
	struct sockaddr_in in;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	must(!ioctl(fd, SIOCGIFCONF, &list));
	close(fd);
	for (size_t i = 0; i < (size_t)list.ifc_len / sizeof(all[0]); i++) {
		memcpy(&in, &all[i].ifr_addr, sizeof(in));
		if (ntohl(in.sin_addr.s_addr) >> 24 != IN_LOOPBACKNET)
			return in.sin_addr;
	}
	return (struct in_addr){ 0 };
}

/* From an address of loopback to another one of the machine. */
static int tcp_to_own(void)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr = own_address() };
	socklen_t size = sizeof(to);
	int server = socket(AF_INET, SOCK_STREAM, 0), accepted;

	if (!to.sin_addr.s_addr)
		return 77;
	must(!bind(server, (struct sockaddr *)&to, size) && !listen(server, 5));
	must(!getsockname(server, (struct sockaddr *)&to, &size));
	CHILD(int fd = socket(AF_INET, SOCK_STREAM, 0);
	      must(!bind(fd, (struct sockaddr *)&from, size));
	      must(!connect(fd, (struct sockaddr *)&to, size)); ask(fd));
	accepted = accept(server, NULL, NULL);
	must(accepted >= 0);
	answer(accepted);
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* A server of both families, and a client of the old one. */
static int tcp_mapped(void)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_addr = in6addr_any };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
	int server = listen6(&address);

	if (server < 0)
		return 77;
	to.sin_port = address.sin6_port;
	serve(server, (struct sockaddr *)&to, sizeof(to));
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* By an abstract name, which no file has. */
static int unix_name(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(sa_family_t);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);

	size += 1 + (socklen_t)sprintf(address.sun_path + 1, "cpa-streams-%d", getpid());
	must(!bind(server, (struct sockaddr *)&address, size) && !listen(server, 5));
	serve(server, (struct sockaddr *)&address, size);
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static void *sleeps(void *argument)
{
	pause();
	return argument;
}

/*
 * By the relative path and the absolute one of a file, in processes with threads. There are as many
 * connections as rounds, of which the server takes the second before it has read the first.
 */
static void ask_by_path(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd[ROUNDS];
	pthread_t t;

	must(!pthread_create(&t, NULL, sleeps, NULL));
	strcpy(address.sun_path, path);
	for (unsigned i = 0; i < ROUNDS; i++) {
		fd[i] = socket(AF_UNIX, SOCK_STREAM, 0);
		must(!connect(fd[i], (struct sockaddr *)&address, sizeof(address)));
	}
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(write(fd[i], "ask", 3) == 3);
		must(recv(fd[i], (char[4]){ 0 }, 4, MSG_WAITALL) == 4);
		close(fd[i]);
	}
}

static int unix_path(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char folder[] = "/tmp/cpa-streams.XXXXXX", path[sizeof(folder) + 2];
	int server = socket(AF_UNIX, SOCK_STREAM, 0), accepted[ROUNDS];
	pthread_t t;

	must(mkdtemp(folder) && !chdir(folder));
	sprintf(path, "%s/a", folder);
	address.sun_path[0] = 'a';
	must(!bind(server, (struct sockaddr *)&address, sizeof(address)) && !listen(server, 5));
	CHILD(ask_by_path(path));
	must(!pthread_create(&t, NULL, sleeps, NULL));
	for (unsigned i = 0; i < ROUNDS; i++)
		accepted[i] = accept(server, NULL, NULL);
	for (unsigned i = 0; i < ROUNDS; i++)
		answer(accepted[i]);
	reap();
	must(!unlink(path) && !rmdir(folder));
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* Who accepts depends on who connects. @await waits until somebody did. */
static int connects(int domain, void (*await)(int server))
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY) };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr *address = domain == AF_INET ? (struct sockaddr *)&in :
						       (struct sockaddr *)&un;
	socklen_t size = sizeof(in);
	int server = socket(domain, SOCK_STREAM, 0), fd;

	if (domain == AF_UNIX)
		size = sizeof(sa_family_t) + 1 +
		       (socklen_t)sprintf(un.sun_path + 1, "cpa-connects-%d", getpid());
	must(!bind(server, address, size) && !listen(server, 5));
	must(!getsockname(server, address, &size));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHILD(burn(3); fd = socket(domain, SOCK_STREAM, 0); must(!connect(fd, address, size));
	      burn(1));
	await(server);
	must(accept(server, NULL, NULL) >= 0);
	burn(4);
	reap();
	return report(3 + 4, 3 + 1 + 4);
}

static void no_wait(int server)
{
	(void)server;
}

static void wait_by_poll(int server)
{
	struct pollfd p = { server, POLLIN, 0 };

	must(poll(&p, 1, -1) == 1);
}

static int connect_tcp(void)
{
	return connects(AF_INET, no_wait);
}

static int connect_unix(void)
{
	return connects(AF_UNIX, no_wait);
}

static int connect_poll(void)
{
	return connects(AF_INET, wait_by_poll);
}

/* The queue has room for one connection: the second waits until the first was accepted. */
static int backlog(void)
{
	volatile int *asks = shared_number();
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(sa_family_t) + 1;
	int server = socket(AF_UNIX, SOCK_STREAM, 0);

	size += (socklen_t)sprintf(address.sun_path + 1, "cpa-backlog-%d", getpid());
	must(!bind(server, (struct sockaddr *)&address, size) && !listen(server, 0));
	CHILD(for (unsigned i = 0; i < 2; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);

		*asks = i ? getpid() : 0;
		must(!connect(fd, (struct sockaddr *)&address, size));
	} burn(3));
	await_asleep(asks);
	burn(4);
	must(accept(server, NULL, NULL) >= 0 && accept(server, NULL, NULL) >= 0);
	burn(1);
	reap();
	return report(4 + 3, 4 + 3 + 1);
}

/* Messages of different lengths; one of no bytes at the end. */
static void ask_messages(int fd)
{
	char bytes[16];

	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(send(fd, "question", 1 + i, 0) == 1 + i);
		must(recv(fd, bytes, sizeof(bytes), 0) == 4);
	}
	must(send(fd, "", 0, 0) == 0);
}

static void answer_messages(int fd)
{
	char bytes[16];

	while (recv(fd, bytes, sizeof(bytes), 0) > 0) {
		burn(2);
		must(send(fd, "answ", 4, 0) == 4);
	}
}

static int messages(int type)
{
	int ends[2];

	must(!socketpair(AF_UNIX, type, 0, ends));
	CHILD(answer_messages(ends[1]));
	ask_messages(ends[0]);
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static int packets(void)
{
	return messages(SOCK_SEQPACKET);
}

static int datagrams(void)
{
	return messages(SOCK_DGRAM);
}

/* Two sockets that are bound, and send to each other's address. */
static int by_address(struct sockaddr *a, struct sockaddr *b, socklen_t size)
{
	int one = socket(a->sa_family, SOCK_DGRAM, 0), two = socket(a->sa_family, SOCK_DGRAM, 0);
	char bytes[16];

	if (bind(one, a, size) || bind(two, b, size))
		return 77;
	must(!getsockname(one, a, &size) && !getsockname(two, b, &size));
	CHILD(must(!connect(two, a, size)); answer_messages(two));
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct iovec part = { "question", 1 + i };
		struct msghdr message = {
			.msg_name = b, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1
		};

		burn(1);
		if (i % 2)
			must(sendto(one, "question", 1 + i, 0, b, size) == 1 + i);
		else
			must(sendmsg(one, &message, 0) == 1 + i);
		must(recvfrom(one, bytes, sizeof(bytes), 0, NULL, NULL) == 4);
	}
	must(sendto(one, "", 0, 0, b, size) == 0);
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static int udp(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in b = a;

	return by_address((struct sockaddr *)&a, (struct sockaddr *)&b, sizeof(a));
}

static int udp6(void)
{
	struct sockaddr_in6 a = { .sin6_family = AF_INET6, .sin6_addr = in6addr_loopback }, b = a;

	return by_address((struct sockaddr *)&a, (struct sockaddr *)&b, sizeof(a));
}

static int unix_datagrams(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX }, b = a;
	socklen_t size = sizeof(sa_family_t) + 1;

	size += (socklen_t)sprintf(a.sun_path + 1, "cpa-datagrams-%d-a", getpid());
	sprintf(b.sun_path + 1, "cpa-datagrams-%d-b", getpid());
	return by_address((struct sockaddr *)&a, (struct sockaddr *)&b, size);
}

/* Several messages with one call, and a look at the first before. */
static int batch(void)
{
	struct mmsghdr some[3] = { 0 };
	struct iovec part[3];
	char bytes[3][8];
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
	for (unsigned i = 0; i < 3; i++) {
		part[i].iov_base = bytes[i];
		part[i].iov_len = i + 1;
		some[i].msg_hdr.msg_iov = &part[i];
		some[i].msg_hdr.msg_iovlen = 1;
	}
	CHILD(burn(3); must(sendmmsg(ends[1], some, 3, 0) == 3));
	must(recv(ends[0], bytes, 1, MSG_PEEK) == 1);
	burn(1);
	/* The sender may lose its processor between two of them. */
	for (int got = 0, n; got < 3; got += n)
		must((n = recvmmsg(ends[0], some + got, (unsigned)(3 - got), MSG_WAITFORONE,
				   NULL)) > 0);
	must(some[2].msg_len == 3);
	reap();
	return report(3 + 1, 3 + 1);
}

/* One call sends to two addresses, and the second receiver has more to do. */
static int batch_to(void)
{
	struct sockaddr_in to[2] = { { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) } };
	struct iovec part = { "work", 4 };
	struct mmsghdr some[2] = { 0 };
	socklen_t size = sizeof(to[0]);
	char bytes[8];
	int fd[2];

	to[1] = to[0];
	for (unsigned i = 0; i < 2; i++) {
		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		must(!bind(fd[i], (struct sockaddr *)&to[i], size));
		must(!getsockname(fd[i], (struct sockaddr *)&to[i], &size));
		some[i].msg_hdr = (struct msghdr){
			.msg_name = &to[i], .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1
		};
	}
	CHILD(must(recv(fd[0], bytes, sizeof(bytes), 0) == 4); burn(1));
	CHILD(must(recv(fd[1], bytes, sizeof(bytes), 0) == 4); burn(3));
	burn(2);
	must(sendmmsg(socket(AF_INET, SOCK_DGRAM, 0), some, 2, 0) == 2);
	reap();
	return report(2 + 3, 2 + 1 + 3);
}

#endif
