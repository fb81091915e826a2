/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/stream_ends.c - who made the end of a stream
 *
 * `stream_ends CASE`. In the first cases those who have the pipe open for writing are all seen; the last
 * line on standard error is "path P work W", as that of tests/programs/streams. In the others the one who
 * closes it last is not: main closes what it has, waits for the end, and when it sleeps the unseen one
 * goes. tests/e2e/stream_ends.py has the cases.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/unseen.h"

#define LATE_MS 50
#define SKIPPED 77

static void sleep_ms(int ms)
{
	struct timespec rest = { .tv_nsec = ms * 1000000L };

	must(!nanosleep(&rest, NULL));
}

/*
 * A process ends, and the kernel closes its descriptors much later than its last call: a tracer keeps
 * it in between. The reader is another one. @last: the tracer closes its own after that last call.
 */
static int end_late(int last)
{
	int ends[2], status;
	pid_t writer;

	must(!pipe(ends));
	writer = fork();
	if (!writer) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(SKIPPED);
		raise(SIGSTOP);
		close(ends[0]);
		burn(4);
		_exit(0);
	}
	must(waitpid(writer, &status, 0) == writer);
	if (!WIFSTOPPED(status) || ptrace(PTRACE_SETOPTIONS, writer, 0, (void *)PTRACE_O_TRACEEXIT))
		return SKIPPED;
	CHILD(close(ends[1]); get_end(ends[0]); burn(2));
	close(ends[0]);
	if (!last)
		close(ends[1]);
	for (long signal = 0; status >> 8 != (SIGTRAP | PTRACE_EVENT_EXIT << 8);
	     signal = WSTOPSIG(status)) { /* any other one is passed on */
		must(!ptrace(PTRACE_CONT, writer, 0, (void *)signal));
		must(waitpid(writer, &status, 0) == writer && WIFSTOPPED(status));
	}
	if (last)
		close(ends[1]);
	sleep_ms(LATE_MS);
	must(!ptrace(PTRACE_CONT, writer, 0, 0));
	reap();
	return report(4 + 2, 4 + 2);
}

static int late(void)
{
	return end_late(0);
}

static int overtaken(void)
{
	return end_late(1);
}

static void *close_cancelled(void *fd)
{
	pthread_cancel(pthread_self());
	close(*(int *)fd);
	return NULL;
}

/* A thread is cancelled in close(), before it has closed @fd. */
static void cancel_close(int fd)
{
	pthread_t thread;
	void *result;

	must(!pthread_create(&thread, NULL, close_cancelled, &fd));
	must(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
}

/* As `late`; before, a call that was to close another pipe has been cancelled. */
static int late_cancelled(void)
{
	int others[2];

	must(!pipe(others));
	cancel_close(others[1]);
	must(!close(others[0]) && !close(others[1]));
	return end_late(0);
}

/* The descriptor is a copy, and the first one was closed long before. */
static int copied(void)
{
	int ends[2];

	must(!pipe(ends));
	CHILD(must(fcntl(ends[1], F_DUPFD_CLOEXEC, 10) >= 10); close(ends[0]); close(ends[1]);
	      burn(4));
	close(ends[1]);
	get_end(ends[0]);
	burn(2);
	reap();
	return report(4 + 2, 4 + 2);
}

/* Another program has it, as its standard output, and never uses it. */
static int program(void)
{
	int ends[2];

	must(!pipe(ends));
	CHILD(must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO); close(ends[0]); close(ends[1]);
	      execl("/nowhere", own, "burns", NULL); execl(own, own, "burns", NULL));
	close(ends[1]);
	get_end(ends[0]);
	burn(2);
	reap();
	return report(4 + 2, 4 + 2);
}

/* As `program`, but its standard output was opened by its name. */
static int opened_again(void)
{
	int ends[2], again;

	must(!pipe(ends));
	CHILD(must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO); close(ends[0]); close(ends[1]);
	      must((again = open("/dev/stdout", O_WRONLY)) > STDOUT_FILENO);
	      must(dup2(again, STDOUT_FILENO) == STDOUT_FILENO); close(again);
	      execl(own, own, "burns", NULL));
	close(ends[1]);
	get_end(ends[0]);
	burn(2);
	reap();
	return report(4 + 2, 4 + 2);
}

/* Whoever has it could not fork. */
static int refused(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { .len = sizeof(code) / sizeof(*code), .filter = code };
	int ends[2];

	must(!pipe(ends));
	CHILD(must(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	      must(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)); close(ends[0]);
	      must(fork() == -1 && errno == EAGAIN); burn(4));
	close(ends[1]);
	get_end(ends[0]);
	burn(2);
	reap();
	return report(4 + 2, 4 + 2);
}

static int burns(void)
{
	burn(4);
	return 0;
}

/* A signal ends it, by @end. */
static void by_signal(void (*end)(void))
{
	const struct rlimit none = { 0 };
	char byte;

	if (fork())
		return;
	must(!setrlimit(RLIMIT_CORE, &none));
	close(go[1]);
	(void)!read(go[0], &byte, 1);
	end();
}

static void kill_self(void)
{
	raise(SIGKILL);
}

static void by_killed(void)
{
	by_signal(kill_self);
}

static void by_aborted(void)
{
	by_signal(abort);
}

static void fault(void)
{
	*(volatile char *)mmap(NULL, 1, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) = 0;
}

