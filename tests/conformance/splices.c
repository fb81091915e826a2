/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/splices.c - calls that move bytes between pipes and sockets: what they return
 */
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>

#include "tests/conformance/asleep.h"
#include "tests/conformance/case.h"

#define PAGE 4096

static char bytes[16 * PAGE];
static int one[2], two[2], sockets[2];

static void opens(void)
{
	must(!pipe(one) && !pipe(two), "pipe");
	must(fcntl(two[1], F_SETPIPE_SZ, PAGE) == PAGE, "F_SETPIPE_SZ");
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
}

static void closes(void)
{
	for (int i = 0; i < 2; i++) {
		close(one[i]);
		close(two[i]);
		close(sockets[i]);
	}
}

static long waiting(int fd)
{
	int n = -1;

	ioctl(fd, FIONREAD, &n);
	return n;
}

static long fill(int fd, size_t n)
{
	return write(fd, bytes, n);
}

static void bad_arguments(void)
{
	off64_t at = 0;
	int file = open("/dev/null", O_RDWR);

	opens();
	begin("bad arguments");
	DO("fill", fill(one[1], 100));
	DO("no in", splice(-1, NULL, two[1], NULL, 10, 0));
	DO("no out", splice(one[0], NULL, -1, NULL, 10, 0));
	DO("wrong ends", splice(one[1], NULL, two[0], NULL, 10, 0));
	DO("same pipe", splice(one[0], NULL, one[1], NULL, 10, 0));
	DO("no pipe", splice(sockets[0], NULL, file, NULL, 10, 0));
	DO("at of in", splice(one[0], &at, two[1], NULL, 10, 0));
	DO("at of out", splice(one[0], NULL, two[1], &at, 10, 0));
	DO("bad flags", splice(one[0], NULL, two[1], NULL, 10, 0xff00));
	DO("nothing", splice(one[0], NULL, two[1], NULL, 0, 0));
	DO("tee nothing", tee(one[0], two[1], 0, 0));
	DO("tee to a socket", tee(one[0], sockets[0], 10, 0));
	DO("tee to itself", tee(one[0], one[1], 10, 0));
	DO("tee bad flags", tee(one[0], two[1], 10, 0xff00));
	DO("left", waiting(one[0]));
	DO("to a file", splice(one[0], NULL, file, NULL, 40, 0));
	DO("left", waiting(one[0]));
	DO("closed", close(file));
	end();
	closes();
}

static void counts(void)
{
	opens();
	begin("counts");
	DO("fill", fill(one[1], 100));
	DO("short", splice(one[0], NULL, two[1], NULL, 1000, 0));
	DO("read", read(two[0], bytes, 1000));
	DO("fill", fill(one[1], 100));
	DO("part", splice(one[0], NULL, two[1], NULL, 30, 0));
	DO("rest", splice(one[0], NULL, sockets[0], NULL, 1000, SPLICE_F_MORE));
	DO("recv", recv(sockets[1], bytes, 1000, 0));
	DO("read", read(two[0], bytes, 1000));
	DO("send", send(sockets[0], bytes, 50, 0));
	DO("from socket", splice(sockets[1], NULL, one[1], NULL, 1000, SPLICE_F_MOVE));
	DO("send", send(sockets[0], bytes, 30, 0));
	DO("sendfile", sendfile(two[1], sockets[1], NULL, 20));
	DO("sent", read(two[0], bytes, 1000));
	DO("sendfile short", sendfile(two[1], sockets[1], NULL, 20));
	DO("sent", read(two[0], bytes, 1000));
	DO("sendfile of a pipe", sendfile(two[1], one[0], NULL, 20));
	DO("copy", tee(one[0], two[1], 20, 0));
	DO("left", waiting(one[0]));
	DO("copied", read(two[0], bytes, 1000));
	DO("read", read(one[0], bytes, 1000));
	DO("large", fill(one[1], 3 * PAGE));
	DO("one page", splice(one[0], NULL, two[1], NULL, 3 * PAGE, 0));
	DO("left", waiting(one[0]));
	end();
	closes();
}

static void without_waiting(void)
{
	opens();
	begin("not to block");
	DO("empty", splice(one[0], NULL, two[1], NULL, 10, SPLICE_F_NONBLOCK));
	DO("tee empty", tee(one[0], two[1], 10, SPLICE_F_NONBLOCK));
	DO("fill", fill(one[1], 10));
	DO("full", fill(two[1], PAGE));
	DO("no room", splice(one[0], NULL, two[1], NULL, 10, SPLICE_F_NONBLOCK));
	DO("tee no room", tee(one[0], two[1], 10, SPLICE_F_NONBLOCK));
	fcntl(one[0], F_SETFL, O_NONBLOCK);
	fcntl(two[1], F_SETFL, O_NONBLOCK);
	fcntl(sockets[1], F_SETFL, O_NONBLOCK);
	DO("ends say so", splice(one[0], NULL, two[1], NULL, 10, 0));
	DO("read", read(one[0], bytes, 10));
	DO("read", read(two[0], bytes, PAGE));
	DO("ends say so", splice(one[0], NULL, two[1], NULL, 10, 0));
	DO("socket", splice(sockets[1], NULL, two[1], NULL, 10, 0));
	end();
	closes();
}

