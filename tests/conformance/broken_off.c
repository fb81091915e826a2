/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/broken_off.c - reads, writes and polls of streams that do not end as usual
 *
 * They are left by a jump out of a signal handler or by cancellation, the handler uses or closes the
 * descriptor itself, the other side is killed, a child of vfork() replaces the descriptors, or a filter
 * for system calls comes in between. Afterwards the stream goes on as if nothing had been.
 */
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "tests/conformance/asleep.h"
#include "tests/conformance/case.h"

#define ROUNDS 150
#define KILLED 30
#define FULL   65536 /* bytes of a pipe */

enum call { READ, READV, WRITE, RECV, RECVMSG, SEND, POLL, SELECT, EPOLL, EVENTFD, CALLS };
static const char *const names[CALLS] = { "read", "readv", "write",  "recv",  "recvmsg",
					  "send", "poll",  "select", "epoll", "eventfd" };

static int from, to; /* ends of a stream; `from` is empty, or full where the call writes */
static int both[2];  /* sockets */
static int epoll_set, counter;
static char bytes[FULL];

static void open_all(void)
{
	struct epoll_event event = { .events = EPOLLIN };
	int ends[2];

	must(!pipe(ends), "pipe");
	from = ends[0];
	to = ends[1];
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, both), "socketpair");
	epoll_set = epoll_create1(0);
	must(!epoll_ctl(epoll_set, EPOLL_CTL_ADD, from, &event), "epoll_ctl");
	counter = eventfd(0, 0);
}

static void close_all(void)
{
	close(from);
	close(to);
	close(both[0]);
	close(both[1]);
	close(epoll_set);
	close(counter);
}

/* Make the stream full, if @call writes. */
static void prepare(enum call call)
{
	int fd = call == WRITE ? to : both[1];

	if (call != WRITE && call != SEND)
		return;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, bytes, call == WRITE ? 4096 : 1024) > 0)
		;
	while (write(fd, bytes, 1) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

/* Make @call, which waits. */
static long wait_in(enum call call)
{
	struct iovec piece = { bytes, 8 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1 };
	struct pollfd poll_one = { .fd = from, .events = POLLIN };
	struct epoll_event event;
	fd_set in;

	FD_ZERO(&in);
	FD_SET(from, &in);
	switch (call) {
	case READ:
		return read(from, bytes, 8);
	case READV:
		return readv(from, &piece, 1);
	case WRITE:
		return write(to, bytes, 8);
	case RECV:
		return recv(both[0], bytes, 8, 0);
	case RECVMSG:
		return recvmsg(both[0], &message, 0);
	case SEND:
		return send(both[1], bytes, 8, 0);
	case POLL:
		return poll(&poll_one, 1, -1);
	case SELECT:
		return select(from + 1, &in, NULL, NULL, NULL);
	case EPOLL:
		return epoll_wait(epoll_set, &event, 1, -1);
	case EVENTFD:
		return read(counter, bytes, 8);
	default:
		return -1;
	}
}

/* Bytes that go through after what was there before is gone. */
static void goes_on(void)
{
	uint64_t value = 1;
	long rest = 0, n;

	fcntl(from, F_SETFL, O_NONBLOCK);
	fcntl(both[0], F_SETFL, O_NONBLOCK);
	while ((n = read(from, bytes, sizeof(bytes))) > 0 ||
	       (n = recv(both[0], bytes, sizeof(bytes), 0)) > 0)
		rest += n;
	DO("write", write(to, "abc", 3));
	DO("read", read(from, bytes, sizeof(bytes)));
	DO("send", send(both[1], "abcd", 4, 0));
	DO("recv", recv(both[0], bytes, sizeof(bytes), 0));
	DO("add", write(counter, &value, 8));
	DO("take", read(counter, &value, 8));
	add(" value=%ld", (long)value);
}

static sigjmp_buf out;
static volatile int waits, jumped; /* `waits`: of one thread, for the other; or which thread does */
static pthread_t waiter;

static void jump_out(int sig)
{
	(void)sig;
	if (jumped < waits) {
		jumped++;
		siglongjmp(out, 1);
	}
}

/* Signals to a thread that is about to wait, or waits, until it has been interrupted. */
static void *interrupt(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		await(&waits, i + 1);
		for (int spin = 0; spin < i % 16 * 40; spin++)
			__asm__ volatile("");
		if (i % 4 == 0)
			sleep_ms(1);
		pthread_kill(waiter, SIGUSR1);
	}
	return argument;
}

