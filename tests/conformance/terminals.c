/* SPDX-License-Identifier: MIT */
/* tests/conformance/terminals.c - pseudo terminals: what is read, short counts, errno, signals, ends */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <termios.h>

#include "tests/conformance/asleep.h"
#include "tests/conformance/case.h"

static int master, slave;
static char *volatile nowhere = (char *)1;

static void set_mode(bool raw)
{
	struct termios settings;

	must(!tcgetattr(slave, &settings), "tcgetattr");
	if (raw)
		cfmakeraw(&settings);
	else
		settings.c_lflag &= ~(tcflag_t)ECHO;
	must(!tcsetattr(slave, TCSANOW, &settings), "tcsetattr");
}

static void opens(bool raw)
{
	must(!openpty(&master, &slave, NULL, NULL, NULL), "openpty");
	set_mode(raw);
}

static void closes(void)
{
	close(slave);
	close(master);
}

/* Until @n bytes can be read from @fd: the kernel hands them over some time after the write. */
static void await_bytes(int fd, int n)
{
	int there = 0;

	while (!ioctl(fd, FIONREAD, &there) && there < n)
		sched_yield();
}

/* What a read of at most @n bytes finds, with its bytes. */
static void shows(int fd, size_t n)
{
	char bytes[64] = { 0 };

	DO("read", read(fd, bytes, n));
	for (size_t i = 0; i < sizeof(bytes) && bytes[i]; i++)
		add(bytes[i] >= ' ' ? "%c" : "<%d>", bytes[i]);
}

static void lines(void)
{
	opens(false);
	begin("a line comes at once");
	DO("half", write(master, "abc", 3));
	DO("rest", write(master, "def\n", 4));
	await_bytes(slave, 7);
	shows(slave, 4);
	shows(slave, 60);
	end();
	begin("two lines are two reads");
	DO("write", write(master, "a\nb\n", 4));
	await_bytes(slave, 4);
	shows(slave, 60);
	shows(slave, 60);
	end();
	begin("end of file is typed");
	DO("write", write(master, "\004", 1));
	shows(slave, 60);
	end();
	begin("what is shown is changed");
	DO("write", write(slave, "x\n", 2));
	await_bytes(master, 3);
	shows(master, 60);
	end();
	closes();
}

static void arguments(void)
{
	opens(true);
	begin("nothing");
	DO("write", write(master, "", 0));
	DO("read", read(slave, NULL, 0));
	end();
	begin("bad address");
	DO("write", write(master, nowhere, 5));
	DO("write", write(slave, nowhere, 5));
	DO("put", write(master, "abc", 3));
	await_bytes(slave, 3);
	DO("read", read(slave, nowhere, 5));
	end();
	begin("wrong calls");
	DO("unlockpt", unlockpt(slave));
	DO("unlockpt", unlockpt(-1));
	DO("unlockpt", unlockpt(STDIN_FILENO));
	DO("ptsname", ptsname(slave) != NULL);
	end();
	closes();
}

static void without_waiting(void)
{
	static char much[100000];
	long most = 0, n;
	char byte;

	opens(true);
	must(!fcntl(master, F_SETFL, O_NONBLOCK) && !fcntl(slave, F_SETFL, O_NONBLOCK), "fcntl");
	begin("without waiting");
	DO("read", read(slave, &byte, 1));
	DO("read", read(master, &byte, 1));
	while ((n = write(slave, much, sizeof(much))) > 0)
		most += n;
	note("full", n, errno);
	add(" some=%d", most > 0);
	DO("poll", poll(&(struct pollfd){ slave, POLLIN, 0 }, 1, 0));
	await_bytes(master, 1);
	DO("read", read(master, &byte, 1));
	DO("flush", tcflush(slave, TCIOFLUSH));
	end();
	closes();
}

static void on_signal(int number)
{
	(void)number;
}

/* A read of @fd in a child is interrupted, before anything can be read. */
static void interrupted(const char *name, bool of_master)
{
	volatile int *tid;
	pid_t child;
	int status;

	opens(true);
	tid = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(tid != MAP_FAILED, "mmap");
	begin("%s", name);
	child = fork();
	if (!child) {
		char byte;
		ssize_t n;

		sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on_signal }, NULL);
		set(tid, getpid());
		n = read(of_master ? master : slave, &byte, 1);
		_exit(n < 0 ? errno : 200);
	}
	await_asleep(tid);
	kill(child, SIGUSR1);
	waitpid(child, &status, 0);
	add(" errno=%d", WEXITSTATUS(status));
	end();
	closes();
}

static void ends(void)
{
	char byte;

	opens(true);
	begin("the last slave is closed");
	DO("write", write(slave, "ab", 2));
	DO("close", close(slave));
	await_bytes(master, 2);
	DO("read", read(master, &byte, 1));
	DO("read", read(master, &byte, 1));
	DO("read", read(master, &byte, 1));
	DO("poll", poll(&(struct pollfd){ master, POLLIN, 0 }, 1, -1));
	DO("close", close(master));
	end();
	opens(true);
	begin("the master is closed");
	DO("close", close(master));
	DO("read", read(slave, &byte, 1));
	DO("write", write(slave, "x", 1));
	DO("close", close(slave));
	end();
}