static void closed_peers(void)
{
	signal(SIGPIPE, SIG_IGN);
	opens();
	begin("closed peers");
	DO("fill", fill(one[1], 10));
	close(two[0]);
	DO("nobody reads", splice(one[0], NULL, two[1], NULL, 10, 0));
	DO("tee nobody reads", tee(one[0], two[1], 10, 0));
	close(sockets[1]);
	DO("no socket", splice(one[0], NULL, sockets[0], NULL, 10, 0));
	DO("left", waiting(one[0]));
	close(two[1]);
	must(!pipe(two), "pipe");
	close(one[1]);
	DO("rest", splice(one[0], NULL, two[1], NULL, 100, 0));
	DO("end", splice(one[0], NULL, two[1], NULL, 100, 0));
	DO("tee end", tee(one[0], two[1], 100, 0));
	DO("socket end", splice(sockets[0], NULL, two[1], NULL, 100, 0));
	DO("read", read(two[0], bytes, 100));
	end();
	close(one[0]);
	close(two[0]);
	close(two[1]);
	close(sockets[0]);
}

static sigjmp_buf out;
static bool jumps;
static volatile int waits; /* thread that is about to block */

static void handler(int number)
{
	(void)number;
	if (jumps)
		siglongjmp(out, 1);
}

static void *interrupts(void *thread)
{
	await_asleep(&waits);
	pthread_kill(*(pthread_t *)thread, SIGUSR1);
	return NULL;
}

/* A call that blocks is interrupted, or left by a jump. Then it works as before. */
static void interrupted(const char *name, bool jump, bool no_room)
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t self = pthread_self(), t;

	opens();
	sigaction(SIGUSR1, &action, NULL);
	begin("%s", name);
	if (no_room) {
		DO("fill", fill(one[1], 10));
		DO("full", fill(two[1], PAGE));
	}
	jumps = jump;
	waits = 0;
	must(!pthread_create(&t, NULL, interrupts, &self), "pthread_create");
	if (!sigsetjmp(out, 1)) {
		__atomic_store_n(&waits, gettid(), __ATOMIC_RELEASE);
		DO("returns", splice(one[0], NULL, two[1], NULL, 10, 0));
	} else {
		add(" jumped");
	}
	pthread_join(t, NULL);
	if (no_room)
		DO("read", read(two[0], bytes, PAGE));
	else
		DO("fill", fill(one[1], 10));
	DO("again", splice(one[0], NULL, two[1], NULL, 10, 0));
	DO("read", read(two[0], bytes, PAGE));
	end();
	closes();
}

static void *moves(void *is_tee)
{
	__atomic_store_n(&waits, gettid(), __ATOMIC_RELEASE);
	if (is_tee)
		tee(one[0], two[1], 10, 0);
	else
		splice(one[0], NULL, two[1], NULL, 10, 0);
	return NULL;
}

static void cancelled(const char *name, bool is_tee)
{
	void *result = NULL;
	pthread_t t;

	opens();
	begin("%s", name);
	waits = 0;
	must(!pthread_create(&t, NULL, moves, is_tee ? bytes : NULL), "pthread_create");
	await_asleep(&waits);
	DO("cancel", pthread_cancel(t));
	DO("join", pthread_join(t, &result));
	DO("was cancelled", result == PTHREAD_CANCELED);
	DO("fill", fill(one[1], 10));
	DO("splice", splice(one[0], NULL, two[1], NULL, 10, 0));
	DO("read", read(two[0], bytes, 100));
	end();
	closes();
}

static void *relays(void *unused)
{
	while (splice(one[0], NULL, sockets[0], NULL, sizeof(bytes), 0) > 0)
		;
	shutdown(sockets[0], SHUT_WR);
	return unused;
}

static void *writes(void *unused)
{
	for (unsigned i = 0; i < 200; i++)
		must(write(one[1], bytes, 40000) == 40000, "write");
	close(one[1]);
	return unused;
}

/* All bytes arrive, in their order, whoever waits for whom. */
static void much(void)
{
	unsigned long sum = 0, all = 0;
	pthread_t t[2];
	ssize_t n;

	opens();
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7 + i / 251);
	must(!pthread_create(&t[0], NULL, writes, NULL), "pthread_create");
	must(!pthread_create(&t[1], NULL, relays, NULL), "pthread_create");
	while ((n = read(sockets[1], bytes + 40000, 20000)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + (unsigned char)bytes[40000 + i];
		all += (unsigned long)n;
	}
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	begin("much");
	add(" bytes=%lu sum=%lu", all, sum);
	end();
	close(one[0]);
	close(two[0]);
	close(two[1]);
	close(sockets[0]);
	close(sockets[1]);
}

int main(void)
{
	bad_arguments();
	counts();
	without_waiting();
	closed_peers();
	interrupted("interrupted for bytes", false, false);
	interrupted("interrupted for room", false, true);
	interrupted("left by a jump for bytes", true, false);
	interrupted("left by a jump for room", true, true);
	cancelled("cancelled splice", false);
	cancelled("cancelled tee", true);
	much();
	return 0;
}
