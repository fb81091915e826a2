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
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/programs/stream_work.h"

#define LATE_MS 50
#define ASLEEP	3 /* looks, 10 ms apart, at which a process sleeps */
#define SKIPPED 77

static void sleep_ms(int ms)
{
	struct timespec rest = { .tv_nsec = ms * 1000000L };

	must(!nanosleep(&rest, NULL));
}

static void await_sleep(pid_t process)
{
	char name[64], state;

	for (unsigned i = 0; i < ASLEEP; i = state == 'S' ? i + 1 : 0) {
		FILE *f;

		snprintf(name, sizeof(name), "/proc/%d/stat", process);
		f = fopen(name, "re");
		must(f && fscanf(f, "%*[^)]) %c", &state) == 1);
		fclose(f);
		usleep(10000);
	}
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

/* Ends for main, for who lets the unseen one go, and for that one. */
static int ends[2], go[2];

/* The unseen one: it has the pipe until nobody has the other end of `go` any more. */
static void hold(void)
{
	char byte;

	close(go[1]);
	(void)!read(go[0], &byte, 1);
	_exit(0);
}

static char *no_environment[] = { NULL };
static char *shell[] = { "/bin/sh", "-c", "read x", NULL };

/* Before the shell is executed: its standard input. */
static void prepare_shell(void)
{
	must(dup2(go[0], STDIN_FILENO) == STDIN_FILENO && !close(go[1]));
}

static void by_killed(void)
{
	char byte;

	if (fork())
		return;
	close(go[1]);
	(void)!read(go[0], &byte, 1);
	raise(SIGKILL);
}

static void by_strange_program(void)
{
	if (fork())
		return;
	prepare_shell();
	must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO && !close(ends[1]));
	execve(shell[0], shell, no_environment);
	_exit(9);
}

static void by_strange_output(void)
{
	if (fork())
		return;
	prepare_shell();
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

static void by_bare_fork(void)
{
	if (!_Fork())
		hold();
}

/* The call that was to close it is cancelled before it does. */
static void *close_cancelled(void *argument)
{
	(void)argument;
	pthread_cancel(pthread_self());
	close(ends[1]);
	return NULL;
}

static void by_cancelled(void)
{
	pid_t reader = getpid();
	pthread_t thread;
	void *result;

	if (fork())
		return;
	await_sleep(reader);
	must(!pthread_create(&thread, NULL, close_cancelled, NULL));
	must(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
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
		must(!close(ends[1]) && !close(done[1]) && read(done[0], &byte, 1) == 0);
		return;
	}
	must(dup2(ends[1], STDOUT_FILENO) == STDOUT_FILENO && !close(ends[1]));
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
	memcpy(CMSG_DATA(c), &ends[1], sizeof(int));
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
	must(!pipe(ends));
	give();
	close(go[0]);
	close(go[1]);
	close(ends[1]);
	get_end(ends[0]);
	while (wait(NULL) > 0)
		;
	return 0;
}

/*
 * At random: a tree of processes that copy, close and hand on the pipe, by each way that is seen. With an
 * odd seed one of them makes an unseen one, which has the pipe until all others have ended.
 */
#define DESCRIPTORS 40 /* below which the copies are */
#define PROCESSES   12

static struct {
	unsigned made;	    /* processes of the tree */
	unsigned strangers; /* that are still to be made */
} * tree;
static unsigned long state;
static int kept[DESCRIPTORS]; /* whether the number is the pipe */

static unsigned below(unsigned n)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return (unsigned)(state >> 33) % n;
}

/* A number that is the pipe; -1: none is. */
static int any(void)
{
	int first = (int)below(DESCRIPTORS);

	for (int i = 0; i < DESCRIPTORS; i++)
		if (kept[(first + i) % DESCRIPTORS])
			return (first + i) % DESCRIPTORS;
	return -1;
}

