/* SPDX-License-Identifier: MIT */
/*
 * preload/stream/calls.c - calls that open, close and copy descriptors
 *
 * Descriptors of ours are open for moments, with the lowest free number. Calls that take a number which the
 * program chooses, or a free one, exclude that: preload/libc/fd_guard.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utmp.h>

#include "preload/core/track.h"
#include "preload/libc/fd_guard.h"
#include "preload/libc/private_fds.h"
#include "preload/libc/real.h"
#include "preload/stream/descriptor.h"
#include "preload/stream/eventfd.h"
#include "preload/stream/holders.h"
#include "preload/stream/look.h"
#include "preload/stream/terminal.h"
#include "shadow/store/kernel.h"

/* The program has closed the numbers from @first to @last. errno is kept. */
static void closed(unsigned first, unsigned last)
{
	cpa_descriptor_closed(first, last);
	cpa_private_fds_closed();
}

/* Both ends of a new pipe, or pair of unix sockets of @type, know each other from the start. 0: a pipe. */
static __attribute__((noinline)) void paired(const int ends[2], int type)
{
	bool inside = cpa_tls.inside;
	int err = errno;
	uint64_t words[2];

	cpa_reenter();
	if (type)
		cpa_look_pair(ends, type, words);
	else
		cpa_look_pipe(ends, words);
	cpa_tls.inside = inside;
	for (unsigned i = 0; i < 2; i++)
		cpa_descriptor_made(ends[i], words[i]);
	errno = err;
}

static void cancelled(void *closing)
{
	cpa_descriptor_cancelled(*(uint32_t *)closing);
}

/* A close that succeeds or fails leaves no descriptor that is known. A cancellation point. */
CPA_EXPORT int close(int fd)
{
	uint32_t closing = cpa_descriptor_closing(fd, CPA_CALLER());
	int ret;

	pthread_cleanup_push(cancelled, &closing);
	ret = REAL(close)(fd);
	pthread_cleanup_pop(0);
	closed((unsigned)fd, (unsigned)fd);
	cpa_descriptor_was_closed(closing);
	return ret;
}

static void piped(const int ends[2])
{
	if (likely(*cpa_alive)) {
		paired(ends, 0);
		return;
	}
	cpa_descriptor_set(ends[0], CPA_DESCRIPTOR_PROMISING);
	cpa_descriptor_set(ends[1], CPA_DESCRIPTOR_PROMISING);
}

CPA_EXPORT int pipe(int ends[2])
{
	int ret;

	cpa_holders_move();
	cpa_fd_guard_place();
	ret = REAL(pipe)(ends);
	cpa_fd_guard_placed();
	if (!ret)
		piped(ends);
	cpa_holders_moved();
	return ret;
}

CPA_EXPORT int pipe2(int ends[2], int flags)
{
	int ret;

	cpa_holders_move();
	cpa_fd_guard_place();
	ret = REAL(pipe2)(ends, flags);
	cpa_fd_guard_placed();
	if (!ret)
		piped(ends);
	cpa_holders_moved();
	return ret;
}

CPA_EXPORT int dup(int from)
{
	int ret;

	cpa_holders_move();
	cpa_fd_guard_place();
	ret = REAL(dup)(from);
	cpa_fd_guard_placed();
	cpa_descriptor_copied(from, ret);
	cpa_holders_moved();
	return ret;
}

static bool is_copy(int command)
{
	return command == F_DUPFD || command == F_DUPFD_CLOEXEC;
}

/*
 * fcntl() has a third argument or none. Both kinds of call pass it in the register of a third parameter, so
 * that one function serves them. A command that copies no descriptor costs a test and a jump. A cancellation point.
 */
#define FCNTL(name)                                                                    \
	CPA_EXPORT int own_##name(int fd, int command, void *argument) __asm__(#name); \
                                                                                       \
	int own_##name(int fd, int command, void *argument)                            \
	{                                                                              \
		int ret;                                                               \
                                                                                       \
		if (likely(!is_copy(command)))                                         \
			return REAL(name)(fd, command, argument);                      \
		cpa_holders_move();                                                    \
		cpa_fd_guard_place();                                                  \
		ret = REAL(name)(fd, command, argument);                               \
		cpa_fd_guard_placed();                                                 \
		cpa_descriptor_copied(fd, ret);                                        \
		cpa_holders_moved();                                                   \
		return ret;                                                            \
	}

