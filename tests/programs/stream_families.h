/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_families.h - the cases of streams.c with addresses of IPv6, and of both families
 *
 * An address of the machine beside that of its loopback is the first that an interface has. If none has one, the
 * program makes a network of its own, where it may.
 */
#ifndef CPA_TESTS_PROGRAMS_STREAM_FAMILIES_H
#define CPA_TESTS_PROGRAMS_STREAM_FAMILIES_H

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <linux/ipv6.h>
#include <sched.h>

#include "tests/programs/stream_sockets.h"

static struct sockaddr_in6 address6(const char *text, uint32_t scope)
{
	struct sockaddr_in6 address = { .sin6_family = AF_INET6, .sin6_scope_id = scope };

	must(inet_pton(AF_INET6, text, &address.sin6_addr) == 1);
	return address;
}

/* The first address of an interface that is one of its link alone, or not; no family: there is none. */
static struct sockaddr_in6 found6(int of_link)
{
	struct sockaddr_in6 found = { 0 }, in6;
	struct ifaddrs *all;

	must(!getifaddrs(&all));
	for (const struct ifaddrs *i = all; i && !found.sin6_family; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET6)
			continue;
		memcpy(&in6, i->ifa_addr, sizeof(in6));
		if (!IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) &&
		    !of_link == !IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr))
			found = in6;
	}
	freeifaddrs(all);
	return found;
}

/* Go to a network that has loopback only, which gets the address @text, too. False: that cannot be. */
static int make_network(const char *text)
{
	struct ifreq lo = { .ifr_name = "lo" };
	struct in6_ifreq add = { .ifr6_prefixlen = 128 };
	struct sockaddr_in6 address;
	int fd;

	if (unshare(CLONE_NEWNET) && unshare(CLONE_NEWUSER | CLONE_NEWNET))
		return 0;
	fd = socket(AF_INET6, SOCK_DGRAM, 0);
	if (fd < 0 || ioctl(fd, SIOCGIFINDEX, &lo))
		return 0;
	add.ifr6_ifindex = lo.ifr_ifindex;
	address = address6(text, (uint32_t)lo.ifr_ifindex);
	add.ifr6_addr = address.sin6_addr;
	lo.ifr_flags = IFF_UP;
	if (ioctl(fd, SIOCSIFFLAGS, &lo) || ioctl(fd, SIOCSIFADDR, &add))
		return 0;
	/* Another thread of the kernel's makes it ready. */
	while (bind(fd, (struct sockaddr *)&address, sizeof(address))) {
		must(errno == EADDRNOTAVAIL);
		usleep(1000);
	}
	return !close(fd);
}

/* An address of the machine's that is not of loopback; no family: there is none. */
static struct sockaddr_in6 own_address6(int of_link)
{
	struct sockaddr_in6 found = found6(of_link);

	if (!found.sin6_family && make_network(of_link ? "fe80::1" : "fd00::1"))
		found = found6(of_link);
	return found;
}