static void by_faulted(void)
{
	by_signal(fault);
}

static void by_strange_program(void)
{
	if (fork())
		return;
	prepare_shell();
	must(dup2(the_pipe[1], STDOUT_FILENO) == STDOUT_FILENO && !close(the_pipe[1]));
	execve(shell[0], shell, no_environment);
	_exit(9);
}

/* A program of the session, that knows nothing of the descriptor. */
static void by_unused(void)
{
	if (fork())
		return;
	prepare_shell();
	execv(shell[0], shell);
	_exit(9);
}

static void by_vfork(void)
{
	pid_t child = vfork();

	if (!child) {
		dup2(go[0], STDIN_FILENO);
		close(go[1]);
		execve(shell[0], shell, no_environment);
		_exit(9);
	}
	must(child > 0);
}

static void by_spawn(void)
{
	posix_spawn_file_actions_t actions;
	pid_t child;

	must(!posix_spawn_file_actions_init(&actions));
	must(!posix_spawn_file_actions_adddup2(&actions, go[0], STDIN_FILENO));
	must(!posix_spawn_file_actions_addclose(&actions, go[1]));
	must(!posix_spawn(&child, shell[0], &actions, NULL, shell, no_environment));
	posix_spawn_file_actions_destroy(&actions);
}

/* The call that was to close it is cancelled before it does. */
static void by_cancelled(void)
{
	pid_t reader = getpid();

	if (fork())
		return;
	await_sleep(reader);
	cancel_close(the_pipe[1]);
	sleep_ms(LATE_MS);
	hold();
}

/*
 * One that makes a child without the C library has it until it is killed. The child is a program of the
 * session, which has it as its standard output and has ended long before.
 */
static void by_raw_fork(void)
{
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	long (*own_syscall)(long, ...) = libc ? (long (*)(long, ...))dlsym(libc, "syscall") : NULL;
	pid_t reader = getpid();
	int done[2];
	char byte;

	must(own_syscall && !pipe2(done, O_CLOEXEC));
	if (fork()) {
		must(!close(the_pipe[1]) && !close(done[1]) && read(done[0], &byte, 1) == 0);
		return;
	}
	must(dup2(the_pipe[1], STDOUT_FILENO) == STDOUT_FILENO && !close(the_pipe[1]));
	if (own_syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0) {
		execl(own, own, "burns", NULL);
		_exit(9);
	}
	must(wait(NULL) > 0);
	must(!close(done[1]));
	await_sleep(reader); /* main waits for the end of the pipe now */
	raise(SIGKILL);
}

static int hold_in_clone(void *argument)
{
	(void)argument;
	hold();
	return 0;
}

static void by_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	must(clone(hold_in_clone, stack + sizeof(stack), SIGCHLD, NULL) > 0);
}

/* It was there before the pipe, which it gets in a message. */
static int stranger;

static void receive_and_hold(void)
{
	char byte, space[CMSG_SPACE(sizeof(int))];
	struct iovec piece = { &byte, 1 };
	struct msghdr m = { .msg_iov = &piece,
			    .msg_iovlen = 1,
			    .msg_control = space,
			    .msg_controllen = sizeof(space) };

	must(recvmsg(stranger, &m, 0) == 1);
	hold();
}

static void by_message(void)
{
	char byte = 0, space[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec piece = { &byte, 1 };
	struct msghdr m = { .msg_iov = &piece,
			    .msg_iovlen = 1,
			    .msg_control = space,
			    .msg_controllen = sizeof(space) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &the_pipe[1], sizeof(int));
	must(sendmsg(stranger, &m, 0) == 1);
}

static void meet_stranger(void)
{
	int pair[2];

	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	stranger = pair[0];
	if (!_Fork())
		receive_and_hold();
	stranger = pair[1];
}

/* @give: to the unseen one. The child that lets it go never has the pipe. */
static int unseen(void (*give)(void))
{
	pid_t reader = getpid();

	must(!pipe(go));
	if (give == by_message)
		meet_stranger();
	CHILD(close(go[0]); await_sleep(reader));
	must(!pipe(the_pipe));
	give();
	close(go[0]);
	close(go[1]);
	close(the_pipe[1]);
	get_end(the_pipe[0]);
	while (wait(NULL) > 0)
		;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} seen[] = { { "late", late },		 { "late_cancelled", late_cancelled },
		     { "overtaken", overtaken }, { "copied", copied },
		     { "program", program },	 { "opened_again", opened_again },
		     { "refused", refused },	 { "burns", burns } };
	static const struct {
		const char *name;
		void (*give)(void);
	} others[] = {
		{ "killed", by_killed },
		{ "aborted", by_aborted },
		{ "faulted", by_faulted },
		{ "strange_program", by_strange_program },
		{ "strange_output", by_strange_output },
		{ "unused", by_unused },
		{ "vfork", by_vfork },
		{ "spawn", by_spawn },
		{ "bare_fork", by_bare_fork },
		{ "clone", by_clone },
		{ "message", by_message },
		{ "cancelled", by_cancelled },
		{ "raw_fork", by_raw_fork },
	};

	own = argv[0];
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		if (argc > 1 && !strcmp(argv[1], seen[i].name))
			return seen[i].run();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (argc > 1 && !strcmp(argv[1], others[i].name))
			return unseen(others[i].give);
	return 2;
}
