/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/slow_ends.c - ends of a stream, most of one whose descriptors are not counted
 *
 * `slow_ends CASE`. To be run with tests/plugins/slow_close.so: the one who ends the stream has said so long
 * before the kernel does it. In the first cases main waits for one who is seen; the last line on standard
 * error is "path P work W", as that of tests/programs/streams. In the others the end is made by a process
 * that is not seen, long after all that are. tests/e2e/slow_ends.py has the cases.
 */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "tests/programs/stream_work.h"

#define LATE_MS 50

static int ends[2], copy;

static void sleep_ms(int ms)
{
	struct timespec rest = { .tv_nsec = ms * 1000000L };

	must(!nanosleep(&rest, NULL));
}

/* A pipe that was opened by its name, too, so that its descriptors are not counted. */
static void make(void)
{
	char name[32], byte = 0;
	int again;

	must(!pipe(ends));
	snprintf(name, sizeof(name), "/dev/fd/%d", ends[1]);
	again = open(name, O_WRONLY | O_CLOEXEC);
	must(again >= 0 && write(again, &byte, 1) == 1 && read(ends[0], &byte, 1) == 1);
	must(!close(again));
}

static void begin(void *(*routine)(void *))
{
	pthread_t thread;

	must(!pthread_create(&thread, NULL, routine, NULL));
	must(!pthread_detach(thread));
}

static volatile int closing;

static void *closer(void *unused)
{
	burn(4);
	closing = 1;
	close(ends[1]);
	return unused;
}

static int ended(unsigned work)
{
	get_end(ends[0]);
	burn(2);
	return report(4 + 2, work + 2);
}

static int closed(void)
{
	make();
	begin(closer);
	return ended(4);
}

/* The reader begins to wait when the close has begun. */
static int met(void)
{
	make();
	begin(closer);
	while (!closing)
		sleep_ms(1);
	sleep_ms(10);
	return ended(4);
}

static void *follower(void *unused)
{
	burn(2);
	while (!closing)
		sleep_ms(1);
	sleep_ms(30);
	close(copy);
	return unused;
}

/* Two closes are under way: the end is made when one has returned. */
static int two(void)
{
	make();
	copy = dup(ends[1]);
	begin(follower);
	begin(closer);
	return ended(4 + 2);
}

static void *shutter(void *unused)
{
	burn(4);
	must(!shutdown(ends[1], SHUT_WR));
	return unused;
}

static int shut(void)
{
	must(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	begin(shutter);
	return ended(4);
}

static void *range_closer(void *unused)
{
	burn(4);
	must(!close_range((unsigned)ends[1], (unsigned)ends[1], 0));
	return unused;
}

/* A call that closes many has no tick of each: of a counted pipe it needs none. */
static int range(void)
{
	must(!pipe(ends));
	begin(range_closer);
	return ended(4);
}

/* Of main, that is about to wait. */
static volatile int *reader;

static void *close_cancelled(void *unused)
{
	pthread_cancel(pthread_self());
	close(ends[1]);
	return unused;
}

/* A call that was to close it is cancelled before it does. Nobody says that the process has it. */
static void by_cancelled(void)
{
	pthread_t thread;
	void *result;

	must(!pthread_create(&thread, NULL, close_cancelled, NULL));
	must(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	sleep_ms(LATE_MS);
}

/* A process ends with it. So has another one, that is not seen, and ends later. */
static void by_left(void)
{
	pid_t process = getpid();

	if (!_Fork()) {
		while (getppid() == process)
			usleep(1000);
		sleep_ms(LATE_MS);
		_exit(0);
	}
}

/* It closes its own before. */
static void by_copied(void)
{
	by_left();
	close(ends[1]);
}

static int unseen(void (*by)(void))
{
	make();
	reader = shared_number();
	CHILD(await_asleep(reader); by());
	close(ends[1]);
	*reader = gettid();
	get_end(ends[0]);
	reap();
	return 0;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(void);
	} seen[] = { { "closed", closed },
		     { "met", met },
		     { "two", two },
		     { "shut", shut },
		     { "range", range } };
	static const struct {
		const char *name;
		void (*by)(void);
	} others[] = { { "cancelled", by_cancelled },
		       { "left", by_left },
		       { "copied", by_copied } };

	own = argv[0];
	for (size_t i = 0; i < sizeof(seen) / sizeof(*seen); i++)
		if (argc > 1 && !strcmp(argv[1], seen[i].name))
			return seen[i].run();
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (argc > 1 && !strcmp(argv[1], others[i].name))
			return unseen(others[i].by);
	return 2;
}
