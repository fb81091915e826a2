/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/cancel_calls.h - calls of the kernel that are cancellation points and wait
 *
 * Each blocks for ever, or for minutes, on what prepare_calls() made. Those that come back at once
 * because there is nothing to wait for go on to pause().
 */
#ifndef CPA_TESTS_CONFORMANCE_CANCEL_CALLS_H
#define CPA_TESTS_CONFORMANCE_CANCEL_CALLS_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <threads.h>

#include "tests/conformance/case.h"

static int pipe_fds[2], full_pipe[2], sockets[2], full_sockets[2], listening, messages;

static void fill(int fd)
{
	static const char bytes[4096];

	must(!fcntl(fd, F_SETFL, O_NONBLOCK), "fcntl");
	while (write(fd, bytes, sizeof(bytes)) > 0)
		;
	while (write(fd, bytes, 1) > 0)
		;
	must(!fcntl(fd, F_SETFL, 0), "fcntl");
}

static void prepare_calls(void)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };

	must(!pipe(pipe_fds) && !pipe(full_pipe), "pipe");
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, full_sockets), "socketpair");
	fill(full_pipe[1]);
	fill(full_sockets[1]);
	listening = socket(AF_UNIX, SOCK_STREAM, 0);
	/* Without a name the kernel chooses one. */
	must(!bind(listening, (struct sockaddr *)&any, sizeof(sa_family_t)) &&
		     !listen(listening, 1),
	     "listen");
	messages = msgget(IPC_PRIVATE, 0600);
}

static void end_calls(void)
{
	if (messages >= 0)
		msgctl(messages, IPC_RMID, NULL);
}

static void call_read(void)
{
	char byte;

	read(pipe_fds[0], &byte, 1);
}

static void call_readv(void)
{
	char byte;
	struct iovec to = { &byte, 1 };

	readv(pipe_fds[0], &to, 1);
}

static void call_preadv2(void)
{
	char byte;
	struct iovec to = { &byte, 1 };

	preadv2(pipe_fds[0], &to, 1, -1, 0);
}

static void call_write(void)
{
	write(full_pipe[1], "", 1);
}

static void call_writev(void)
{
	char byte = 0;
	struct iovec from = { &byte, 1 };

	writev(full_pipe[1], &from, 1);
}

static void call_pwritev2(void)
{
	char byte = 0;
	struct iovec from = { &byte, 1 };

	pwritev2(full_pipe[1], &from, 1, -1, 0);
}

static void call_recv(void)
{
	char byte;

	recv(sockets[0], &byte, 1, 0);
}

static void call_recvfrom(void)
{
	char byte;

	recvfrom(sockets[0], &byte, 1, 0, NULL, NULL);
}

static void call_recvmsg(void)
{
	char byte;
	struct iovec to = { &byte, 1 };
	struct msghdr message = { .msg_iov = &to, .msg_iovlen = 1 };

	recvmsg(sockets[0], &message, 0);
}

static void call_send(void)
{
	send(full_sockets[1], "", 1, 0);
}

static void call_sendto(void)
{
	sendto(full_sockets[1], "", 1, 0, NULL, 0);
}

static void call_sendmsg(void)
{
	char byte = 0;
	struct iovec from = { &byte, 1 };
	struct msghdr message = { .msg_iov = &from, .msg_iovlen = 1 };

	sendmsg(full_sockets[1], &message, 0);
}

static void call_accept(void)
{
	accept(listening, NULL, NULL);
}

static void call_accept4(void)
{
	accept4(listening, NULL, NULL, SOCK_CLOEXEC);
}

static void call_nanosleep(void)
{
	sleep_ms(300000);
}

static void call_clock_nanosleep(void)
{
	struct timespec t = at(FAR, CLOCK_MONOTONIC);

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void call_thrd_sleep(void)
{
	struct timespec t = { 300, 0 };

	thrd_sleep(&t, NULL);
}

static void call_sleep(void)
{
	sleep(300);
}

static void call_usleep(void)
{
	usleep(300000000);
}

static void call_poll(void)
{
	struct pollfd p = { pipe_fds[0], POLLIN, 0 };

	poll(&p, 1, 300000);
}

static void call_ppoll(void)
{
	struct pollfd p = { pipe_fds[0], POLLIN, 0 };

	ppoll(&p, 1, NULL, NULL);
}

static void call_select(void)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(pipe_fds[0], &in);
	select(pipe_fds[0] + 1, &in, NULL, NULL, NULL);
}

static void call_pselect(void)
{
	fd_set in;

	FD_ZERO(&in);
	FD_SET(pipe_fds[0], &in);
	pselect(pipe_fds[0] + 1, &in, NULL, NULL, NULL, NULL);
}

static int epoll_fd(void)
{
	static int fd = -1;

	if (fd < 0)
		fd = epoll_create1(0);
	return fd;
}

static void call_epoll_wait(void)
{
	struct epoll_event event;

	epoll_wait(epoll_fd(), &event, 1, -1);
}

static void call_epoll_pwait(void)
{
	struct epoll_event event;

	epoll_pwait(epoll_fd(), &event, 1, -1, NULL);
}

static void call_pause(void)
{
	pause();
}

static void call_sigwait(void)
{
	sigset_t set;
	int sig;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &sig);
}

static void call_sigwaitinfo(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwaitinfo(&set, NULL);
}

static void call_sigtimedwait(void)
{
	struct timespec t = { 300, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigtimedwait(&set, NULL, &t);
}

static void call_sigsuspend(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigsuspend(&set);
}

static void call_wait(void)
{
	wait(NULL);
	pause(); /* no children */
}

static void call_waitpid(void)
{
	int status;

	waitpid(-1, &status, 0);
	pause();
}

static void call_waitid(void)
{
	siginfo_t info;

	waitid(P_ALL, 0, &info, WEXITED);
	pause();
}

static void call_open(void)
{
	close(open("/dev/null", O_RDONLY));
	pause();
}

static void call_fsync(void)
{
	fsync(pipe_fds[0]);
	fdatasync(pipe_fds[0]);
	pause();
}

static void call_msgrcv(void)
{
	struct {
		long type;
		char text[8];
	} message;

	msgrcv(messages, &message, sizeof(message.text), 0, 0);
	pause(); /* without System V messages */
}

static void call_testcancel(void)
{
	for (;;)
		pthread_testcancel();
}

#endif
