/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/serving.c - a server: descriptors closed as daemons do, signals without
 * SA_RESTART
 *
 * One thread waits for all connections by epoll, two work, four clients ask, and signals interrupt
 * the waiting. Every request has its answer, every signal its handler, and no descriptor is there
 * that the program did not make. How often calls are interrupted is up to the machine: it goes on
 * then.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>

#include "tests/conformance/case.h"

#define CLIENTS	 4
#define REQUESTS 100
#define WORKERS	 2
#define SIGNALS	 40
#define MOST_FDS 1024
#define LOW_FDS	 500 /* the profiler keeps some above, where a program may close them */

/* What is read from a connection, and what is to be written: both by the workers. */
struct job {
	int fd;
	struct job *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static struct job *first;
static int listening, events, ending, ticking;
static volatile int handled, ready, connections;
static bool over;
static long served, ticks;
static struct sockaddr_un address;
static socklen_t address_length;

static void on_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&handled, 1, __ATOMIC_RELAXED);
}

/* The value of @call, which a signal may interrupt. */
#define GO_ON(call)                                   \
	({                                            \
		long value_;                          \
                                                      \
		do                                    \
			value_ = (call);              \
		while (value_ < 0 && errno == EINTR); \
		value_;                               \
	})

static void watch(int fd)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLONESHOT, .data.fd = fd };

	if (epoll_ctl(events, EPOLL_CTL_ADD, fd, &event))
		epoll_ctl(events, EPOLL_CTL_MOD, fd, &event);
}

static void *work(void *argument)
{
	for (;;) {
		struct job *job;
		long number;

		pthread_mutex_lock(&lock);
		while (!first && !over)
			pthread_cond_wait(&filled, &lock);
		job = first;
		first = job ? job->next : NULL;
		pthread_mutex_unlock(&lock);
		if (!job)
			return argument;
		if (GO_ON(read(job->fd, &number, sizeof(number))) == sizeof(number)) {
			number = 2 * number + 1;
			must(GO_ON(write(job->fd, &number, sizeof(number))) == sizeof(number),
			     "write");
			__atomic_fetch_add(&served, 1, __ATOMIC_RELAXED);
			watch(job->fd);
		} else {
			close(job->fd);
			__atomic_fetch_sub(&connections, 1, __ATOMIC_RELAXED);
		}
		free(job);
	}
}

static void hand_over(int fd)
{
	struct job *job = malloc(sizeof(*job)), **end;

	must(job != NULL, "malloc");
	*job = (struct job){ .fd = fd };
	pthread_mutex_lock(&lock);
	for (end = &first; *end; end = &(*end)->next)
		;
	*end = job;
	pthread_cond_signal(&filled);
	pthread_mutex_unlock(&lock);
}

static void *serve(void *argument)
{
	set(&ready, 1);
	for (;;) {
		struct epoll_event event[8];
		int n = epoll_wait(events, event, 8, -1);

		must(n >= 0 || errno == EINTR, "epoll_wait");
		for (int i = 0; i < n; i++) {
			uint64_t count;
			int fd = event[i].data.fd;

			if (fd == ending)
				return argument;
			if (fd == ticking) {
				must(read(fd, &count, sizeof(count)) == sizeof(count), "timerfd");
				ticks += (long)count;
				watch(fd);
			} else if (fd == listening) {
				__atomic_fetch_add(&connections, 1, __ATOMIC_RELAXED);
				watch((int)GO_ON(accept4(fd, NULL, NULL, SOCK_CLOEXEC)));
				watch(fd);
			} else {
				hand_over(fd);
			}
		}
	}
}

static void *ask(void *argument)
{
	long sum = 0;

	for (long i = 0; i < REQUESTS; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		long number = i;

		must(!GO_ON(connect(fd, (struct sockaddr *)&address, address_length)), "connect");
		for (int again = 0; again < 3; again++) {
			must(write(fd, &number, sizeof(number)) == sizeof(number), "ask");
			must(GO_ON(recv(fd, &number, sizeof(number), MSG_WAITALL)) ==
				     sizeof(number),
			     "answer");
		}
		sum += number;
		close(fd);
	}
	(void)argument;
	return (void *)sum;
}

