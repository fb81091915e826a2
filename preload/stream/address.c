/* SPDX-License-Identifier: MIT */
#include "preload/stream/address.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
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

/* 0.0.0.0 or :: */
static bool is_any(const struct cpa_end *end)
{
	static const uint8_t any[8] = { 0, 0, 0xff, 0xff };
	uint64_t any4;

	memcpy(&any4, any, sizeof(any4));
	return !end->high && (!end->low || end->low == any4);
}

static uint64_t internet_key(enum cpa_stream_kind kind, const struct cpa_end *end, bool any)
{
	return cpa_stream_key(kind, any ? 0 : end->high, any ? 0 : end->low, end->port);
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

	if (is_unix(address, size))
		key = unix_key(kind, address, size);
	else if (cpa_end_of(address, size, &end) && end.port)
		key = internet_key(kind, &end, is_any(&end));
	return key ? cpa_stream_intern(key, kind, 0) : 0;
}

uint32_t cpa_address_find(enum cpa_stream_kind kind, const void *address, socklen_t size)
{
	struct cpa_end end;
	uint64_t key;
	uint32_t row;

	if (is_unix(address, size)) {
		key = unix_key(kind, address, size);
		return key ? cpa_stream_find(key) : 0;
	}
	if (!cpa_end_of(address, size, &end))
		return 0;
	row = cpa_stream_find(internet_key(kind, &end, false));
	return row ? row : cpa_stream_find(internet_key(kind, &end, true));
}