/* A server that listens at @at; the client has @from, if that is an address, and connects to @to. */
static int tcp_pair(const void *at, const void *from, const void *to, socklen_t size)
{
	struct sockaddr_storage a, b;
	int server, client, accepted;
	socklen_t n = sizeof(a);

	memcpy(&a, at, size);
	memcpy(&b, to, size);
	server = socket(a.ss_family, SOCK_STREAM, 0);
	if (bind(server, (struct sockaddr *)&a, size))
		return 77;
	must(!listen(server, 5) && !getsockname(server, (struct sockaddr *)&a, &n));
	/* The port is in the same place of both families. */
	((struct sockaddr_in *)&b)->sin_port = ((struct sockaddr_in *)&a)->sin_port;
	CHILD(client = socket(b.ss_family, SOCK_STREAM, 0);
	      must(!from || !bind(client, from, size));
	      must(!connect(client, (struct sockaddr *)&b, size)); ask(client));
	accepted = accept(server, NULL, NULL);
	must(accepted >= 0);
	answer(accepted);
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* From ::1 to an address of an interface. */
static int tcp6_to_own(void)
{
	struct sockaddr_in6 from = address6("::1", 0), to = own_address6(0);

	return to.sin6_family ? tcp_pair(&to, &from, &to, sizeof(to)) : 77;
}

/* To a server at any address of both families. */
static int tcp6_to_any(void)
{
	struct sockaddr_in6 at = address6("::", 0), from = address6("::1", 0);
	struct sockaddr_in6 to = own_address6(0);

	return to.sin6_family ? tcp_pair(&at, &from, &to, sizeof(to)) : 77;
}

/* Between an address of the link, whose scope is said, and one of all. */
static int tcp6_of_link(void)
{
	struct sockaddr_in6 from = own_address6(1), to;

	if (!from.sin6_family)
		return 77;
	to = found6(0);
	if (!to.sin6_family)
		to = from;
	return tcp_pair(&to, &from, &to, sizeof(to));
}

/* A client of IPv6 at a server of IPv4. */
static int tcp_mapped_client(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1) };
	struct sockaddr_in6 to = address6("::ffff:127.0.0.2", 0);
	struct sockaddr_storage server = { 0 };

	memcpy(&server, &at, sizeof(at));
	return tcp_pair(&server, NULL, &to, sizeof(to));
}

/* No address is one of loopback. */
static int tcp_to_none(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in to = { .sin_family = AF_INET };

	return tcp_pair(&at, NULL, &to, sizeof(to));
}

static int tcp6_to_none(void)
{
	struct sockaddr_in6 at = address6("::1", 0), to = address6("::", 0);

	return tcp_pair(&at, NULL, &to, sizeof(to));
}

static int udp6_own(void)
{
	struct sockaddr_in6 a = address6("::1", 0), b = own_address6(0);

	return b.sin6_family ? by_address((void *)&a, (void *)&b, sizeof(a)) : 77;
}

static int udp6_of_link(void)
{
	struct sockaddr_in6 a = own_address6(1), b = a;

	return a.sin6_family ? by_address((void *)&a, (void *)&b, sizeof(a)) : 77;
}

/* Both are mapped ones of IPv4. */
static int udp_mapped(void)
{
	struct sockaddr_in6 a = address6("::ffff:127.0.0.1", 0), b = a;

	return by_address((void *)&a, (void *)&b, sizeof(a));
}

/* Questions to a socket at any address of both families, from one of IPv4 that is connected to no address. */
static int udp_to_none(void)
{
	struct sockaddr_in6 at = address6("::", 0);
	struct sockaddr_in to = { .sin_family = AF_INET }, from;
	int server = socket(AF_INET6, SOCK_DGRAM, 0), client = socket(AF_INET, SOCK_DGRAM, 0);
	socklen_t size = sizeof(at), n = sizeof(from);
	char bytes[16];

	if (bind(server, (struct sockaddr *)&at, size))
		return 77;
	must(!getsockname(server, (struct sockaddr *)&at, &size));
	to.sin_port = at.sin6_port;
	must(!connect(client, (struct sockaddr *)&to, sizeof(to)));
	must(!getsockname(client, (struct sockaddr *)&from, &n));
	CHILD(ask_messages(client));
	for (unsigned i = 0; i <= ROUNDS; i++) {
		struct sockaddr_in6 who;
		socklen_t length = sizeof(who);
		ssize_t got = recvfrom(server, bytes, 16, 0, (struct sockaddr *)&who, &length);

		must(got == (i < ROUNDS ? 1 + i : 0));
		if (got)
			burn(2);
		if (got)
			must(sendto(server, "answ", 4, 0, (struct sockaddr *)&who, length) == 4);
	}
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* Two sockets of one port, one of each family: the one of IPv4 gets messages first, and the other one reads first. */
static int udp_both(void)
{
	struct sockaddr_in6 at6 = address6("::", 0), to6 = address6("::1", 0);
	struct sockaddr_in at = { .sin_family = AF_INET }, to = at;
	int old = socket(AF_INET, SOCK_DGRAM, 0), new = socket(AF_INET6, SOCK_DGRAM, 0), one = 1;
	socklen_t size = sizeof(at6);
	char bytes[16];

	must(!setsockopt(new, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one)));
	if (bind(new, (struct sockaddr *)&at6, size))
		return 77;
	must(!getsockname(new, (struct sockaddr *)&at6, &size));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to6.sin6_port = to.sin_port = at.sin_port = at6.sin6_port;
	if (bind(old, (struct sockaddr *)&at, sizeof(at)))
		return 77;
	CHILD(int fd = socket(AF_INET, SOCK_DGRAM, 0); burn(1);
	      must(sendto(fd, "ask", 3, 0, (struct sockaddr *)&to, sizeof(to)) == 3);
	      fd = socket(AF_INET6, SOCK_DGRAM, 0); burn(3);
	      must(sendto(fd, "ask", 3, 0, (struct sockaddr *)&to6, sizeof(to6)) == 3));
	must(recv(new, bytes, sizeof(bytes), 0) == 3);
	burn(1);
	must(recv(old, bytes, sizeof(bytes), 0) == 3);
	reap();
	return report(1 + 3 + 1, 1 + 3 + 1);
}