static void packets(void)
{
	int on = 1;

	opens(false);
	begin("packet mode");
	DO("TIOCPKT", ioctl(master, TIOCPKT, &on));
	DO("write", write(slave, "ab", 2));
	await_bytes(master, 2);
	DO("poll", poll(&(struct pollfd){ master, POLLIN, 0 }, 1, -1));
	DO("read", read(master, line + 3000, 10));
	DO("flush", tcflush(slave, TCIFLUSH));
	DO("poll", poll(&(struct pollfd){ master, POLLPRI, 0 }, 1, -1));
	DO("read", read(master, line + 3000, 10));
	end();
	closes();
}

/* Typed ^C ends the child, whose terminal it is, and typed lines go to it. */
static void child(void)
{
	char bytes[64];
	int status, terminal;
	ssize_t n = 0;
	pid_t pid;

	begin("a child with a terminal");
	pid = forkpty(&terminal, NULL, NULL, NULL);
	if (!pid) {
		/* It may be ignored: so a shell begins what is to run in the background. */
		signal(SIGINT, SIG_DFL);
		if (write(STDOUT_FILENO, "ready", 5) == 5)
			for (;;)
				pause();
		_exit(1);
	}
	while (n < 5)
		n += read(terminal, bytes + n, sizeof(bytes) - (size_t)n);
	DO("type", write(terminal, "\003", 1));
	DO("wait", waitpid(pid, &status, 0) == pid);
	add(" signal=%d", WTERMSIG(status));
	end();
	close(terminal);
}

/* Another thread uses a descriptor while the main thread is blocked in a read, of which @tid says the number. */
static int used;
static pthread_t other;
static volatile int tid;

static void *closes_used(void *unused)
{
	(void)unused;
	await_asleep(&tid);
	close(used);
	return NULL;
}

static void *writes_used(void *unused)
{
	(void)unused;
	await_asleep(&tid);
	must(write(used, "late", 4) == 4, "write");
	return NULL;
}

/* Another thread runs @function, which uses @fd, when this one is asleep. */
static void begin_with(void *(*function)(void *), int fd)
{
	used = fd;
	tid = 0;
	must(!pthread_create(&other, NULL, function, NULL), "thread");
	set(&tid, getpid());
}

/* What a read of @fd shows, during which another thread writes to @to. */
static void meanwhile(int fd, int to)
{
	begin_with(writes_used, to);
	shows(fd, 60);
	pthread_join(other, NULL);
}

static void copies(void)
{
	int pipes[2], copy, locked = 0;

	begin("a slave by its master");
	master = posix_openpt(O_RDWR | O_NOCTTY);
	DO("unlock", ioctl(master, TIOCSPTLCK, &locked));
	slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY);
	must(slave >= 0, "slave");
	set_mode(true);
	meanwhile(slave, master);
	end();
	closes();

	opens(true);
	begin("copies of descriptors");
	copy = dup(master);
	DO("close", close(master));
	meanwhile(copy, slave);
	meanwhile(slave, copy);
	end();
	must(!pipe(pipes), "pipe");
	begin("the master is closed in a read of the slave");
	/* The end of the file, or EIO: which one is a race in the kernel. */
	begin_with(closes_used, copy);
	add(" ended=%d", read(slave, line + 3000, 10) <= 0);
	pthread_join(other, NULL);
	DO("read", read(slave, line + 3000, 10));
	end();
	must(dup2(pipes[0], copy) == copy, "dup2");
	begin("the number of a master is a pipe");
	meanwhile(copy, pipes[1]);
	end();
	close(pipes[0]);
	close(pipes[1]);
	close(copy);
	close(slave);
}

static void *reads_used(void *unused)
{
	char byte;

	(void)unused;
	set(&tid, gettid());
	return read(used, &byte, 1) < 0 ? NULL : &used;
}

static void cancelled(void)
{
	void *result;

	opens(true);
	begin("a thread is cancelled in a read");
	used = master;
	tid = 0;
	must(!pthread_create(&other, NULL, reads_used, NULL), "thread");
	await_asleep(&tid);
	pthread_cancel(other);
	pthread_join(other, &result);
	add(" cancelled=%d", result == PTHREAD_CANCELED);
	DO("write", write(slave, "x", 1));
	await_bytes(master, 1);
	shows(master, 60);
	end();
	closes();
}

static void opened_by_name(void)
{
	char byte;

	begin("opened by name");
	master = open("/dev/ptmx", O_RDWR | O_NOCTTY);
	must(master >= 0, "/dev/ptmx");
	DO("grantpt", grantpt(master));
	DO("unlockpt", unlockpt(master));
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	must(slave >= 0, "slave");
	DO("write", write(slave, "x", 1));
	DO("read", read(master, &byte, 1));
	end();
	closes();
}

int main(void)
{
	lines();
	arguments();
	without_waiting();
	interrupted("interrupted at the slave", false);
	interrupted("interrupted at the master", true);
	ends();
	packets();
	child();
	opened_by_name();
	copies();
	cancelled();
	return 0;
}
