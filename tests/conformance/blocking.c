/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/blocking.c - calls that block outside synchronization, futexes, descriptors
 */
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

static int in[2], epoll_fd;
static volatile int handled, over;

static void handler(int sig)
{
	(void)sig;
	handled++;
}

static void *nag(void *argument)
{
	while (!over) {
		sleep_ms(3);
		pthread_kill(*(pthread_t *)argument, SIGUSR1);
	}
	return NULL;
}

static char buffer[256];

static long call_read(void)
{
	return read(in[0], buffer, 8);
}

static long call_readv(void)
{
	struct iovec to = { buffer, 8 };

	return readv(in[0], &to, 1);
}

static long call_poll(void)
{
	struct pollfd p = { in[0], POLLIN, 0 };

	return poll(&p, 1, 300000);
}

static long call_ppoll(void)
{
	struct pollfd p = { in[0], POLLIN, 0 };
	struct timespec t = { 300, 0 };

	return ppoll(&p, 1, &t, NULL);
}

static long call_select(void)
{
	struct timeval t = { 300, 0 };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(in[0], &set);
	return select(in[0] + 1, &set, NULL, NULL, &t);
}

static long call_pselect(void)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(in[0], &set);
	return pselect(in[0] + 1, &set, NULL, NULL, NULL, NULL);
}

static long call_epoll(void)
{
	struct epoll_event e;

	return epoll_wait(epoll_fd, &e, 1, 300000);
}

static long call_epoll_pwait(void)
{
	struct epoll_event e;

	return epoll_pwait(epoll_fd, &e, 1, 300000, NULL);
}

static long call_nanosleep(void)
{
	struct timespec t = { 300, 0 }, left = { 0, 0 };
	int ret = nanosleep(&t, &left);

	return ret * 100 + (left.tv_sec > 200);
}

static long call_clock_nanosleep(void)
{
	struct timespec t = { 300, 0 }, left = { 0, 0 };

	return clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &left) * 100 + (left.tv_sec > 200);
}

static long call_usleep(void)
{
	return usleep(300000000);
}

static long call_sleep(void)
{
	return sleep(300) > 200;
}

static long call_pause(void)
{
	return pause();
}

static long call_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	return sigsuspend(&none);
}

static long call_sigtimedwait(void)
{
	struct timespec t = { 300, 0 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return sigtimedwait(&set, NULL, &t);
}

static long call_futex(void)
{
	static int word = 5;

	return syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 5, NULL, NULL, 0);
}

static int unconnected;

static long call_accept(void)
{
	return accept(unconnected, NULL, NULL);
}

static const struct {
	const char *name;
	long (*call)(void);
} calls[] = { { "read", call_read },
	      { "readv", call_readv },
	      { "accept", call_accept },
	      { "poll", call_poll },
	      { "ppoll", call_ppoll },
	      { "select", call_select },
	      { "pselect", call_pselect },
	      { "epoll_wait", call_epoll },
	      { "epoll_pwait", call_epoll_pwait },
	      { "nanosleep", call_nanosleep },
	      { "clock_nanosleep", call_clock_nanosleep },
	      { "usleep", call_usleep },
	      { "sleep", call_sleep },
	      { "pause", call_pause },
	      { "sigsuspend", call_sigsuspend },
	      { "sigtimedwait", call_sigtimedwait },
	      { "futex", call_futex } };

static void interruptions(void)
{
	struct sigaction action = { .sa_handler = handler };
	pthread_t self = pthread_self(), t;

	sigaction(SIGUSR1, &action, NULL);
	must(!pthread_create(&t, NULL, nag, &self), "pthread_create");
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		CASE(calls[i].name, calls[i].call());
	over = 1;
	pthread_join(t, NULL);
}

static void *feed(void *argument)
{
	for (int i = 0; i < 4; i++) {
		sleep_ms(3);
		if (write(*(int *)argument, "12345678", 8) != 8)
			return NULL;
	}
	return argument;
}

