/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/sockets.c - connections and messages: what they return, also with bad arguments
 */
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "tests/conformance/case.h"

#define BAD ((void *)16) /* no memory of any process */

static struct sockaddr_in loopback = { .sin_family = AF_INET };
static socklen_t size = sizeof(loopback);

static int bound(int type)
{
	int fd = socket(AF_INET, type, 0);

	loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	loopback.sin_port = 0;
	if (bind(fd, (struct sockaddr *)&loopback, size) ||
	    getsockname(fd, (struct sockaddr *)&loopback, &size))
		abort();
	return fd;
}

/* An address at the very end of a page, behind which there is none. */
static struct sockaddr *at_end_of_page(socklen_t n)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, 2 * (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || mprotect(p + page, (size_t)page, PROT_NONE))
		abort();
	return memcpy(p + page - n, &loopback, n);
}

static void messages(void)
{
	int to = bound(SOCK_DGRAM), fd = socket(AF_INET, SOCK_DGRAM, 0);
	struct iovec part = { "abc", 3 };
	struct msghdr m = {
		.msg_name = BAD, .msg_namelen = size, .msg_iov = &part, .msg_iovlen = 1
	};
	struct mmsghdr some[2] = { { .msg_hdr = m }, { .msg_hdr = m } };
	struct sockaddr *edge = at_end_of_page(size);
	char bytes[16];

	begin("messages to bad addresses");
	DO("sendto", sendto(fd, "abc", 3, 0, BAD, size));
	DO("sendto long", sendto(fd, "abc", 3, 0, (struct sockaddr *)&loopback, 4000));
	DO("sendto short", sendto(fd, "abc", 3, 0, (struct sockaddr *)&loopback, 3));
	DO("sendto none", sendto(fd, "abc", 3, 0, NULL, 0));
	DO("sendto edge", sendto(fd, "abc", 3, 0, edge, size));
	DO("sendto beyond", sendto(fd, "abc", 3, 0, (void *)((char *)edge + 8), size));
	DO("sendto no socket", sendto(-1, "abc", 3, 0, (struct sockaddr *)&loopback, size));
	DO("sendmsg", sendmsg(fd, &m, 0));
	DO("sendmsg bad", sendmsg(fd, BAD, 0));
	DO("sendmmsg", sendmmsg(fd, some, 2, 0));
	DO("sendmmsg bad", sendmmsg(fd, BAD, 2, 0));
	DO("sendmmsg none", sendmmsg(fd, BAD, 0, 0));
	m.msg_name = edge;
	DO("sendmsg edge", sendmsg(fd, &m, 0));
	some[0].msg_hdr = m;
	DO("sendmmsg one", sendmmsg(fd, some, 2, 0));
	end();

	begin("what has arrived");
	DO("recvmmsg bad", recvmmsg(to, BAD, 1, MSG_DONTWAIT, NULL));
	/* All three: the kernel may deliver them later. */
	for (unsigned i = 0; i < 3; i++)
		DO("recv", recv(to, bytes, 2, 0));
	DO("recv", recv(to, bytes, 2, MSG_DONTWAIT));
	DO("peek", recv(to, bytes, 2, MSG_DONTWAIT | MSG_PEEK));
	end();

	begin("messages of no bytes");
	DO("connect", connect(fd, (struct sockaddr *)&loopback, size));
	DO("send", send(fd, "", 0, 0));
	DO("peek", recv(to, bytes, 2, MSG_PEEK));
	DO("send", send(fd, "a", 1, 0));
	DO("recv", recv(to, bytes, 2, 0));
	DO("recv", recv(to, bytes, 2, MSG_TRUNC));
	DO("recv", recv(to, bytes, 2, MSG_DONTWAIT));
	end();
	close(fd);
	close(to);
}

static void connections(void)
{
	int server = bound(SOCK_STREAM), fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int local = socket(AF_UNIX, SOCK_STREAM, 0), seq = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	socklen_t length = offsetof(struct sockaddr_un, sun_path);

	begin("connect");
	DO("bad", connect(fd, BAD, size));
	DO("short", connect(fd, (struct sockaddr *)&loopback, 3));
	DO("nobody listens", connect(fd, (struct sockaddr *)&loopback, size));
	DO("listen", listen(server, 1));
	DO("no socket", connect(-1, (struct sockaddr *)&loopback, size));
	DO("connect", connect(fd, (struct sockaddr *)&loopback, size));
	DO("twice", connect(fd, (struct sockaddr *)&loopback, size));
	DO("accept bad", accept(server, BAD, BAD) >= 0);
	close(fd);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	DO("connect", connect(fd, (struct sockaddr *)&loopback, size));
	DO("listen again", listen(server, 2));
	end();

	begin("unix names");
	length += 1 + (socklen_t)sprintf(name.sun_path + 1, "cpa-sockets-%d", getpid());
	DO("nobody", connect(local, (struct sockaddr *)&name, length));
	DO("bind", bind(seq, (struct sockaddr *)&name, length));
	DO("listen", listen(seq, 1));
	DO("other type", connect(local, (struct sockaddr *)&name, length));
	DO("bind bad", bind(local, BAD, length));
	DO("listen unbound", listen(local, 1));
	end();
	close(fd);
	close(server);
	close(local);
	close(seq);
}

/* Descriptors with numbers as high as the limit allows. */
static void high_numbers(void)
{
	struct rlimit limit;
	int server = bound(SOCK_STREAM), fd = socket(AF_INET, SOCK_STREAM, 0);
	int high, client, accepted;
	char bytes[4];

	must(!getrlimit(RLIMIT_NOFILE, &limit), "getrlimit");
	limit.rlim_cur = limit.rlim_max;
	must(!setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
	must((high = fcntl(server, F_DUPFD, (int)limit.rlim_cur - 3)) >= 0, "fcntl");
	must((client = fcntl(fd, F_DUPFD, high)) >= 0, "fcntl");

	begin("high numbers");
	DO("listen", listen(high, 1));
	DO("connect", connect(client, (struct sockaddr *)&loopback, size));
	DO("accept", accepted = accept4(high, NULL, NULL, SOCK_CLOEXEC));
	DO("dup2", dup2(accepted, high) == high);
	DO("send", send(client, "abc", 3, 0));
	DO("recv", recv(high, bytes, 4, 0));
	DO("shutdown", shutdown(client, SHUT_WR));
	DO("recv", recv(high, bytes, 4, 0));
	DO("bind", bind(high, (struct sockaddr *)&loopback, size));
	end();
	close(client);
	close(high);
	close(accepted);
	close(server);
	close(fd);
}

int main(void)
{
	high_numbers();
	messages();
	connections();
	return 0;
}
