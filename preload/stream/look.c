/* SPDX-License-Identifier: MIT */
#include "preload/stream/look.h"

#include <fcntl.h>
#include <linux/major.h>
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
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "preload/core/identity.h"
#include "preload/core/track.h"
#include "preload/libc/confined.h"
#include "preload/stream/address.h"
#include "preload/stream/eventfd.h"
#include "preload/stream/terminal.h"
#include "shadow/store/index.h"
#include "shadow/store/kernel.h"

#define GENERATIONS 64u /* connections between the same two addresses that are told apart */

/* Bytes that wait in the stream which @fd reads, or for a pipe: which it writes. */
static uint64_t waiting_in(int fd)
{
	int n = 0;

	return cpa_kernel(SYS_ioctl, fd, FIONREAD, &n) == 0 && n > 0 ? (uint64_t)n : 0;
}

/* A descriptor of @kind that is not followed. */
static uint64_t other_of(enum cpa_stream_kind kind)
{
	return CPA_DESCRIPTOR_KNOWN | (uint64_t)kind << CPA_DESCRIPTOR_KIND;
}

static uint64_t look_pipe(int fd, const struct stat *st)
{
	long flags = cpa_kernel(SYS_fcntl, fd, F_GETFL);
	uint32_t row = cpa_stream_intern(cpa_stream_key(CPA_STREAM_PIPE, st->st_dev, st->st_ino, 0),
					 CPA_STREAM_PIPE, waiting_in(fd));

	return cpa_descriptor_of((flags & O_ACCMODE) == O_WRONLY ? 0 : row,
				 (flags & O_ACCMODE) == O_RDONLY ? 0 : row);
}

void cpa_look_pipe(const int fds[2], uint64_t words[2])
{
	struct stat st;
	uint32_t row;

	words[0] = words[1] = 0;
	if (cpa_kernel(SYS_fstat, fds[0], &st))
		return;
	row = cpa_stream_intern(cpa_stream_key(CPA_STREAM_PIPE, st.st_dev, st.st_ino, 0),
				CPA_STREAM_PIPE, 0);
	words[0] = CPA_DESCRIPTOR_GIVEN | cpa_descriptor_of(row, 0);
	words[1] = CPA_DESCRIPTOR_GIVEN | cpa_descriptor_of(0, row);
}

/* Which stream of a unix socket. */
enum end {
	RECEIVED,  /* what it receives; of one that was not connected by name, or it is not known */
	TO_SERVER, /* what one that was connected by name sends */
	FROM_SERVER, /* what that receives */
};

static uint64_t unix_key(enum cpa_stream_kind kind, uint64_t device, uint64_t inode, enum end end)
{
	return cpa_stream_key(kind, device, inode, end);
}

static uint32_t unix_row(enum cpa_stream_kind kind, uint64_t device, uint64_t inode,
			 uint64_t waiting)
{
	return cpa_stream_intern(unix_key(kind, device, inode, RECEIVED), kind, waiting);
}

/* Of a unix socket of @type; 0: none. */
static enum cpa_stream_kind unix_kind(int type)
{
	static const uint8_t kind[] = {
		[SOCK_STREAM] = CPA_STREAM_UNIX,
		[SOCK_DGRAM] = CPA_STREAM_DATAGRAM,
		[SOCK_SEQPACKET] = CPA_STREAM_PACKET,
	};

	return type >= 0 && (size_t)type < sizeof(kind) ? kind[type] : 0;
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

/* Whether it is known that the socket @inode was connected by name, and what both ends call its streams. */
static bool is_client(enum cpa_stream_kind kind, uint64_t device, uint64_t inode)
{
	uint32_t row = cpa_stream_find(unix_key(kind, device, inode, FROM_SERVER));

	return row && cpa_stream_closed(cpa_stream(row), 0) & CPA_STREAM_CONNECTED;
}

/* The streams of the connection that @client, which was connected by name, has to a server. */
static void connection_rows(enum cpa_stream_kind kind, uint64_t device, uint64_t client,
			    uint32_t *to_server, uint32_t *from_server)
{
	*to_server = cpa_stream_intern(unix_key(kind, device, client, TO_SERVER), kind, 0);
	*from_server = cpa_stream_intern(unix_key(kind, device, client, FROM_SERVER), kind, 0);
}

static uint64_t client_word(enum cpa_stream_kind kind, uint64_t device, uint64_t client)
{
	uint32_t to, from;

	connection_rows(kind, device, client, &to, &from);
	return cpa_descriptor_of(from, to);
}

static uint64_t server_word(enum cpa_stream_kind kind, uint64_t device, uint64_t client)
{
	uint32_t to, from;

	connection_rows(kind, device, client, &to, &from);
	return cpa_descriptor_of(to, from);
}

static uint64_t look_unix(struct cpa_worker *w, int fd, const struct stat *st,
			  enum cpa_stream_kind kind)
{
	struct peer p = { .inode = (uint32_t)st->st_ino };