/* Whether a program that is executed has the pipe. */
static int outlives_exec(void)
{
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		if (kept[fd] && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			return 1;
	return 0;
}

static void make_stranger(void)
{
	if (tree && any() >= 0 && __atomic_exchange_n(&tree->strangers, 0, __ATOMIC_RELAXED))
		(below(2) || !outlives_exec() ? by_bare_fork : by_strange_output)();
}

static void grow(void);

/* Whether the process is to go on. */
static int step(void)
{
	int from = any(), to = 20 + (int)below(DESCRIPTORS - 20);
	char seed[32];

	if (from < 0)
		return 0;
	switch (below(tree ? 9 : 5)) {
	case 0:
		to = dup(from);
		break;
	case 1:
		to = fcntl(from, F_DUPFD_CLOEXEC, 20);
		break;
	case 2:
		must(dup2(from, to) == to);
		break;
	case 3:
		must(!close(from));
		kept[from] = 0;
		return 1;
	case 4:
		return 0;
	case 5:
		make_stranger();
		return 1;
	case 6: /* another program, which has it as its standard output only */
		must(dup2(from, STDOUT_FILENO) == STDOUT_FILENO);
		for (int fd = 3; fd < DESCRIPTORS; fd++)
			if (kept[fd])
				must(!fcntl(fd, F_SETFD, FD_CLOEXEC));
		snprintf(seed, sizeof(seed), "%lu", state);
		execl("/nowhere", own, "leaf", seed, NULL);
		if (below(2))
			execl(own, own, "leaf", seed, NULL);
		kept[STDOUT_FILENO] = 1;
		return 1;
	default:
		if (__atomic_fetch_add(&tree->made, 1, __ATOMIC_RELAXED) >= PROCESSES) {
			__atomic_fetch_sub(&tree->made, 1, __ATOMIC_RELAXED);
			return 1;
		}
		if (!fork()) {
			below(2);
			grow();
		}
		return 1;
	}
	must(to >= 0 && to < DESCRIPTORS);
	kept[to] = 1;
	return 1;
}

static void grow(void)
{
	while (step())
		;
	make_stranger();
	_exit(0);
}

static void leaf(const char *seed)
{
	state = strtoul(seed, NULL, 10);
	kept[STDOUT_FILENO] = 1;
	grow();
}

static int at_random(const char *seed)
{
	unsigned reaped = 0, odd = (unsigned)strtoul(seed, NULL, 10) % 2;
	int ready[2];
	pid_t reader = getpid();
	char byte;

	state = strtoul(seed, NULL, 10) * 1000003;
	tree = mmap(NULL, sizeof(*tree), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(tree != MAP_FAILED && !prctl(PR_SET_CHILD_SUBREAPER, 1));
	tree->strangers = odd;
	tree->made = 1;
	must(!pipe(go) && !pipe(ready));
	CHILD(close(go[0]); close(ready[1]); must(read(ready[0], &byte, 1) == 1);
	      await_sleep(reader));
	must(!pipe(ends) && ends[1] < DESCRIPTORS);
	if (!fork()) {
		close(ready[1]);
		kept[ends[1]] = 1;
		grow();
	}
	close(go[0]);
	close(go[1]);
	close(ends[1]);
	for (; odd && reaped < __atomic_load_n(&tree->made, __ATOMIC_RELAXED); reaped++) {
		int status;

		must(wait(&status) > 0 && !status);
	}
	must(write(ready[1], "", 1) == 1);
	get_end(ends[0]);
	while (wait(NULL) > 0)
		;
	fprintf(stderr, "unseen %u\n", odd - tree->strangers);
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} seen[] = {
		{ "late", late },	{ "overtaken", overtaken },	  { "copied", copied },
		{ "program", program }, { "opened_again", opened_again }, { "refused", refused },
		{ "burns", burns }
	};
	static const struct {
		const char *name;
		void (*give)(void);
	} others[] = {
		{ "killed", by_killed },
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
	if (argc > 2)
		return !strcmp(argv[1], "random") ? at_random(argv[2]) : (leaf(argv[2]), 0);
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		if (argc > 1 && !strcmp(argv[1], seen[i].name))
			return seen[i].run();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (argc > 1 && !strcmp(argv[1], others[i].name))
			return unseen(others[i].give);
	return 2;
}
