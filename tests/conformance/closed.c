/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/closed.c - what the program closed is closed, beside threads that begin
 *
 * A lock of flock() goes, and the reader of a pipe finds its end, when the last descriptor of the open
 * file is closed. A copy of the descriptor table, as fork() makes one, would keep it for a moment. Here
 * one thread opens, locks and closes by every way there is, while others begin: with all signals
 * blocked, and with a mutex of shared memory, for both of which the profiler opens files. They wait, too,
 * for which it opens one in the program's own table: the ends of a pipe have the numbers they have without.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>

#include "tests/conformance/case.h"

#define STARTERS 2
#define THREADS	 1500 /* of each starter */
#define SHARED	 (STARTERS * THREADS)

static const char *const ways[] = { "close",	 "dup2",   "dup3",    "close_range",
				    "closefrom", "fclose", "freopen", "freopen64" };
#define WAYS (sizeof(ways) / sizeof(ways[0]))

static char path[] = "/tmp/closed.XXXXXX";
static pthread_mutex_t *shared; /* in shared memory */
static volatile int running;
static int upside_down; /* pipes whose second end did not get the higher number */

static void *begins(void *mutex)
{
	pthread_mutex_lock(mutex);
	pthread_mutex_unlock(mutex);
	return mutex;
}

static void *begin_all(void *mutexes)
{
	pthread_mutex_t *mutex = mutexes;

	for (int i = 0; i < THREADS; i++)
		in_thread(begins, &mutex[i]);
	__atomic_fetch_sub(&running, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void make_shared(void)
{
	pthread_mutexattr_t attr;

	shared = mmap(NULL, SHARED * sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(shared != MAP_FAILED, "mmap");
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < SHARED; i++)
		pthread_mutex_init(&shared[i], &attr);
}

/* Close @fd, the highest number of the program. */
static void let_go(int fd, size_t way)
{
	FILE *file = way >= 5 ? fdopen(fd, "w") : NULL;
	int other = way == 1 || way == 2 ? open("/dev/null", O_RDWR) : -1;

	if (way == 0)
		close(fd);
	else if (way == 1)
		dup2(other, fd);
	else if (way == 2)
		dup3(other, fd, O_CLOEXEC);
	else if (way == 3)
		close_range((unsigned)fd, (unsigned)fd, 0);
	else if (way == 4)
		closefrom(fd);
	else if (way == 6)
		must((file = freopen("/dev/null", "r", file)), "freopen");
	else if (way == 7)
		must((file = freopen64("/dev/null", "r", file)), "freopen64");
	if (other >= 0) {
		close(fd);
		close(other);
	}
	if (file)
		fclose(file);
}

/* Whether the lock can be had at once. Nobody else wants it. */
static bool can_lock(size_t way)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	bool good = !flock(fd, LOCK_EX | LOCK_NB);

	let_go(fd, way);
	return good;
}

/* Whether the end of a pipe is found as soon as the other end is closed. */
static bool finds_end(size_t way)
{
	int ends[2];
	char byte;
	bool good;

	must(!pipe2(ends, O_NONBLOCK), "pipe2");
	upside_down += ends[1] < ends[0];
	let_go(ends[1], way);
	good = read(ends[0], &byte, 1) == 0;
	close(ends[0]);
	return good;
}

int main(void)
{
	pthread_t starters[STARTERS];
	int locked = 0, open_pipes = 0;
	sigset_t all;

	must(close(mkstemp(path)) == 0, "mkstemp");
	make_shared();
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, NULL);
	running = STARTERS;
	for (int i = 0; i < STARTERS; i++)
		must(!pthread_create(&starters[i], NULL, begin_all, &shared[i * THREADS]),
		     "pthread_create");
	for (size_t i = 0; running; i++) {
		if (!can_lock(i % WAYS))
			locked++;
		if (!finds_end(i / WAYS % WAYS))
			open_pipes++;
	}
	for (int i = 0; i < STARTERS; i++)
		pthread_join(starters[i], NULL);
	unlink(path);
	begin("closed beside threads that begin");
	add(" still locked=%d still open=%d upside down=%d", locked, open_pipes, upside_down);
	end();
	return 0;
}