	if (is_client(kind, st->st_dev, st->st_ino))
		return client_word(kind, st->st_dev, st->st_ino);
	if (!may_ask() || !cpa_track_private_call(w, ask_peer, &p) || !p.peer)
		return other_of(kind);
	if (is_client(kind, st->st_dev, p.peer))
		return server_word(kind, st->st_dev, p.peer);
	return cpa_descriptor_of(unix_row(kind, st->st_dev, st->st_ino,
					  kind == CPA_STREAM_UNIX ? waiting_in(fd) : 0),
				 unix_row(kind, st->st_dev, p.peer, 0));
}

void cpa_look_pair(const int fds[2], int type, uint64_t words[2])
{
	enum cpa_stream_kind kind = unix_kind(type);
	struct stat st[2];
	uint32_t row[2];

	words[0] = words[1] = 0;
	if (!kind || cpa_kernel(SYS_fstat, fds[0], &st[0]) || cpa_kernel(SYS_fstat, fds[1], &st[1]))
		return;
	for (unsigned i = 0; i < 2; i++)
		row[i] = unix_row(kind, st[i].st_dev, st[i].st_ino, 0);
	words[0] = CPA_DESCRIPTOR_GIVEN | cpa_descriptor_of(row[0], row[1]);
	words[1] = CPA_DESCRIPTOR_GIVEN | cpa_descriptor_of(row[1], row[0]);
}

/* Which end of a stream a socket is. */
enum side { WRITES, READS };

/*
 * Whether the socket @inode is an end of @s: it was the latest that was, or a descriptor may be open at either end.
 * Descriptors that were closed at both ends may have been copies.
 */
static bool is_side(struct cpa_stream *s, enum side side, uint32_t inode)
{
	const uint32_t both = CPA_STREAM_NO_WRITER | CPA_STREAM_NO_READER;

	/* Relaxed, both: a number on which no other data depends. */
	if ((cpa_stream_closed(s, 0) & both) == both)
		return __atomic_load_n(&s->socket[side], __ATOMIC_RELAXED) == inode;
	__atomic_store_n(&s->socket[side], inode, __ATOMIC_RELAXED);
	return true;
}

/* The stream from @from to @to, of which the socket @inode is @side: the first of that name that may be. */
static uint32_t tcp_row(const struct cpa_end *from, const struct cpa_end *to, enum side side,
			uint32_t inode, uint64_t waiting)
{
	uint64_t ports = (uint64_t)from->port << 16 | to->port;

	for (uint64_t i = 0; i < GENERATIONS; i++) {
		uint32_t row =
			cpa_stream_intern(cpa_stream_key(CPA_STREAM_TCP, from->high ^ from->low,
							 to->high ^ to->low, i << 32 | ports),
					  CPA_STREAM_TCP, waiting);

		if (!row || is_side(cpa_stream(row), side, inode))
			return row;
	}
	return 0;
}

/* An address that the kernel tells of a socket; size 0: none. */
struct address {
	struct sockaddr_storage name;
	socklen_t size;
};

static struct address address_of(long call, int fd)
{
	struct address a = { .size = sizeof(a.name) };

