/* SPDX-License-Identifier: MIT */
/* preload/libc/fortified.h - what programs call that are built with _FORTIFY_SOURCE; the C library declares it for them only */
#ifndef CPA_PRELOAD_LIBC_FORTIFIED_H
#define CPA_PRELOAD_LIBC_FORTIFIED_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>

ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *to, size_t n, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *restrict to, size_t n, size_t room, int flags,
		       __SOCKADDR_ARG from, socklen_t *restrict length);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

#endif
