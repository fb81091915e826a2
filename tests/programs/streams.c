/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/streams.c - threads and processes that hand work over by bytes
 *
 * The argument names a case. Work is in units of CPU time of its thread, so the longest chain of work
 * does not depend on how many processors there are. The last line on standard error is "path P work
 * W": the units on the critical path, and those of all threads together. tests/e2e/streams.py compares
 * the report with it.
 */
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/stream_events.h"
#include "tests/programs/stream_families.h"
#include "tests/programs/stream_rooms.h"
#include "tests/programs/stream_sockets.h"
#include "tests/programs/stream_splices.h"
#include "tests/programs/stream_terminals.h"
#include "tests/programs/stream_work.h"

/* Three stages in three processes. */
static void run_stages(unsigned a, unsigned b, unsigned c)
{
	int one[2], two[2];

	must(!pipe(one) && !pipe(two));
	CHILD(close(one[1]); close(two[0]); while (get(one[0])) {
		burn(b);
		put(two[1]);
	});
	CHILD(close(one[0]); close(one[1]); close(two[1]); while (get(two[0])) burn(c));
	close(one[0]);
	close(two[0]);
	close(two[1]);
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(a);
		put(one[1]);
	}
	close(one[1]);
	reap();
}

static int balanced(void)
{
	run_stages(2, 2, 2);
	return report(2 * (ROUNDS + 2), 6 * ROUNDS);
}

static int slow_stage(void)
{
	run_stages(1, 3, 1);
	return report(1 + 3 * ROUNDS + 1, 5 * ROUNDS);
}

/*
 * A pipe that has room for one message: the write of a message returns when the one before was taken
 * out, which the reader does when it has done with the one before that.
 */
static int small_buffer(void)
{
	static char page[4096];
	int ends[2];

	must(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, sizeof(page)) == sizeof(page));
	CHILD(close(ends[1]); while (read(ends[0], page, sizeof(page)) == sizeof(page)) burn(3));
	close(ends[0]);
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		must(write(ends[1], page, sizeof(page)) == sizeof(page));
	}
	burn(9);
	close(ends[1]);
	reap();
	return report(1 + 3 * (ROUNDS - 2) + 9, ROUNDS + 9 + 3 * ROUNDS);
}

/* The same, once: the reader begins to work when the writer waits for room. */
static int full_pipe(void)
{
	static char page[4096];
	volatile int *waits = shared_number();
	int ends[2];

	must(!pipe(ends) && fcntl(ends[1], F_SETPIPE_SZ, sizeof(page)) == sizeof(page));
	CHILD(close(ends[1]); await_asleep(waits); burn(3);
	      while (read(ends[0], page, sizeof(page)) == sizeof(page)));
	close(ends[0]);
	must(write(ends[1], page, sizeof(page)) == sizeof(page));
	*waits = getpid();
	must(write(ends[1], page, sizeof(page)) == sizeof(page));
	burn(9);
	close(ends[1]);
	reap();
	return report(3 + 9, 3 + 9);
}

/* Three children write to one pipe. */
static int fan_in(void)
{
	static const unsigned work[] = { 2, 5, 3 };
	int ends[2];

	must(!pipe(ends));
	for (unsigned i = 0; i < 3; i++)
		CHILD(close(ends[0]); burn(work[i]); put(ends[1]));
	close(ends[1]);
	for (unsigned i = 0; i < 3; i++)
		must(get(ends[0]));
	burn(1);
	reap();
	return report(5 + 1, 2 + 5 + 3 + 1);
}

/* Each child has a pipe of its own; all ends are seen as the end of another one. */
static int fan_out(void)
{
	int ends[3][2], over[2];

	must(!pipe(over));
	for (unsigned i = 0; i < 3; i++) {
		must(!pipe(ends[i]));
		CHILD(close(over[0]); must(get(ends[i][0])); burn(1 + 2 * i));
		close(ends[i][0]);
	}
	close(over[1]);
	for (unsigned i = 0; i < 3; i++) {
		burn(1);
		put(ends[i][1]);
	}
	get_end(over[0]);
	burn(2);
	reap();
	return report(3 + 5 + 2, 3 + 1 + 3 + 5 + 2);
}