	if (cpa_kernel(call, fd, &a.name, &a.size) || a.size > sizeof(a.name))
		a.size = 0;
	return a;
}

static int option(int fd, int name)
{
	int value = -1;
	socklen_t size = sizeof(value);

	return cpa_kernel(SYS_getsockopt, fd, SOL_SOCKET, name, &value, &size) ? -1 : value;
}

/* A socket that listens at @own; 0: it does not. */
static uint64_t look_listener(int fd, const struct address *own)
{
	if (option(fd, SO_ACCEPTCONN) <= 0)
		return 0;
	return cpa_descriptor_of(cpa_address_own(CPA_STREAM_CONNECTION, &own->name, own->size), 0);
}

static uint64_t look_tcp(int fd, uint32_t inode)
{
	struct address a = address_of(SYS_getsockname, fd), b = address_of(SYS_getpeername, fd);
	struct cpa_end own, other;
	uint32_t reads, writes;

	if (!b.size) /* it listens, or is not connected yet */
		return look_listener(fd, &a);
	if (!cpa_end_of(&a.name, a.size, &own) || !cpa_end_of(&b.name, b.size, &other) ||
	    !cpa_end_is_near(fd, &own, &other))
		return other_of(CPA_STREAM_TCP);
	reads = tcp_row(&other, &own, READS, inode, waiting_in(fd));
	writes = tcp_row(&own, &other, WRITES, inode, 0);
	return cpa_descriptor_of(reads, writes);
}

/* Of several sockets with one address the kernel chooses who gets a message. */
static void mark_shared(int fd, uint32_t row)
{
	if (row && option(fd, SO_REUSEPORT) > 0)
		__atomic_store_n(&cpa_stream(row)->broken, 1, __ATOMIC_RELAXED);
}

/* Not bound: 0, as it will be by the first message. */
static uint64_t look_udp(int fd)
{
	struct address a = address_of(SYS_getsockname, fd), b = address_of(SYS_getpeername, fd);
	uint32_t reads = cpa_address_own(CPA_STREAM_UDP, &a.name, a.size);

	mark_shared(fd, reads);
	return reads ? cpa_descriptor_of(reads, b.size ? cpa_address_find(CPA_STREAM_UDP, &b.name,
									  b.size) :
							 0) :
		       0;
}

static uint64_t look_datagram(struct cpa_worker *w, int fd, const struct stat *st)
{
	struct address a = address_of(SYS_getsockname, fd), b = address_of(SYS_getpeername, fd);
	uint32_t reads = cpa_address_own(CPA_STREAM_DATAGRAM, &a.name, a.size);
	uint32_t writes = cpa_address_find(CPA_STREAM_DATAGRAM, &b.name, b.size);

	if (reads || writes)
		return cpa_descriptor_of(reads, writes);
	/* Without a name: one of a pair, or not yet bound or connected. */
	return b.size ? look_unix(w, fd, st, CPA_STREAM_DATAGRAM) : 0;
}

static uint64_t look_socket(struct cpa_worker *w, int fd, const struct stat *st)
{
	int domain = option(fd, SO_DOMAIN), type = option(fd, SO_TYPE);

	if (domain == AF_UNIX && type == SOCK_DGRAM)
		return look_datagram(w, fd, st);
	if (domain == AF_UNIX && unix_kind(type)) {
		struct address a = address_of(SYS_getsockname, fd);
		uint64_t word = look_listener(fd, &a);

		return word ? word : look_unix(w, fd, st, unix_kind(type));
	}
	if (domain != AF_INET && domain != AF_INET6)
		return other_of(CPA_STREAM_OTHER);
	if (type == SOCK_STREAM && option(fd, SO_PROTOCOL) == IPPROTO_TCP)
		return look_tcp(fd, (uint32_t)st->st_ino);
	if (type == SOCK_DGRAM && option(fd, SO_PROTOCOL) == IPPROTO_UDP)
		return look_udp(fd);
	return other_of(CPA_STREAM_OTHER);
}

uint64_t cpa_look_unix(int fd)
{
	struct stat st;

	return option(fd, SO_DOMAIN) == AF_UNIX && !cpa_kernel(SYS_fstat, fd, &st) ? st.st_ino : 0;
}

uint64_t cpa_look_peer(struct cpa_worker *w, int fd)
{
	struct peer p = { .inode = (uint32_t)cpa_look_unix(fd) };

	return p.inode && may_ask() && cpa_track_private_call(w, ask_peer, &p) ? p.peer : 0;
}

uint64_t cpa_look_client(int fd, uint64_t client)
{
	enum cpa_stream_kind kind = unix_kind(option(fd, SO_TYPE));
	uint64_t word;
	struct stat st;

	if (!kind || cpa_kernel(SYS_fstat, fd, &st))
		return 0;
	word = client_word(kind, st.st_dev, client);
	if (cpa_descriptor_reads(word))
		cpa_stream_closed(cpa_stream(cpa_descriptor_reads(word)), CPA_STREAM_CONNECTED);
	return CPA_DESCRIPTOR_GIVEN | word;
}

uint64_t cpa_look_server(int fd, uint64_t client)
{
	enum cpa_stream_kind kind = unix_kind(option(fd, SO_TYPE));
	struct stat st;

	return kind && !cpa_kernel(SYS_fstat, fd, &st) ?
		       CPA_DESCRIPTOR_GIVEN | server_word(kind, st.st_dev, client) :
		       0;
}

uint32_t cpa_look_listening(int fd, const void *to, socklen_t size)
{
	uint32_t row = cpa_address_find(CPA_STREAM_CONNECTION, to, size);
	int type = row ? option(fd, SO_TYPE) : 0;

	return type == SOCK_STREAM || type == SOCK_SEQPACKET ? row : 0;
}

/* A connection by the address of who made it, @who; 0: not known. */
static uint64_t name_by_address(const struct address *who)
{
	struct cpa_end end;

	return cpa_end_of(&who->name, who->size, &end) ?
		       cpa_stream_key(CPA_STREAM_CONNECTION, end.high, end.low, end.port) :
		       0;
}

uint64_t cpa_look_connected(int fd)
{
	struct address own = address_of(SYS_getsockname, fd);

	return own.name.ss_family == AF_UNIX ? (uint64_t)cpa_kernel(SYS_getpid) :
					       name_by_address(&own);
}

uint64_t cpa_look_accepted(int fd)
{
	struct address other = address_of(SYS_getpeername, fd);
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);