/* Of two sockets of a port the nearer one gets the message, also if a copy of its descriptor was closed before a read. */
static int udp_copied(void)
{
	int near = socket(AF_INET, SOCK_DGRAM, 0), any = socket(AF_INET, SOCK_DGRAM, 0), on = 1;
	struct sockaddr_in at = { .sin_family = AF_INET }, to = at;
	socklen_t size = sizeof(at);
	char bytes[16];

	must(!setsockopt(near, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	must(!setsockopt(any, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	must(!bind(near, (struct sockaddr *)&to, size));
	must(!getsockname(near, (struct sockaddr *)&to, &size));
	at.sin_port = to.sin_port;
	if (bind(any, (struct sockaddr *)&at, sizeof(at)))
		return 77;
	must(!close(dup(near)));
	must(recv(near, bytes, sizeof(bytes), MSG_DONTWAIT) < 0); /* it is known to be read */
	CHILD(int fd = socket(AF_INET, SOCK_DGRAM, 0); burn(3);
	      must(sendto(fd, "ask", 3, 0, (struct sockaddr *)&to, sizeof(to)) == 3));
	must(recv(near, bytes, sizeof(bytes), 0) == 3);
	burn(1);
	reap();
	return report(3 + 1, 3 + 1);
}

/* A socket at a port that had one of IPv4 before, and at the same address of loopback one. */
static int udp_again(void)
{
	struct sockaddr_in6 at6 = address6("::", 0);
	struct sockaddr_in at = { .sin_family = AF_INET }, to = at;
	int old = socket(AF_INET, SOCK_DGRAM, 0), near = socket(AF_INET, SOCK_DGRAM, 0), new;
	socklen_t size = sizeof(at);
	char bytes[16];

	must(!bind(old, (struct sockaddr *)&at, size));
	must(!getsockname(old, (struct sockaddr *)&at, &size) && !close(old));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	at6.sin6_port = to.sin_port = at.sin_port;
	if (bind(near, (struct sockaddr *)&to, sizeof(to)))
		return 77;
	must(!close(near));
	new = socket(AF_INET6, SOCK_DGRAM, 0);
	if (bind(new, (struct sockaddr *)&at6, sizeof(at6)))
		return 77;
	CHILD(int fd = socket(AF_INET, SOCK_DGRAM, 0); burn(3);
	      must(sendto(fd, "ask", 3, 0, (struct sockaddr *)&to, sizeof(to)) == 3));
	must(recv(new, bytes, sizeof(bytes), 0) == 3);
	burn(1);
	reap();
	return report(3 + 1, 3 + 1);
}

#endif