/* What a loop of events and its worker share. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned asked, answered; /* jobs */
	int self[2];		  /* the pipe by which the worker wakes the loop */
} loop = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *work_for_loop(void *argument)
{
	for (unsigned i = 1; i <= ROUNDS; i++) {
		pthread_mutex_lock(&loop.lock);
		while (loop.asked < i)
			pthread_cond_wait(&loop.changed, &loop.lock);
		pthread_mutex_unlock(&loop.lock);
		burn(2);
		pthread_mutex_lock(&loop.lock);
		loop.answered = i;
		pthread_mutex_unlock(&loop.lock);
		must(write(loop.self[1], "", 1) == 1);
	}
	return argument;
}

/* A loop of events that is woken by a pipe to itself, and reads that until it is empty, as libuv's. */
static int self_pipe(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	pthread_t thread;
	char bytes[64];
	int all = epoll_create1(0);

	must(!pipe2(loop.self, O_NONBLOCK) && all >= 0);
	event.data.fd = loop.self[0];
	must(!epoll_ctl(all, EPOLL_CTL_ADD, loop.self[0], &event));
	must(!pthread_create(&thread, NULL, work_for_loop, NULL));
	for (unsigned i = 1; i <= ROUNDS; i++) {
		burn(1);
		pthread_mutex_lock(&loop.lock);
		loop.asked = i;
		pthread_cond_signal(&loop.changed);
		pthread_mutex_unlock(&loop.lock);
		must(epoll_wait(all, &event, 1, -1) == 1 && event.data.fd == loop.self[0]);
		while (read(loop.self[0], bytes, sizeof(bytes)) > 0)
			;
		must(loop.answered == i);
	}
	pthread_join(thread, NULL);
	return report((1 + 2) * ROUNDS, (1 + 2) * ROUNDS);
}

/* Two children, of which the quicker one has a longer sequel. @await waits until one is ready. */
static int two_children(int (*await)(const int fds[2]))
{
	int a[2], b[2], fds[2];
	int late = 0; /* the machine was so busy that the child with less to do came second */

	must(!pipe(a) && !pipe(b));
	CHILD(burn(2); put(a[1]));
	CHILD(burn(6); put(b[1]));
	fds[0] = a[0];
	fds[1] = b[0];
	for (unsigned i = 0; i < 2; i++) {
		int ready = await(fds);

		must(get(fds[ready]));
		late |= !i && ready;
		burn(ready ? 1 : 3);
		fds[ready] = -1;
	}
	reap();
	return report(late ? 6 + 1 + 3 : 6 + 1, 2 + 6 + 3 + 1);
}

static int await_poll(const int fds[2])
{
	struct pollfd p[2] = { { fds[0], POLLIN, 0 }, { fds[1], POLLIN, 0 } };

	must(poll(p, 2, -1) > 0);
	return !(p[0].revents & POLLIN);
}

static int await_select(const int fds[2])
{
	fd_set in;

	FD_ZERO(&in);
	for (unsigned i = 0; i < 2; i++)
		if (fds[i] >= 0)
			FD_SET(fds[i], &in);
	must(select(FD_SETSIZE, &in, NULL, NULL, NULL) > 0);
	return fds[0] < 0 || !FD_ISSET(fds[0], &in);
}

static int await_epoll(const int fds[2])
{
	struct epoll_event e = { .events = EPOLLIN };
	int epoll = epoll_create1(0);

	for (unsigned i = 0; i < 2; i++) {
		e.data.u64 = 1000 + i;
		if (fds[i] >= 0)
			must(!epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &e));
	}
	must(epoll_wait(epoll, &e, 1, -1) == 1);
	close(epoll);
	return e.data.u64 == 1001;
}

static int by_poll(void)
{
	return two_children(await_poll);
}

static int by_select(void)
{
	return two_children(await_select);
}

static int by_epoll(void)
{
	return two_children(await_epoll);
}

/* What programs call that are built with _FORTIFY_SOURCE; declared in no header. */
ssize_t __recvfrom_chk(int fd, void *restrict to, size_t n, size_t room, int flags,
		       __SOCKADDR_ARG from, socklen_t *restrict length);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
		size_t room);

