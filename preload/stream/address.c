/* SPDX-License-Identifier: MIT */
#include "preload/stream/address.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "shadow/store/index.h"
#include "shadow/store/kernel.h"

uint64_t cpa_stream_key(enum cpa_stream_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t key = cpa_index_hash((uint64_t)kind << 56 ^ a);

	key = cpa_index_hash(cpa_index_hash(key ^ b) ^ c);
	return key ? key : 1;
}

bool cpa_end_of(const void *address, socklen_t size, struct cpa_end *end)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	uint8_t bytes[16] = { 0 };
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	sa_family_t family;

	if (size < sizeof(in))
		return false;
	memcpy(&family, address, sizeof(family));
	if (family == AF_INET) {
		memcpy(&in, address, sizeof(in));
		memcpy(bytes, mapped, sizeof(mapped));
		memcpy(bytes + sizeof(mapped), &in.sin_addr, 4);
		end->port = in.sin_port;
	} else if (family == AF_INET6 && size >= offsetof(struct sockaddr_in6, sin6_scope_id)) {
		memcpy(&in6, address, offsetof(struct sockaddr_in6, sin6_scope_id));
		memcpy(bytes, &in6.sin6_addr, sizeof(bytes));
		end->port = in6.sin6_port;
	} else {
		return false;
	}
	memcpy(&end->high, bytes, 8);
	memcpy(&end->low, bytes + 8, 8);
	return true;
}

/* The low half of an address of IPv4, in the order of the network. */
struct old_address {
	uint8_t mapped[4];
	uint8_t byte[4];
};

/* False: it is one of IPv6. */
static bool old_of(const struct cpa_end *end, struct old_address *a)
{
	static const uint8_t mapped[4] = { 0, 0, 0xff, 0xff };

	memcpy(a, &end->low, sizeof(*a));
	return !end->high && !memcmp(a->mapped, mapped, sizeof(mapped));
}

/*
 * Whether packets of the connection of @fd may have @bytes. By the loopback interface they may be as long as IPv4 has
 * them, IP_MAXPACKET, which few others allow, and of IPv6 one byte longer, which no network allows. The list of interfaces
 * is behind a lock of the kernel's that changes of the network hold: a connection to another machine must not wait for
 * that.
 */
static bool has_packets(int fd, int bytes)
{
	int packet = 0;
	socklen_t size = sizeof(packet);

	return !cpa_kernel(SYS_getsockopt, fd, IPPROTO_IP, IP_MTU, &packet, &size) &&
	       packet >= bytes;
}

/* Whether an interface has the address of IPv4 @end. @fd: any socket. */
static bool has_interface(int fd, const struct cpa_end *end)
{
	struct ifreq all[CPA_INTERFACES];
	struct ifconf list = { .ifc_len = sizeof(all), .ifc_req = all };
	struct cpa_end is;

	if (cpa_kernel(SYS_ioctl, fd, SIOCGIFCONF, &list))
		return false;
	for (size_t i = 0; i < CPA_INTERFACES && (int)(i * sizeof(all[0])) < list.ifc_len; i++)
		if (cpa_end_of(&all[i].ifr_addr, sizeof(all[i].ifr_addr), &is) &&
		    is.high == end->high && is.low == end->low)
			return true;
	return false;
}

bool cpa_end_is_near(int fd, const struct cpa_end *own, const struct cpa_end *other)
{
	struct old_address a, b;

	if (own->high == other->high && own->low == other->low)
		return true;
	if (!old_of(own, &a) || !old_of(other, &b))
		return has_packets(fd, IP_MAXPACKET + 1);
	return (a.byte[0] == IN_LOOPBACKNET && b.byte[0] == IN_LOOPBACKNET) ||
	       (has_packets(fd, IP_MAXPACKET) && has_interface(fd, other));
}

static uint64_t internet_key(enum cpa_stream_kind kind, const struct cpa_end *end)
{
	return cpa_stream_key(kind, end->high, end->low, end->port);
}

