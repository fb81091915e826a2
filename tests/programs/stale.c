/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stale.c - uses of descriptors that are no longer, or still, ends of a stream
 *
 * `stale CASE`: the streams of each case have as many bytes as tests/e2e/streams.py says; whatever else
 * is written or read are files that have the number before or after.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <pty.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>

#define ROUNDS 4000
#define TURNS  64 /* by which a close may come later than a read: some 100 ns each */

static char bytes[100];

static void must(int good)
{
	if (!good)
		abort();
}

static void *sleeps(void *argument)
{
	pause();
	return argument;
}

/* Calls that would close an end, but fail. In a process with threads, which cannot look again. */
static void failed(void)
{
	pthread_t t;
	int ends[2];

	must(!pthread_create(&t, NULL, sleeps, NULL));
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	must(write(ends[1], bytes, 2) == 2);
	must(dup2(-1, ends[0]) < 0 && dup2(-1, ends[1]) < 0);
	must(dup3(ends[1], ends[0], 1) < 0 && dup3(ends[0], ends[0], 0) < 0);
	must(close_range((unsigned)ends[0], (unsigned)ends[1], 1 << 30) < 0);
	must(write(ends[1], bytes, 3) == 3 && read(ends[0], bytes, 5) == 5);
}

static int number, turn;
static pthread_barrier_t both;

static void *reads(void *argument)
{
	char byte;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_barrier_wait(&both);
		for (int wait = 0; wait < turn; wait++)
			__asm__ volatile("pause");
		(void)!read(number, &byte, 1);
		pthread_barrier_wait(&both);
	}
	return argument;
}

/* One thread closes the number and opens another file there while another first reads it. */
static void closed_beside(void)
{
	pthread_t t;
	int ends[2], file;

	pthread_barrier_init(&both, NULL, 2);
	must(!pthread_create(&t, NULL, reads, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		must(!pipe(ends) && write(ends[1], bytes, 1) == 1);
		number = ends[0];
		turn = i % TURNS;
		pthread_barrier_wait(&both);
		close(ends[0]);
		file = open("/dev/zero", O_RDWR);
		pthread_barrier_wait(&both);
		must(file == ends[0] && read(file, bytes, sizeof(bytes)) == sizeof(bytes));
		close(file);
		close(ends[1]);
	}
	pthread_join(t, NULL);
}

/* Standard output is a pipe of 2 bytes, read. Return the end for reading. */
static int output_to_pipe(void)
{
	int ends[2];

	must(!pipe(ends) && dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO && !close(ends[1]));
	must(write(STDOUT_FILENO, bytes, 2) == 2 && read(ends[0], bytes, 2) == 2);
	return ends[0];
}

static void by_daemon(void)
{
	output_to_pipe();
	must(!daemon(1, 0));
	must(write(STDOUT_FILENO, bytes, sizeof(bytes)) == sizeof(bytes));
}

static void by_login_tty(void)
{
	int master, slave, status;
	pid_t child;

	must(!openpty(&master, &slave, NULL, NULL, NULL));
	child = fork();
	if (!child) {
		output_to_pipe();
		must(!login_tty(slave));
		must(write(STDOUT_FILENO, bytes, sizeof(bytes)) == sizeof(bytes));
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && !status);
}

static void by_forkpty(void)
{
	int master, status;
	pid_t child, grandchild;

	child = fork();
	if (!child) {
		output_to_pipe();
		grandchild = forkpty(&master, NULL, NULL, NULL);
		must(grandchild >= 0);
		if (!grandchild) {
			must(write(STDOUT_FILENO, bytes, sizeof(bytes)) == sizeof(bytes));
			_exit(0);
		}
		must(waitpid(grandchild, &status, 0) == grandchild && !status);
		_exit(0);
	}
	must(waitpid(child, &status, 0) == child && !status);
}

/* Reads that ask for nothing. */
static void nothing(void)
{
	struct iovec pieces[2] = { { bytes, 0 }, { bytes, 0 } };
	struct msghdr message = { .msg_iov = pieces, .msg_iovlen = 2 };
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	must(write(ends[1], bytes, 5) == 5);
	must(!read(ends[0], bytes, 0) && !recv(ends[0], bytes, 0, 0));
	must(!recvfrom(ends[0], bytes, 0, 0, NULL, NULL));
	must(!readv(ends[0], pieces, 2) && !recvmsg(ends[0], &message, 0));
	must(read(ends[0], bytes, 5) == 5);
}

/* What is left in the buffer of standard output goes to the pipe at exit, after all destructors. */
static void at_exit(void)
{
	int ends[2], status;
	pid_t child;

	must(!pipe(ends));
	child = fork();
	if (!child) {
		must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO);
		must(!close(ends[0]) && !close(ends[1]));
		must(printf("seven\n\n") == 7);
		exit(0);
	}
	must(!close(ends[1]));
	must(read(ends[0], bytes, sizeof(bytes)) == 7);
	must(!read(ends[0], bytes, sizeof(bytes)));
	must(waitpid(child, &status, 0) == child && !status);
}

#define FROM 10
#define TO   11

/* Each end of a connection has a copy that stays when the other descriptor is closed, and in the next program. */
static void copied(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int listens = socket(AF_INET, SOCK_STREAM, 0), to = socket(AF_INET, SOCK_STREAM, 0), from;
	socklen_t size = sizeof(at);

	must(!bind(listens, (struct sockaddr *)&at, size) && !listen(listens, 1));
	must(!getsockname(listens, (struct sockaddr *)&at, &size));
	must(!connect(to, (struct sockaddr *)&at, size));
	from = accept(listens, NULL, NULL);
	must(from >= 0 && write(to, bytes, 5) == 5 && read(from, bytes, 2) == 2);
	must(dup2(from, FROM) == FROM && dup2(to, TO) == TO && !close(from) && !close(to));
	execl("/proc/self/exe", "stale", "copied_on", NULL);
}

static void copied_on(void)
{
	must(write(TO, bytes, 3) == 3 && read(FROM, bytes, 6) == 6);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = { { "failed", failed },	 { "closed_beside", closed_beside },
		      { "daemon", by_daemon },	 { "login_tty", by_login_tty },
		      { "forkpty", by_forkpty }, { "nothing", nothing },
		      { "at_exit", at_exit },	 { "copied", copied },
		      { "copied_on", copied_on } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name)) {
			cases[i].run();
			return 0;
		}
	return 2;
}
