/* SPDX-License-Identifier: MIT */
#include "preload/stream/look.h"

#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "preload/core/identity.h"
#include "preload/libc/confined.h"
#include "preload/libc/private_fds.h"
#include "shadow/store/index.h"
#include "shadow/store/kernel.h"

#define GENERATIONS 64u /* connections between the same two addresses that are told apart */

/* A key of numbers and a kind; never 0. */
static uint64_t key_of(enum cpa_stream_kind kind, uint64_t a, uint64_t b, uint64_t c)
{
	uint64_t key = cpa_index_hash((uint64_t)kind << 56 ^ a);

	key = cpa_index_hash(cpa_index_hash(key ^ b) ^ c);
	return key ? key : 1;
}

/* Bytes that wait in the stream which @fd reads, or for a pipe: which it writes. */
static uint64_t waiting_in(int fd)
{
	int n = 0;

	return cpa_kernel(SYS_ioctl, fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

static uint64_t word_of(uint32_t reads, uint32_t writes)
{
	return CPA_DESCRIPTOR_KNOWN | (uint64_t)reads << CPA_DESCRIPTOR_ROW | writes;
}

static uint64_t look_pipe(int fd, const struct stat *st)
{
	long flags = cpa_kernel(SYS_fcntl, fd, F_GETFL);
	uint32_t row = cpa_stream_intern(key_of(CPA_STREAM_PIPE, st->st_dev, st->st_ino, 0),
					 CPA_STREAM_PIPE, waiting_in(fd));

	return word_of((flags & O_ACCMODE) == O_WRONLY ? 0 : row,
		       (flags & O_ACCMODE) == O_RDONLY ? 0 : row);
}

/* Of a unix socket: the stream that the socket with @inode receives. */
static uint32_t unix_row(uint64_t device, uint64_t inode, uint64_t waiting)
{
	return cpa_stream_intern(key_of(CPA_STREAM_UNIX, device, inode, 0), CPA_STREAM_UNIX,
				 waiting);
}

struct peer {
	uint32_t inode, peer; /* 0: it has none, or the kernel does not tell */
};

/* Ask the kernel. In a thread with descriptors of its own. */
static void ask_peer(void *argument)
{
	struct peer *p = argument;
	struct {
		struct nlmsghdr head;
		struct unix_diag_req request;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_family = AF_UNIX,
			     .udiag_states = UINT32_MAX,
			     .udiag_ino = p->inode,
			     .udiag_show = UDIAG_SHOW_PEER,
			     .udiag_cookie = { UINT32_MAX, UINT32_MAX } },
	};
	char answer[256] __attribute__((aligned(8)));
	const struct nlmsghdr *head = (const struct nlmsghdr *)answer;
	const struct rtattr *a;
	long n, rest;
	int fd = (int)syscall(SYS_socket, AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0)
		return;
	n = syscall(SYS_sendto, fd, &ask, sizeof(ask), 0, NULL, 0) == sizeof(ask) ?
		    syscall(SYS_recvfrom, fd, answer, sizeof(answer), MSG_DONTWAIT, NULL, NULL) :
		    -1;
	syscall(SYS_close, fd);
	if (n < (long)NLMSG_LENGTH(sizeof(struct unix_diag_msg)) ||
	    head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return;
	a = (const struct rtattr *)(answer + NLMSG_LENGTH(sizeof(struct unix_diag_msg)));
	for (rest = n - ((const char *)a - answer); RTA_OK(a, rest); a = RTA_NEXT(a, rest))
		if (a->rta_type == UNIX_DIAG_PEER)
			memcpy(&p->peer, RTA_DATA(a), sizeof(p->peer));
}

/*
 * Whether the kernel may be asked. While the thread that asks has its copy of the descriptor table, a
 * descriptor that another thread closes stays open: its lock is still held, and epoll_wait() still
 * reports it. A filter may kill the process for a kind of socket that the program never makes.
 */
static bool may_ask(void)
{
	bool may = false;

	if (__libc_single_threaded && cpa_kernel_begin()) {
		may = !cpa_start().confined;
		cpa_kernel_end();
	}
	return may;
}

static uint64_t look_unix(int fd, const struct stat *st)
{
	struct peer p = { .inode = (uint32_t)st->st_ino };

	if (!may_ask() || !cpa_private_fds_call(ask_peer, &p) || !p.peer)
		return word_of(0, 0);
	return word_of(unix_row(st->st_dev, st->st_ino, waiting_in(fd)),
		       unix_row(st->st_dev, p.peer, 0));
}

void cpa_look_pair(const int fds[2], uint64_t words[2])
{
	struct stat st[2];
	uint32_t row[2];

	words[0] = words[1] = 0;
	if (cpa_kernel(SYS_fstat, fds[0], &st[0]) || cpa_kernel(SYS_fstat, fds[1], &st[1]))
		return;
	for (unsigned i = 0; i < 2; i++)
		row[i] = unix_row(st[i].st_dev, st[i].st_ino, 0);
	words[0] = CPA_DESCRIPTOR_GIVEN | word_of(row[0], row[1]);
	words[1] = CPA_DESCRIPTOR_GIVEN | word_of(row[1], row[0]);
}

uint64_t cpa_look_eventfd(uint64_t value)
{
	static uint64_t made;
	/* Relaxed: a number that nobody else has. */
	uint64_t number = __atomic_add_fetch(&made, 1, __ATOMIC_RELAXED);
	uint32_t row = cpa_stream_intern(key_of(CPA_STREAM_EVENTFD, cpa_process_number, number,
						cpa_clock_now()),
					 CPA_STREAM_EVENTFD, value);

	return CPA_DESCRIPTOR_GIVEN | word_of(row, row);
}

/* An address and port of TCP; one of IPv4 is the same in both families. */
struct end {
	uint64_t high, low;
	uint16_t port;
};

static bool end_of(struct sockaddr_storage *address, struct end *end)
{
	static const uint8_t mapped[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };
	uint8_t bytes[16] = { 0 };

	if (address->ss_family == AF_INET) {
		const struct sockaddr_in *in = (const struct sockaddr_in *)address;

		memcpy(bytes, mapped, sizeof(mapped));
		memcpy(bytes + sizeof(mapped), &in->sin_addr, 4);
		end->port = in->sin_port;
	} else if (address->ss_family == AF_INET6) {
		const struct sockaddr_in6 *in = (const struct sockaddr_in6 *)address;

		memcpy(bytes, &in->sin6_addr, sizeof(bytes));
		end->port = in->sin6_port;
	} else {
		return false;
	}
	memcpy(&end->high, bytes, 8);
	memcpy(&end->low, bytes + 8, 8);
	return true;
}

/* The stream from @from to @to: the first of that name that has not been closed at both ends. */
static uint32_t tcp_row(const struct end *from, const struct end *to, uint64_t waiting)
{
	uint64_t ports = (uint64_t)from->port << 16 | to->port;

	for (uint64_t i = 0; i < GENERATIONS; i++) {
		uint32_t row = cpa_stream_intern(key_of(CPA_STREAM_TCP, from->high ^ from->low,
							to->high ^ to->low, i << 32 | ports),
						 CPA_STREAM_TCP, waiting);

		if (!row || cpa_stream_closed(cpa_stream(row), 0) !=
				    (CPA_STREAM_NO_WRITER | CPA_STREAM_NO_READER))
			return row;
	}
	return 0;
}

static uint64_t look_tcp(int fd)
{
	struct sockaddr_storage a = { 0 }, b = { 0 };
	socklen_t size_a = sizeof(a), size_b = sizeof(b);
	struct end own, other;
	uint32_t reads, writes;

	if (cpa_kernel(SYS_getsockname, fd, &a, &size_a) ||
	    cpa_kernel(SYS_getpeername, fd, &b, &size_b)) /* it listens, or is not connected yet */
		return 0;
	/* A connection within the machine has one address, whose ports differ. */
	if (!end_of(&a, &own) || !end_of(&b, &other) || own.high != other.high ||
	    own.low != other.low)
		return word_of(0, 0);
	reads = tcp_row(&other, &own, waiting_in(fd));
	writes = tcp_row(&own, &other, 0);
	return word_of(reads, writes);
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return cpa_kernel(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size) ? -1 : value;
}

static uint64_t look_socket(int fd, const struct stat *st)
{
	int domain = option(fd, SO_DOMAIN);

	if (option(fd, SO_TYPE) != SOCK_STREAM)
		return word_of(0, 0);
	if (domain == AF_UNIX)
		return look_unix(fd, st);
	if (domain == AF_INET || domain == AF_INET6)
		return option(fd, SO_PROTOCOL) == IPPROTO_TCP ? look_tcp(fd) : word_of(0, 0);
	return word_of(0, 0);
}

uint64_t cpa_look(int fd)
{
	struct stat st;

	/* The system call, not fstat(), which some old programs replace. */
	if (cpa_kernel(SYS_fstat, fd, &st))
		return 0;
	if (S_ISFIFO(st.st_mode))
		return look_pipe(fd, &st);
	if (S_ISSOCK(st.st_mode))
		return look_socket(fd, &st);
	return word_of(0, 0);
}