static void jumps(enum call call)
{
	pthread_t t;

	open_all();
	prepare(call);
	jumped = waits = 0;
	waiter = pthread_self();
	signal(SIGUSR1, jump_out);
	must(!pthread_create(&t, NULL, interrupt, NULL), "pthread_create");
	for (int i = 0; i < ROUNDS; i++) {
		if (!sigsetjmp(out, 1)) {
			set(&waits, i + 1);
			wait_in(call);
			must(false, "a call that was to wait");
		}
	}
	pthread_join(t, NULL);
	begin("%s, a handler jumps out", names[call]);
	add(" jumps=%d", jumped);
	goes_on();
	end();
	close_all();
}

static void *cancelled(void *argument)
{
	enum call call = (enum call)(intptr_t)argument % CALLS;
	int type = (intptr_t)argument >= CALLS ? PTHREAD_CANCEL_ASYNCHRONOUS :
						 PTHREAD_CANCEL_DEFERRED;

	pthread_setcanceltype(type, NULL);
	set(&waits, 1);
	wait_in(call);
	return argument;
}

static void cancels(enum call call, bool at_once)
{
	int found = 0;

	open_all();
	prepare(call);
	for (int i = 0; i < ROUNDS / 3; i++) {
		void *result;
		pthread_t t;

		waits = 0;
		must(!pthread_create(&t, NULL, cancelled,
				     (void *)(intptr_t)(call + (at_once ? CALLS : 0))),
		     "pthread_create");
		await(&waits, 1);
		if (i % 4 == 0)
			sleep_ms(1);
		pthread_cancel(t);
		pthread_join(t, &result);
		found += result == PTHREAD_CANCELED;
	}
	begin("%s, cancelled%s", names[call], at_once ? " at once" : "");
	add(" cancelled=%d", found);
	goes_on();
	end();
	close_all();
}

static volatile int handled;

/* In the midst of a read of `from`: use the stream. */
static void use_it(int sig)
{
	(void)sig;
	if (handled++)
		return;
	if (write(to, "12345", 5) != 5 || read(from, bytes + 100, 2) != 2)
		handled = -100;
}

/* Or close it, and put another there. */
static void replace_it(int sig)
{
	int ends[2];

	(void)sig;
	if (handled++)
		return;
	if (pipe(ends) || dup2(ends[0], from) != from || dup2(ends[1], to) != to ||
	    close(ends[0]) || close(ends[1]) || write(to, "123", 3) != 3)
		handled = -100;
}

static void *interrupt_once(void *argument)
{
	await_asleep(&waits);
	pthread_kill(waiter, SIGUSR1);
	return argument;
}

static void handles(void (*handler)(int), int flags, const char *what)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
	int read_ = 0, again = 0, bad = 0;

	sigaction(SIGUSR1, &action, NULL);
	waiter = pthread_self();
	for (int i = 0; i < ROUNDS / 5; i++) {
		pthread_t t;
		long n;

		open_all();
		handled = waits = 0;
		must(!pthread_create(&t, NULL, interrupt_once, NULL), "pthread_create");
		set(&waits, gettid());
		n = wait_in(READ);
		if (n < 0 && errno == EINTR) {
			again++;
			n = wait_in(READ);
		}
		read_ += (int)n;
		bad += handled < 1;
		pthread_join(t, NULL);
		close_all();
	}
	begin("%s", what);
	add(" read=%d interrupted=%d bad=%d", read_, again, bad);
	end();
}

/* One side is killed in the midst of its work; the other finds the end. */
static void killed(bool writer)
{
	int ended = 0;

	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < KILLED; i++) {
		int ends[2], status;
		pid_t child;
		long n;

		must(!pipe(ends), "pipe");
		child = fork();
		if (!child) {
			close(ends[!writer]);
			for (;;)
				n = writer ? write(ends[1], bytes, 1 + (size_t)i * 100) :
					     read(ends[0], bytes, 1 + (size_t)i * 100);
		}
		close(ends[writer]);
		for (int j = 0; j <= i; j++)
			must((writer ? read(ends[0], bytes, 512) : write(ends[1], bytes, 512)) > 0,
			     "first bytes");
		kill(child, SIGKILL);
		while ((n = writer ? read(ends[0], bytes, sizeof(bytes)) :
				     write(ends[1], bytes, 512)) > 0)
			;
		ended += writer ? n == 0 : n < 0 && errno == EPIPE;
		must(waitpid(child, &status, 0) == child, "waitpid");
		close(ends[!writer]);
	}
	begin("the side that %s is killed", writer ? "writes" : "reads");
	add(" ended=%d", ended);
	end();
}