/* What a socket may be bound to that gets a message to @end, in the order of the kernel's search. Return how many. */
static unsigned receivers_of(const struct cpa_end *end, struct cpa_end to[3])
{
	static const uint8_t none[2][8] = { { 0 }, { [2] = 0xff, 0xff } };
	static const uint8_t loopback[2][8] = { { [7] = 1 },
						{ [2] = 0xff, 0xff, IN_LOOPBACKNET, [7] = 1 } };
	struct old_address a;
	bool old = old_of(end, &a);

	to[0] = to[1] = to[2] = *end;
	to[1].high = to[2].high = to[2].low = 0;
	memcpy(&to[1].low, none[old], sizeof(to[1].low));
	/* A message to no address, 0.0.0.0 or ::, is one to loopback. */
	if (!end->high && end->low == to[1].low)
		memcpy(&to[0].low, loopback[old], sizeof(to[0].low));
	return old ? 3 : 2;
}

/* The stream to @end: of a socket that is open, if one is known. */
static uint32_t internet_find(enum cpa_stream_kind kind, const struct cpa_end *end)
{
	struct cpa_end to[3];
	unsigned n = receivers_of(end, to);
	uint32_t closed = 0;

	for (unsigned i = 0; i < n; i++) {
		uint32_t row = cpa_stream_find(internet_key(kind, &to[i]));

		/* Relaxed: a sender knows by other means that the receiver is bound, and that orders the store. */
		if (row && !(__atomic_load_n(&cpa_stream(row)->closed, __ATOMIC_RELAXED) &
			     CPA_STREAM_NO_READER))
			return row;
		closed = closed ? closed : row;
	}
	return closed;
}

/* A name that is no file's: an abstract one, which is as long as it is said, or a path to nothing. */
static uint64_t name_key(enum cpa_stream_kind kind, const char *name, size_t n)
{
	uint64_t key = 0, part;

	for (size_t i = 0; i < n; i += sizeof(part)) {
		part = 0;
		memcpy(&part, name + i, n - i < sizeof(part) ? n - i : sizeof(part));
		key = cpa_index_hash(key ^ part);
	}
	return cpa_stream_key(kind, key, n, 1);
}

/* By the file, to which several paths may lead; or by the name. */
static uint64_t unix_key(enum cpa_stream_kind kind, const void *address, socklen_t size)
{
	struct {
		struct sockaddr_un name;
		char end;
	} at = { 0 };
	const char *path = at.name.sun_path;
	struct stat st;
	size_t n;

	if (size <= offsetof(struct sockaddr_un, sun_path) || size > sizeof(at.name))
		return 0;
	memcpy(&at.name, address, size);
	n = size - offsetof(struct sockaddr_un, sun_path);
	if (!path[0])
		return name_key(kind, path, n);
	if (!cpa_kernel(SYS_newfstatat, AT_FDCWD, path, &st, 0))
		return cpa_stream_key(kind, st.st_dev, st.st_ino, 2);
	return name_key(kind, path, strnlen(path, n));
}

static bool is_unix(const void *address, socklen_t size)
{
	sa_family_t family;

	if (size < sizeof(family))
		return false;
	memcpy(&family, address, sizeof(family));
	return family == AF_UNIX;
}

uint32_t cpa_address_own(enum cpa_stream_kind kind, const void *address, socklen_t size)
{
	struct cpa_end end;
	uint64_t key = 0;
	uint32_t row;

	if (is_unix(address, size))
		key = unix_key(kind, address, size);
	else if (cpa_end_of(address, size, &end) && end.port)
		key = internet_key(kind, &end);
	row = key ? cpa_stream_intern(key, kind, 0) : 0;
	if (row)
		cpa_stream_opened(cpa_stream(row), CPA_STREAM_NO_READER);
	return row;
}

uint32_t cpa_address_find(enum cpa_stream_kind kind, const void *address, socklen_t size)
{
	struct cpa_end end;
	uint64_t key;

	if (is_unix(address, size)) {
		key = unix_key(kind, address, size);
		return key ? cpa_stream_find(key) : 0;
	}
	return cpa_end_of(address, size, &end) ? internet_find(kind, &end) : 0;
}