/* Data ends the waits. */
static void data(void)
{
	pthread_t t;
	int fds[2];
	struct pollfd p;
	struct iovec parts[2] = { { buffer, 3 }, { buffer + 3, 5 } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	begin("pipe");
	must(!pipe(fds), "pipe");
	must(!pthread_create(&t, NULL, feed, &fds[1]), "pthread_create");
	DO("read", read(fds[0], buffer, 8));
	DO("readv", readv(fds[0], parts, 2));
	p = (struct pollfd){ fds[0], POLLIN, 0 };
	DO("poll", poll(&p, 1, 300000));
	DO("read", read(fds[0], buffer, 3));
	DO("read", read(fds[0], buffer, 5));
	DO("read", read(fds[0], buffer, 8));
	pthread_join(t, NULL);
	close(fds[1]);
	DO("end", read(fds[0], buffer, 8));
	close(fds[0]);
	DO("closed", read(fds[0], buffer, 8));
	DO("bad address", syscall(SYS_write, in[1], 1, 8));
	end();

	begin("sockets");
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair");
	must(!pthread_create(&t, NULL, feed, &fds[1]), "pthread_create");
	DO("recv", recv(fds[0], buffer, 8, MSG_WAITALL));
	DO("recvfrom", recvfrom(fds[0], buffer, 8, MSG_WAITALL, NULL, NULL));
	DO("recvmsg", recvmsg(fds[0], &message, MSG_WAITALL));
	DO("recv", recv(fds[0], buffer, 8, MSG_WAITALL));
	pthread_join(t, NULL);
	DO("empty", recv(fds[0], buffer, 8, MSG_DONTWAIT));
	DO("send", send(fds[0], "abc", 3, 0));
	DO("sendto", sendto(fds[0], "abc", 3, 0, NULL, 0));
	DO("sendmsg", sendmsg(fds[0], &message, 0));
	DO("writev", writev(fds[0], parts, 2));
	close(fds[1]);
	DO("broken", send(fds[0], "abc", 3, MSG_NOSIGNAL));
	close(fds[0]);
	end();
}

static void files(void)
{
	char path[] = "/tmp/cpa-conformance-XXXXXX";
	int fd = mkstemp(path);

	begin("files");
	must(fd >= 0, "mkstemp");
	unlink(path);
	DO("write", write(fd, "hello", 5));
	DO("pwrite", pwrite(fd, "J", 1, 0));
	memset(buffer, 0, sizeof(buffer));
	DO("pread", pread(fd, buffer, 5, 0));
	add(" %s", buffer);
	DO("fsync", fsync(fd));
	DO("fdatasync", fdatasync(fd));
	DO("at end", read(fd, buffer, 5));
	DO("negative", pread(fd, buffer, 5, -1));
	close(fd);
	DO("fsync", fsync(fd));
	end();
}

static int word;

static void *wake(void *argument)
{
	(void)argument;
	for (;;) {
		long n = syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);

		if (n)
			return (void *)n;
		sched_yield();
	}
}

static void futexes(void)
{
	struct timespec soon = { 0, 5000000 }, bad = { 0, 1000000000 }, past = { 1, 0 };
	pthread_t t;
	void *result;

	word = 1;
	begin("futex");
	DO("wake", syscall(SYS_futex, &word, FUTEX_WAKE, 1, NULL, NULL, 0));
	DO("other value", syscall(SYS_futex, &word, FUTEX_WAIT, 2, NULL, NULL, 0));
	DO("time-out", syscall(SYS_futex, &word, FUTEX_WAIT, 1, &soon, NULL, 0));
	DO("invalid", syscall(SYS_futex, &word, FUTEX_WAIT, 1, &bad, NULL, 0));
	DO("unaligned", syscall(SYS_futex, (char *)&word + 1, FUTEX_WAIT, 1, NULL, NULL, 0));
	DO("bitset past", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, &past, NULL, ~0));
	DO("no bits", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 1, &past, NULL, 0));
	DO("no command", syscall(SYS_futex, &word, 99, 1, NULL, NULL, 0));
	DO("null", syscall(SYS_futex, NULL, FUTEX_WAIT, 1, NULL, NULL, 0));
	must(!pthread_create(&t, NULL, wake, NULL), "pthread_create");
	DO("woken", syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 1, NULL, NULL, 0));
	pthread_join(t, &result);
	add(" %ld", (long)(intptr_t)result);
	must(!pthread_create(&t, NULL, wake, NULL), "pthread_create");
	DO("woken", syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, 1, NULL, NULL, ~0));
	pthread_join(t, &result);
	add(" %ld", (long)(intptr_t)result);
	DO("requeue", syscall(SYS_futex, &word, FUTEX_CMP_REQUEUE, 1, 1, &soon, 1));
	end();
	begin("other system calls");
	DO("getpid", syscall(SYS_getpid) == getpid());
	DO("none", syscall(9999));
	DO("close", syscall(SYS_close, -1));
	DO("mmap", (void *)syscall(SYS_mmap, NULL, 4096, 1, 0x22, -1, 0) != (void *)-1);
	end();
}