FCNTL(fcntl)
FCNTL(fcntl64)

/*
 * @from is about to become @to, too, which closes that; but it does not, if there is no @from. As
 * cpa_descriptor_closing().
 */
static uint32_t replacing(int from, int to, uint64_t caller)
{
	int err = errno;
	uint32_t ret = 0;

	if (cpa_descriptor_is_kept(to) && cpa_descriptor_word(to) &&
	    cpa_kernel(SYS_fcntl, from, F_GETFD) >= 0)
		ret = cpa_descriptor_closing(to, caller);
	errno = err;
	return ret;
}

/* A call that was to copy @from to @to, which replacing() said was @closing, has returned @ret. */
static void replaced(int from, int to, int ret, uint32_t closing)
{
	if (unlikely(closing && ret < 0)) /* it is not known whether @to is still open */
		cpa_holders_lost();
	closed((unsigned)to, (unsigned)to);
	cpa_descriptor_was_closed(closing);
	cpa_descriptor_copied(from, ret);
	cpa_holders_moved();
}

CPA_EXPORT int dup2(int from, int to)
{
	uint32_t closing;
	int ret;

	if (from == to)
		return REAL(dup2)(from, to);
	cpa_holders_move();
	closing = replacing(from, to, CPA_CALLER());
	cpa_fd_guard_place();
	ret = REAL(dup2)(from, to);
	cpa_fd_guard_placed();
	replaced(from, to, ret, closing);
	return ret;
}

CPA_EXPORT int dup3(int from, int to, int flags)
{
	uint32_t closing = 0;
	int ret;

	cpa_holders_move();
	if (from != to && !(flags & ~O_CLOEXEC))
		closing = replacing(from, to, CPA_CALLER());
	cpa_fd_guard_place();
	ret = REAL(dup3)(from, to, flags);
	cpa_fd_guard_placed();
	replaced(from, to, ret, closing);
	return ret;
}

/* The descriptors from @first to @last are about to be closed: the tick at which they are is still to come. */
static void closing_all(unsigned first, unsigned last, uint64_t caller)
{
	for (unsigned fd = first; fd <= last && fd < CPA_DESCRIPTORS; fd++)
		cpa_descriptor_was_closed(
			cpa_descriptor_not_timed(cpa_descriptor_closing((int)fd, caller)));
}

CPA_EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	int ret;

	/*
	 * At exec they are seen then. In a table of its own the caller closes them, and other threads
	 * look at theirs again.
	 */
	cpa_holders_move();
	if (flags & CLOSE_RANGE_UNSHARE)
		cpa_holders_astray();
	if (!(flags & ~CLOSE_RANGE_UNSHARE))
		closing_all(first, last, CPA_CALLER());
	cpa_fd_guard_place();
	ret = REAL(close_range)(first, last, flags);
	cpa_fd_guard_placed();
	closed(first, last);
	cpa_holders_moved();
	return ret;
}

CPA_EXPORT void closefrom(int first)
{
	cpa_holders_move();
	closing_all(first > 0 ? (unsigned)first : 0, UINT32_MAX, CPA_CALLER());
	cpa_fd_guard_place();
	REAL(closefrom)(first);
	cpa_fd_guard_placed();
	closed(first > 0 ? (unsigned)first : 0, UINT32_MAX);
	cpa_holders_moved();
}

/*
 * The C library writes what is left to the descriptor, puts another file in its place, and calls
 * neither close() nor the table of functions of the old file: preload/stream/stdio.c.
 */
static FILE *opened_again(FILE *file, int fd, uint64_t caller)
{
	int err = errno;

	cpa_descriptor_replaced(fd, caller);
	cpa_private_fds_closed();
	errno = err;
	return file;
}