/* Close what is not ours, as daemons do; there is nothing low. */
static void close_others(const char *when)
{
	int closed = 0;

	begin("%s: descriptors of nobody's", when);
	for (int fd = 3; fd < MOST_FDS; fd++)
		if (fd != listening && fd != events && fd != ending && fd != ticking)
			closed += !close(fd) && fd < LOW_FDS;
	add(" %d", closed);
	end();
}

static void open_all(void)
{
	struct itimerspec every = { { 0, 2000000 }, { 0, 2000000 } };

	begin("descriptors");
	DO("listen", listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	DO("epoll", events = epoll_create1(EPOLL_CLOEXEC));
	DO("eventfd", ending = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	DO("timerfd", ticking = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
	address.sun_family = AF_UNIX; /* the kernel finds a name */
	DO("bind", bind(listening, (struct sockaddr *)&address, sizeof(sa_family_t)));
	DO("start", listen(listening, 16));
	address_length = sizeof(address);
	DO("name", getsockname(listening, (struct sockaddr *)&address, &address_length));
	DO("timer", timerfd_settime(ticking, 0, &every, NULL));
	end();
	watch(listening);
	watch(ending);
	watch(ticking);
}

/* dup2() over every number that is free, and close() of all. */
static void use_all_numbers(void)
{
	int made = 0, closed = 0;

	begin("all numbers");
	for (int fd = 3; fd < MOST_FDS; fd++)
		if (fd != listening && fd != events && fd != ending && fd != ticking)
			made += dup2(0, fd) == fd;
	for (int fd = 3; fd < MOST_FDS; fd++)
		if (fd != listening && fd != events && fd != ending && fd != ticking)
			closed += !close(fd);
	add(" made %d closed %d", made, closed);
	end();
}

static void interrupt(pthread_t server)
{
	int sent = 0;

	begin("signals");
	for (int i = 0; i < SIGNALS; i++) {
		int before = __atomic_load_n(&handled, __ATOMIC_RELAXED);

		sent += !pthread_kill(server, SIGUSR1);
		while (__atomic_load_n(&handled, __ATOMIC_RELAXED) == before)
			sleep_ms(1);
	}
	add(" sent %d handled %d", sent, handled);
	end();
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_signal }; /* without SA_RESTART */
	pthread_t server, worker[WORKERS], client[CLIENTS];
	uint64_t one = 1;

	sigaction(SIGUSR1, &action, NULL);
	listening = events = ending = ticking = -1;
	close_others("at the start");
	open_all();
	use_all_numbers();
	must(!pthread_create(&server, NULL, serve, NULL), "pthread_create");
	for (int i = 0; i < WORKERS; i++)
		must(!pthread_create(&worker[i], NULL, work, NULL), "pthread_create");
	await(&ready, 1);
	for (int i = 0; i < CLIENTS; i++)
		must(!pthread_create(&client[i], NULL, ask, NULL), "pthread_create");
	interrupt(server);
	begin("answers");
	for (int i = 0; i < CLIENTS; i++) {
		void *sum;

		DO("join", pthread_join(client[i], &sum));
		add(" %ld", (long)sum);
	}
	end();
	while (__atomic_load_n(&connections, __ATOMIC_RELAXED))
		sleep_ms(1);
	CASE("the server ends", write(ending, &one, sizeof(one)));
	pthread_join(server, NULL);
	pthread_mutex_lock(&lock);
	over = true;
	pthread_cond_broadcast(&filled);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < WORKERS; i++)
		pthread_join(worker[i], NULL);
	begin("served");
	add(" %ld, ticks %d", served, ticks > 0);
	end();
	close_others("at the end");
	CASE("close", close(listening) | close(events) | close(ending) | close(ticking));
	return 3;
}