/* The descriptors that the program gets are those that it would get without us. */
static void descriptors(void)
{
	int fds[100], got = 0;

	begin("descriptors");
	for (int i = 0; i < 100; i++)
		fds[i] = open("/dev/null", O_RDWR);
	for (int i = 0; i < 100; i += 11)
		add(" %d", fds[i]);
	for (int i = 0; i < 100; i++)
		close(fds[i]);
	fds[0] = dup2(1, 600);
	add(" %d", fds[0]);
	end();

	/* All but the standard ones, ours as well; new ones then take their numbers. */
	begin("all closed");
	closefrom(3);
	for (int i = 0; i < 1000; i++) {
		int fd = open("/dev/zero", O_RDONLY);

		got += fd >= 0;
		if (i == 999)
			add(" last %d", fd);
	}
	add(" opened=%d", got);
	end();
}

static void *thread_after(void *argument)
{
	pthread_mutex_t *m = argument;

	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(m);
		pthread_mutex_unlock(m);
		sleep_ms(i % 10 == 0);
	}
	return NULL;
}

/* A thread that was there before all was closed ends: what has its numbers now is not closed. */
static volatile int go;

static void *ends_later(void *argument)
{
	struct timespec cpu = { 0 };

	/*
	 * Its first wait and its first sample make us open files: before descriptors are compared.
	 */
	sleep_ms(2);
	while (!cpu.tv_sec && cpu.tv_nsec < 20000000)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	set(&go, 2);
	await(&go, 1);
	return thread_after(argument);
}

int main(void)
{
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	struct epoll_event event = { .events = EPOLLIN };
	struct sockaddr_in any = { .sin_family = AF_INET };
	pthread_t t;
	int open_now = 0;

	must(!pipe(in), "pipe");
	epoll_fd = epoll_create1(0);
	must(!epoll_ctl(epoll_fd, EPOLL_CTL_ADD, in[0], &event), "epoll_ctl");
	unconnected = socket(AF_INET, SOCK_STREAM, 0);
	must(!bind(unconnected, (void *)&any, sizeof(any)) && !listen(unconnected, 1), "listen");
	interruptions();
	data();
	files();
	futexes();
	begin("children");
	DO("wait", wait(NULL));
	DO("waitpid", waitpid(-1, NULL, WNOHANG));
	DO("waitid", waitid(P_ALL, 0, NULL, WEXITED));
	end();
	must(!pthread_create(&t, NULL, ends_later, &m), "pthread_create");
	await(&go, 2);
	descriptors();
	set(&go, 1);
	pthread_join(t, NULL);
	for (int i = 0; i < 4; i++)
		in_thread(thread_after, &m);
	begin("what the program opened stays open");
	for (int fd = 3; fd < 1003; fd++)
		open_now += fcntl(fd, F_GETFD) >= 0;
	add(" %d", open_now);
	memset(buffer, 1, sizeof(buffer));
	DO("read", read(1002, buffer, 100));
	end();
	return 0;
}
