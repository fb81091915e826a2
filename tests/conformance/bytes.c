/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/bytes.c - reads and writes whose memory is not there, or not for long
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "tests/conformance/case.h"

#define ROUNDS 2000

static void *page(int how)
{
	void *p = mmap(NULL, 4096, how, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	must(p != MAP_FAILED, "mmap");
	return p;
}

/* Calls with memory that may not be used. */
static void no_memory(void)
{
	char *none = page(PROT_NONE), *only = page(PROT_READ);
	char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *last = two + 4092; /* four bytes before memory that is not there */
	struct iovec pieces[2] = { { none, 8 }, { two, 8 } };
	int fd = eventfd(0, EFD_NONBLOCK), ends[2];
	struct msghdr message = { .msg_iov = (struct iovec *)none, .msg_iovlen = 1 };

	must(two != MAP_FAILED && !munmap(two + 4096, 4096), "two pages");
	must(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), "socketpair");
	begin("eventfd");
	DO("none", write(fd, none, 8));
	DO("end", write(fd, last, 8));
	DO("short", write(fd, last, 4));
	DO("empty", write(fd, none, 0));
	DO("pieces", writev(fd, pieces, 2));
	DO("set", eventfd_write(fd, 7));
	DO("into none", read(fd, none, 8));
	DO("again", eventfd_write(fd, 7));
	DO("into what is read only", read(fd, only, 8));
	DO("last", eventfd_write(fd, 7));
	DO("good", read(fd, two, 8));
	add(" value=%d", *two);
	two[0] = 0;
	DO("nothing", write(fd, two, 8));
	memset(two, 0xff, 8);
	DO("too much", write(fd, two, 8));
	end();
	begin("socket");
	DO("none", write(ends[0], none, 8));
	DO("message", sendmsg(ends[0], &message, 0));
	DO("receive message", recvmsg(ends[1], &message, 0));
	DO("send", send(ends[0], "12345678", 8, 0));
	DO("into none", recv(ends[1], none, 8, 0));
	DO("pieces", readv(ends[1], pieces, 2));
	DO("pieces none", readv(ends[1], (struct iovec *)none, 2));
	DO("no pieces", readv(ends[1], pieces, 0));
	DO("pieces at -1", preadv2(ends[1], pieces, 2, -1, 0));
	DO("pieces none at -1", preadv64v2(ends[1], (struct iovec *)none, 2, -1, 0));
	DO("pieces at 0", preadv2(ends[1], pieces + 1, 1, 0, 0));
	DO("from pieces at -1", pwritev2(ends[0], pieces, 2, -1, 0));
	DO("from pieces none at -1", pwritev64v2(ends[0], (struct iovec *)none, 2, -1, 0));
	DO("from pieces at 0", pwritev2(ends[0], pieces + 1, 1, 0, 0));
	DO("does not wait", preadv2(ends[0], pieces + 1, 1, -1, RWF_NOWAIT));
	DO("nothing", recv(ends[1], none, 0, 0));
	pieces[0].iov_len = pieces[1].iov_len = 0;
	DO("empty pieces", readv(ends[1], pieces, 2));
	message.msg_iov = pieces;
	DO("empty message", recvmsg(ends[1], &message, 0));
	DO("good", recv(ends[1], two, 8, 0));
	end();
	close(fd);
	close(ends[0]);
	close(ends[1]);
}

static uint64_t *volatile passed; /* what is written; whoever is woken unmaps it */
static int waking, woken;

static void *is_woken(void *sum)
{
	uint64_t value;

	for (int i = 0; i < ROUNDS; i++) {
		must(read(waking, &value, sizeof(value)) == sizeof(value), "read");
		munmap(passed, 4096);
		*(uint64_t *)sum += value;
		value = 1;
		must(write(woken, &value, sizeof(value)) == sizeof(value), "write");
	}
	return NULL;
}

/* The memory of a write is gone as soon as somebody is woken by it. */
static void gone_when_woken(void)
{
	uint64_t sum = 0, value;
	pthread_t t;

	waking = eventfd(0, 0);
	woken = eventfd(0, 0);
	must(!pthread_create(&t, NULL, is_woken, &sum), "pthread_create");
	for (int i = 0; i < ROUNDS; i++) {
		passed = page(PROT_READ | PROT_WRITE);
		*passed = 3;
		must(write(waking, passed, sizeof(*passed)) == sizeof(*passed), "write");
		must(read(woken, &value, sizeof(value)) == sizeof(value), "read");
	}
	pthread_join(t, NULL);
	begin("memory of a write that is gone when the reader is woken");
	add(" sum=%ld", (long)sum);
	end();
}

int main(void)
{
	no_memory();
	gone_when_woken();
	return 0;
}