/* What the parent has is what it had, whatever the child does in its memory. */
static void replaced_in_vfork(void)
{
	static int good; /* not in the frame that a child of vfork() has, too */
	int status;

	open_all();
	for (int i = 0; i < ROUNDS / 5; i++) {
		int in[2], back[2];
		pid_t child;

		must(!pipe(in) && !pipe(back), "pipe");
		must(write(to, "ab", 2) == 2, "write");
		child = vfork();
		if (!child) {
			dup2(in[0], 0);
			dup2(back[1], 1);
			dup2(in[0], from);
			close(to);
			close(in[1]);
			close(back[0]);
			close_range((unsigned)from, ~0u, 0);
			execl("/bin/cat", "cat", (char *)NULL);
			_exit(99);
		}
		close(in[0]);
		close(back[1]);
		good += read(from, bytes, 8) == 2;
		good += write(in[1], "12345", 5) == 5;
		close(in[1]);
		good += read(back[0], bytes, 8) == 5 && !memcmp(bytes, "12345", 5);
		good += read(back[0], bytes, 8) == 0;
		close(back[0]);
		must(waitpid(child, &status, 0) == child && !status, "cat");
	}
	begin("a child of vfork() replaces the descriptors");
	add(" good=%d of %d", good, ROUNDS / 5 * 4);
	goes_on();
	end();
	close_all();
}

/* From now on any thread that makes another call than these ends the process. */
static void confine(void)
{
	static const int allowed[] = { SYS_read,    SYS_write,	SYS_poll,	   SYS_close,
				       SYS_futex,   SYS_exit,	SYS_exit_group,	   SYS_rt_sigreturn,
				       SYS_madvise, SYS_munmap, SYS_rt_sigprocmask };
	struct sock_filter code[2 * sizeof(allowed) / sizeof(*allowed) + 2];
	struct sock_fprog program = { .filter = code };
	unsigned n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < sizeof(allowed) / sizeof(*allowed); i++) {
		code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							 (unsigned)allowed[i], 0, 1);
		code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)n;
	must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program))
		_exit(77);
}

static void *reads_on(void *sum)
{
	struct pollfd one = { .fd = from, .events = POLLIN };
	char byte;

	set(&waits, 1);
	while (poll(&one, 1, -1) == 1 && read(from, &byte, 1) == 1)
		++*(long *)sum;
	return NULL;
}

/* A thread is in a read or a poll while the filter comes for it, too. */
static void filtered(void)
{
	int good = 0, status;

	for (int i = 0; i < ROUNDS / 5; i++) {
		pid_t child = fork();

		if (!child) {
			long sum = 0;
			pthread_t t;

			open_all();
			waits = 0;
			must(!pthread_create(&t, NULL, reads_on, &sum), "pthread_create");
			await(&waits, 1);
			for (int j = 0; j < i * 7; j++)
				must(write(to, "a", 1) == 1, "write");
			if (i % 2)
				sleep_ms(2);
			confine();
			for (int j = 0; j < 100; j++)
				if (write(to, "a", 1) != 1)
					_exit(1);
			close(to);
			pthread_join(t, NULL);
			_exit(sum == i * 7 + 100 ? 0 : 2);
		}
		must(waitpid(child, &status, 0) == child, "waitpid");
		good += status == 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 77);
	}
	begin("a filter comes in between");
	add(" good=%d of %d", good, ROUNDS / 5);
	end();
}

int main(void)
{
	for (int call = 0; call < CALLS; call++)
		jumps((enum call)call);
	for (int call = 0; call < CALLS; call++) {
		cancels((enum call)call, false);
		cancels((enum call)call, true);
	}
	handles(use_it, 0, "a handler uses the stream in a read");
	handles(use_it, SA_RESTART, "the same, and the read goes on");
	handles(replace_it, 0, "a handler replaces the stream in a read");
	killed(true);
	killed(false);
	replaced_in_vfork();
	filtered();
	return 0;
}