	if (other.name.ss_family != AF_UNIX)
		return name_by_address(&other);
	/* The kernel keeps the process that connected. */
	if (cpa_kernel(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) || peer.pid < 0)
		return 0;
	return (uint64_t)peer.pid;
}

/* Consoles, serial lines, and both ends of pseudo terminals, by the number of their driver. */
static bool is_terminal(unsigned driver)
{
	return driver == TTY_MAJOR || driver == TTYAUX_MAJOR ||
	       (driver >= UNIX98_PTY_MASTER_MAJOR &&
		driver < UNIX98_PTY_SLAVE_MAJOR + UNIX98_PTY_MAJOR_COUNT);
}

/* A file without a name is told by what the kernel calls it: "anon_inode:[timerfd]". */
static enum cpa_stream_kind unnamed_kind(int fd)
{
	static const struct {
		char text[12];
		enum cpa_stream_kind kind;
	} kinds[] = {
		{ "[timerfd]", CPA_STREAM_TIMER },   { "[signalfd]", CPA_STREAM_SIGNALS },
		{ "inotify", CPA_STREAM_FILES },     { "[fanotify]", CPA_STREAM_FILES },
		{ "[eventfd]", CPA_STREAM_EVENTFD }, { "[io_uring]", CPA_STREAM_RING },
	};
	static const char prefix[] = "anon_inode:";
	char path[CPA_FD_PATH], name[32];
	long n = cpa_kernel(SYS_readlinkat, AT_FDCWD,
			    cpa_fd_path(path, "/proc/thread-self/fd/", fd), name, sizeof(name) - 1);

	name[n > 0 ? n : 0] = 0;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(name, prefix, sizeof(prefix) - 1) &&
		    !strcmp(name + sizeof(prefix) - 1, kinds[i].text))
			return kinds[i].kind;
	return CPA_STREAM_UNKNOWN;
}

/* Of what kind a descriptor is that is neither a pipe nor a socket. 0: a file, which nobody waits for. */
static enum cpa_stream_kind other_kind(int fd, const struct stat *st)
{
	if (S_ISCHR(st->st_mode))
		return is_terminal(major(st->st_rdev)) ? CPA_STREAM_TERMINAL : CPA_STREAM_DEVICE;
	return st->st_mode & S_IFMT ? 0 : unnamed_kind(fd);
}

static uint64_t look_device(int fd, const struct stat *st)
{
	uint64_t word = 0;

	if (cpa_terminal_is_master(st))
		word = cpa_terminal_master(fd, st);
	else if (cpa_terminal_is_slave(st))
		word = cpa_terminal_slave(st);
	return word ? word : other_of(other_kind(fd, st));
}

static uint64_t look_other(int fd, const struct stat *st)
{
	enum cpa_stream_kind kind = other_kind(fd, st);
	uint32_t row = kind == CPA_STREAM_EVENTFD ? cpa_eventfd_find(fd) : 0;

	return row ? cpa_descriptor_of(row, row) : other_of(kind);
}

uint64_t cpa_look(struct cpa_worker *w, int fd)
{
	struct stat st;

	/* The system call, not fstat(), which some old programs replace. */
	if (cpa_kernel(SYS_fstat, fd, &st))
		return 0;
	if (S_ISFIFO(st.st_mode))
		return look_pipe(fd, &st);
	if (S_ISSOCK(st.st_mode))
		return look_socket(w, fd, &st);
	if (S_ISCHR(st.st_mode))
		return look_device(fd, &st);
	return look_other(fd, &st);
}
