/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_events.h - the cases of streams.c with eventfds
 */
#ifndef CPA_TESTS_PROGRAMS_STREAM_EVENTS_H
#define CPA_TESTS_PROGRAMS_STREAM_EVENTS_H

#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/programs/stream_work.h"

static int wake, done;

static void *work_when_woken(void *argument)
{
	uint64_t n;

	for (unsigned i = 0; i < ROUNDS; i++) {
		must(read(wake, &n, sizeof(n)) == sizeof(n));
		burn(2);
		must(!eventfd_write(done, 1));
	}
	return argument;
}

static int event(void)
{
	pthread_t thread;
	eventfd_t n;

	wake = eventfd(0, 0);
	done = eventfd(0, 0);
	must(wake >= 0 && done >= 0);
	pthread_create(&thread, NULL, work_when_woken, NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		n = 1;
		must(write(wake, &n, sizeof(n)) == sizeof(n));
		must(!eventfd_read(done, &n));
	}
	pthread_join(thread, NULL);
	return report(3 * ROUNDS, 3 * ROUNDS);
}

/* Wake who works in another process, and wait until it is done, ROUNDS times. */
static int wake_other(void)
{
	eventfd_t n;

	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(!eventfd_write(wake, 1));
		must(!eventfd_read(done, &n));
	}
	reap();
	return report(3 * ROUNDS, 3 * ROUNDS);
}

static void make_both(void)
{
	wake = eventfd(0, 0);
	done = eventfd(0, 0);
	must(wake >= 0 && done >= 0);
}

/* Two descriptors, in a message. */
union rights {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(2 * sizeof(int))];
};

static struct msghdr message_with(union rights *rights, struct iovec *part)
{
	return (struct msghdr){ .msg_iov = part,
				.msg_iovlen = 1,
				.msg_control = rights,
				.msg_controllen = sizeof(*rights) };
}

static void pass_both(int fd)
{
	union rights rights = { .head = { .cmsg_level = SOL_SOCKET,
					  .cmsg_type = SCM_RIGHTS,
					  .cmsg_len = CMSG_LEN(2 * sizeof(int)) } };
	struct iovec part = { "x", 1 };
	struct msghdr message = message_with(&rights, &part);

	memcpy(CMSG_DATA(&rights.head), (int[2]){ wake, done }, 2 * sizeof(int));
	must(sendmsg(fd, &message, 0) == 1);
}

static void receive_both(int fd)
{
	union rights rights;
	char byte;
	struct iovec part = { &byte, 1 };
	struct msghdr message = message_with(&rights, &part);
	int fds[2];

	must(recvmsg(fd, &message, 0) == 1 && CMSG_FIRSTHDR(&message));
	memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fds));
	wake = fds[0];
	done = fds[1];
}

/* In a message to a process that was there before they were made. */
static int event_passed(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHILD(receive_both(ends[1]); work_when_woken(NULL));
	make_both();
	pass_both(ends[0]);
	return wake_other();
}

/* The kernel gives numbers of eventfds again: one has been passed, and is closed everywhere. */
static int event_again(void)
{
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHILD(receive_both(ends[1]); close(wake); close(done); must(write(ends[1], "x", 1) == 1);
	      receive_both(ends[1]); work_when_woken(NULL));
	make_both();
	pass_both(ends[0]);
	close(wake);
	close(done);
	must(read(ends[0], (char[1]){ 0 }, 1) == 1);
	make_both();
	pass_both(ends[0]);
	return wake_other();
}

static int works_when_woken(void)
{
	wake = STDIN_FILENO;
	done = STDOUT_FILENO;
	work_when_woken(NULL);
	return 0;
}

/* By another program. */
static int event_inherited(void)
{
	make_both();
	CHILD(must(dup2(wake, STDIN_FILENO) == 0 && dup2(done, STDOUT_FILENO) == 1); close(wake);
	      close(done); execl(own, own, "works_when_woken", NULL));
	return wake_other();
}

static volatile int waits_for_room;

static void *empty_counter(void *argument)
{
	eventfd_t n;

	await_asleep(&waits_for_room);
	burn(3);
	must(!eventfd_read(wake, &n) && n == UINT64_MAX - 1);
	return argument;
}

/* A counter that is full, beyond what is counted: the second write waits until it is read. */
static int full_counter(void)
{
	pthread_t thread;

	wake = eventfd(0, 0);
	must(wake >= 0);
	must(!pthread_create(&thread, NULL, empty_counter, NULL));
	must(!eventfd_write(wake, UINT64_MAX - 1));
	waits_for_room = gettid();
	must(!eventfd_write(wake, 1));
	pthread_join(thread, NULL);
	return 0;
}

static pthread_barrier_t both_done;

/* A worker of a pool: takes any one token of each round. */
static void *take_tokens(void *argument)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		eventfd_t n;

		must(!eventfd_read(wake, &n) && n == 1);
		burn(2);
		must(!eventfd_write(done, 1));
		pthread_barrier_wait(&both_done);
	}
	return argument;
}

/* Two workers, which an eventfd that counts tokens wakes; the master waits for both. */
static int pool(void)
{
	pthread_t thread[2];

	wake = eventfd(0, EFD_SEMAPHORE);
	done = eventfd(0, 0);
	must(wake >= 0 && done >= 0 && !pthread_barrier_init(&both_done, NULL, 2));
	for (unsigned i = 0; i < 2; i++)
		must(!pthread_create(&thread[i], NULL, take_tokens, NULL));
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(!eventfd_write(wake, 2));
		for (eventfd_t n = 0, sum = 0; sum < 2; sum += n)
			must(!eventfd_read(done, &n));
	}
	for (unsigned i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return report((1 + 2) * ROUNDS, (1 + 2 * 2) * ROUNDS);
}

#endif