CPA_EXPORT FILE *freopen(const char *restrict path, const char *restrict mode, FILE *restrict file)
{
	int fd = file->_fileno;

	return opened_again(REAL(freopen)(path, mode, file), fd, CPA_CALLER());
}

CPA_EXPORT FILE *freopen64(const char *restrict path, const char *restrict mode,
			   FILE *restrict file)
{
	int fd = file->_fileno;

	return opened_again(REAL(freopen64)(path, mode, file), fd, CPA_CALLER());
}

/* The C library has put another file at the standard descriptors. */
static void standard_replaced(uint64_t caller)
{
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		cpa_descriptor_replaced(fd, caller);
	cpa_private_fds_closed();
}

CPA_EXPORT int login_tty(int fd)
{
	int ret = REAL(login_tty)(fd);

	if (!ret) {
		standard_replaced(CPA_CALLER());
		if (fd > STDERR_FILENO)
			cpa_descriptor_replaced(fd, CPA_CALLER());
	}
	return ret;
}

/*
 * A master is looked at before anybody can open its slave: of a slave that is used before, it would not be
 * known that its master is in the session.
 */
CPA_EXPORT int unlockpt(int fd)
{
	int ret = REAL(unlockpt)(fd);

	if (!ret)
		cpa_descriptor_known(fd);
	return ret;
}

CPA_EXPORT int openpty(int *master, int *slave, char *name, const struct termios *settings,
		       const struct winsize *size)
{
	int ret = REAL(openpty)(master, slave, name, settings, size);

	if (!ret)
		cpa_descriptor_known(*master);
	return ret;
}

/* The standard descriptors are a terminal, whose master the parent has not looked at yet. */
static void terminal_begins(void)
{
	bool inside = cpa_tls.inside;
	int err = errno;

	if (!*cpa_alive)
		return;
	cpa_reenter();
	cpa_terminal_begin(STDIN_FILENO);
	cpa_tls.inside = inside;
	errno = err;
}

/* The C library's own login_tty() in the child is not seen. */
CPA_EXPORT int forkpty(int *terminal, char *name, const struct termios *settings,
		       const struct winsize *size)
{
	int ret = REAL(forkpty)(terminal, name, settings, size);

	if (ret > 0)
		cpa_descriptor_known(*terminal);
	if (ret)
		return ret;
	standard_replaced(CPA_CALLER());
	terminal_begins();
	return ret;
}

/* The child goes on, and the parent ends inside the original. */
CPA_EXPORT int daemon(int nochdir, int noclose)
{
	int ret;

	cpa_tls.ends = true;
	ret = REAL(daemon)(nochdir, noclose);
	cpa_tls.ends = false;
	if (!ret && !noclose)
		standard_replaced(CPA_CALLER());
	return ret;
}

CPA_EXPORT int socketpair(int domain, int type, int protocol, int ends[2])
{
	int ret;

	cpa_holders_move();
	cpa_fd_guard_place();
	ret = REAL(socketpair)(domain, type, protocol, ends);
	cpa_fd_guard_placed();
	if (!ret && *cpa_alive && domain == AF_UNIX)
		paired(ends, type & ~(SOCK_CLOEXEC | SOCK_NONBLOCK));
	cpa_holders_moved();
	return ret;
}

CPA_EXPORT int shutdown(int fd, int how)
{
	uint32_t shutting;
	int ret;

	if (how == SHUT_RD)
		return REAL(shutdown)(fd, how);
	shutting = cpa_descriptor_shutting(fd, CPA_CALLER());
	ret = REAL(shutdown)(fd, how);
	cpa_descriptor_was_shut(shutting);
	return ret;
}

CPA_EXPORT int eventfd(unsigned value, int flags)
{
	bool inside = cpa_tls.inside;
	int ret, err;

	cpa_fd_guard_place();
	ret = REAL(eventfd)(value, flags);
	cpa_fd_guard_placed();
	err = errno;
	if (ret >= 0 && *cpa_alive) {
		cpa_reenter();
		cpa_descriptor_set(ret, cpa_eventfd_made(ret, value));
		cpa_tls.inside = inside;
		errno = err;
	}
	return ret;
}