static int fortified(void)
{
	struct pollfd p = { .events = POLLIN };
	char bytes[16];
	int ends[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	CHILD(close(ends[0]); put_rounds(ends[1], 2));
	close(ends[1]);
	p.fd = ends[0];
	for (unsigned i = 0; i < ROUNDS; i++) {
		must(i % 2 || __ppoll_chk(&p, 1, NULL, NULL, sizeof(p)) == 1);
		must(__recvfrom_chk(ends[0], bytes, 16, sizeof(bytes), 0, NULL, NULL) == 16);
		burn(1);
	}
	reap();
	return report(2 * ROUNDS + 1, 3 * ROUNDS);
}

/* Bytes that the kernel moves: from memory to a pipe, and from there to nowhere. */
static int spliced(void)
{
	struct iovec part = { "0123456789abcdef", 16 };
	int ends[2], nowhere = open("/dev/null", O_WRONLY);

	must(!pipe(ends));
	CHILD(close(ends[0]); for (unsigned i = 0; i < ROUNDS; i++) {
		burn(2);
		must(vmsplice(ends[1], &part, 1, 0) == 16);
	});
	close(ends[1]);
	while (splice(ends[0], NULL, nowhere, NULL, 16, 0) == 16)
		burn(1);
	reap();
	return report(2 * ROUNDS + 1, 3 * ROUNDS);
}

/* A child writes nothing, and its end is the end of the pipe. */
static int end_of_file(void)
{
	int ends[2];

	must(!pipe(ends));
	CHILD(close(ends[0]); burn(4));
	close(ends[1]);
	get_end(ends[0]);
	burn(2);
	reap();
	return report(4 + 2, 4 + 2);
}

/* Another program at the other end; both ends by stdio. */
static int by_popen(void)
{
	char command[4096], line[64];
	FILE *f;

	snprintf(command, sizeof(command), "exec '%s' lines", own);
	f = popen(command, "r");
	must(f != NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		must(fgets(line, sizeof(line), f) != NULL);
		burn(2);
	}
	must(pclose(f) == 0);
	return report(1 + 2 * ROUNDS, 3 * ROUNDS);
}

#define LINGERS_US 100000

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;

static void on_alarm(int sig)
{
	(void)sig;
	burn(2);
	pthread_mutex_lock(&taken);
	pthread_mutex_unlock(&taken);
}

/* A handler works while pclose() waits for a child whose profile has ended: see lingers(). */
static int popen_lingers(void)
{
	struct itimerval soon = { .it_value.tv_usec = LINGERS_US / 5 };
	char command[4096], line[64];
	FILE *f;

	snprintf(command, sizeof(command), "exec '%s' lingers", own);
	signal(SIGALRM, on_alarm);
	f = popen(command, "r");
	must(f != NULL);
	must(!fgets(line, sizeof(line), f));
	setitimer(ITIMER_REAL, &soon, NULL);
	must(pclose(f) == 0);
	return report(2, 2);
}

static void linger(void)
{
	syscall(SYS_close, STDOUT_FILENO);
	usleep(LINGERS_US);
}

/* Handlers of quick_exit() run when the profile has ended. */
static int lingers(void)
{
	at_quick_exit(linger);
	quick_exit(0);
}

static int lines(void)
{
	for (unsigned i = 0; i < ROUNDS; i++) {
		burn(1);
		printf("line %u\n", i);
		fflush(stdout);
	}
	return 0;
}

/* stdio on both sides of a fork. */
static int by_stdio(void)
{
	char line[64];
	int ends[2];
	FILE *f;

	must(!pipe(ends));
	CHILD(close(ends[0]); f = fdopen(ends[1], "w"); for (unsigned i = 0; i < ROUNDS; i++) {
		burn(2);
		fprintf(f, "line %u\n", i);
		fflush(f);
	} fclose(f));
	close(ends[1]);
	f = fdopen(ends[0], "r");
	for (unsigned i = 0; i < ROUNDS; i++) {
		must(fgets(line, sizeof(line), f) != NULL);
		burn(1);
	}
	must(fgets(line, sizeof(line), f) == NULL);
	fclose(f);
	reap();
	return report(2 * ROUNDS + 1, 3 * ROUNDS);
}

/*
 * Numbers of descriptors get other meanings inside the C library, or in a table of the process's own.
 * Each pipe has 2 bytes; 100 bytes go to a file.
 */
static int replaced(void)
{
	char bytes[100] = { 0 };
	int ends[2], file;
	FILE *f;

	for (unsigned i = 0; i < 2; i++) {
		f = popen("echo x", "r");
		must(f && fgets(bytes, sizeof(bytes), f) != NULL);
		must(pclose(f) == 0);
	}
	must(!pipe(ends));
	f = fdopen(ends[1], "w");
	must(f && fputs("x\n", f) >= 0 && !fflush(f));
	must(read(ends[0], bytes, 0) == 0 && read(ends[0], bytes, 2) == 2);
	f = freopen("/dev/null", "w", f);
	must(f && fwrite(bytes, 1, sizeof(bytes), f) == sizeof(bytes) && !fclose(f));
	must(read(ends[0], bytes, 2) == 0);
	close(ends[0]);

	must(!pipe(ends));
	must(write(ends[1], bytes, 2) == 2 && read(ends[0], bytes, 2) == 2);
	must(!close_range((unsigned)ends[0], ~0u, CLOSE_RANGE_UNSHARE));
	file = open("/dev/zero", O_RDWR);
	must(file == ends[0] && read(file, bytes, sizeof(bytes)) == sizeof(bytes));
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} cases[] = {
		{ "balanced", balanced },
		{ "slow_stage", slow_stage },
		{ "small_buffer", small_buffer },
		{ "full_pipe", full_pipe },
		{ "socket_pair", socket_pair },
		{ "no_offset", no_offset },
		{ "tcp", tcp },
		{ "tcp_to_other", tcp_to_other },
		{ "tcp_to_any", tcp_to_any },
		{ "tcp_to_own", tcp_to_own },
		{ "tcp_mapped", tcp_mapped },
		{ "tcp6", tcp6 },
		{ "tcp6_to_own", tcp6_to_own },
		{ "tcp6_to_any", tcp6_to_any },
		{ "tcp6_of_link", tcp6_of_link },
		{ "tcp_mapped_client", tcp_mapped_client },
		{ "tcp_to_none", tcp_to_none },
		{ "tcp6_to_none", tcp6_to_none },
		{ "udp6_own", udp6_own },
		{ "udp6_of_link", udp6_of_link },
		{ "udp_mapped", udp_mapped },
		{ "udp_to_none", udp_to_none },
		{ "udp_both", udp_both },
		{ "udp_again", udp_again },
		{ "udp_copied", udp_copied },
		{ "unix_name", unix_name },
		{ "unix_path", unix_path },
		{ "connect_tcp", connect_tcp },
		{ "connect_unix", connect_unix },
		{ "connect_poll", connect_poll },
		{ "backlog", backlog },
		{ "packets", packets },
		{ "datagrams", datagrams },
		{ "udp", udp },
		{ "udp6", udp6 },
		{ "unix_datagrams", unix_datagrams },
		{ "batch", batch },
		{ "batch_to", batch_to },
		{ "fan_in", fan_in },
		{ "fan_out", fan_out },
		{ "event", event },
		{ "event_passed", event_passed },
		{ "event_inherited", event_inherited },
		{ "event_again", event_again },
		{ "works_when_woken", works_when_woken },
		{ "pool", pool },
		{ "self_pipe", self_pipe },
		{ "poll", by_poll },
		{ "select", by_select },
		{ "epoll", by_epoll },
		{ "wait_before", wait_before },
		{ "many_rooms", many_rooms },
		{ "poll_room", poll_room },
		{ "select_room", select_room },
		{ "epoll_room", epoll_room },
		{ "fortified", fortified },
		{ "spliced", spliced },
		{ "relay_slow_writer", relay_slow_writer },
		{ "relay_slow_reader", relay_slow_reader },
		{ "relay_works", relay_works },
		{ "relay_unix", relay_unix },
		{ "relay_tcp", relay_tcp },
		{ "relay_sendfile", relay_sendfile },
		{ "relay_tee", relay_tee },
		{ "relay_blocked", relay_blocked },
		{ "tee_blocked", tee_blocked },
		{ "relay_for_bytes", relay_for_bytes },
		{ "relay_for_room", relay_for_room },
		{ "relay_has_room", relay_has_room },
		{ "relay_in_turn", relay_in_turn },
		{ "terminal", terminal },
		{ "terminal_cooked", terminal_cooked },
		{ "terminal_poll", terminal_poll },
		{ "terminal_select", terminal_select },
		{ "terminal_epoll", terminal_epoll },
		{ "terminal_opened", terminal_opened },
		{ "terminal_forked", terminal_forked },
		{ "terminal_line", terminal_line },
		{ "terminal_full", terminal_full },
		{ "terminal_several", terminal_several },
		{ "end_of_file", end_of_file },
		{ "popen", by_popen },
		{ "popen_lingers", popen_lingers },
		{ "lingers", lingers },
		{ "stdio", by_stdio },
		{ "lines", lines },
		{ "replaced", replaced },
		{ "full_counter", full_counter },
	};

	own = argv[0];
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name))
			return cases[i].run();
	return 2;
}
