/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/case.h - one line for each case: what the calls of it returned
 *
 *	begin("normal mutex: alone");
 *	DO("lock", pthread_mutex_lock(&m));		-> "normal mutex: alone: lock=0 ..."
 *	end();
 *
 * The lines must be the same whether or not the program is profiled, so they hold no times,
 * addresses or process numbers. An errno that a call changed follows its value. Each line goes out
 * at once: the last one tells where a program hangs. Main thread only, but for helpers at the end.
 */
#ifndef CPA_TESTS_CONFORMANCE_CASE_H
#define CPA_TESTS_CONFORMANCE_CASE_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* What errno is before each call; successful calls are to leave it. */
#define UNTOUCHED EXDEV

static char line[4096];
static size_t line_length;

static inline __attribute__((format(printf, 1, 2))) void add(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_length +=
		(size_t)vsnprintf(line + line_length, sizeof(line) - 2 - line_length, format, args);
	va_end(args);
	if (line_length > sizeof(line) - 2)
		line_length = sizeof(line) - 2;
}

#define begin(...) (line_length = 0, add(__VA_ARGS__), add(":"))

static inline void end(void)
{
	line[line_length++] = '\n';
	if (write(STDOUT_FILENO, line, line_length) < 0)
		abort();
}

static inline void note(const char *label, long value, int err)
{
	add(" %s=%ld", label, value);
	if (err != UNTOUCHED)
		add("/%s", err ? strerrorname_np(err) : "0");
}

#define DO(label, expression)                \
	do {                                 \
		long value_;                 \
                                             \
		errno = UNTOUCHED;           \
		value_ = (long)(expression); \
		note(label, value_, errno);  \
	} while (0)

/* One case with one call. */
#define CASE(name, expression)             \
	do {                               \
		begin("%s", name);         \
		DO("returns", expression); \
		end();                     \
	} while (0)

/* Give up: nothing is tested. */
static inline void must(bool good, const char *what)
{
	if (good)
		return;
	dprintf(STDERR_FILENO, "cannot go on: %s: %s\n", what, strerrorname_np(errno));
	_exit(99);
}

static inline struct timespec in_ms(clockid_t clock, long ms)
{
	struct timespec t;

	clock_gettime(clock, &t);
	t.tv_nsec += ms % 1000 * 1000000;
	t.tv_sec += ms / 1000 + t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static inline void sleep_ms(long ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000 };

	nanosleep(&t, NULL);
}

/* Points in time for calls with a timeout. */
enum { PAST, SOON, FAR, NEGATIVE_NS, TOO_MANY_NS, BEFORE_1970, WHENS };
static const char *const when_names[WHENS] = { "past",	      "soon",	     "far",
					       "negative ns", "too many ns", "before 1970" };

static inline struct timespec at(int when, clockid_t clock)
{
	static const struct timespec fixed[WHENS] = { [PAST] = { 1, 0 },
						      [NEGATIVE_NS] = { 1, -1 },
						      [TOO_MANY_NS] = { 1, 1000000000 },
						      [BEFORE_1970] = { -5, 0 } };

	return when == SOON ? in_ms(clock, 10) : when == FAR ? in_ms(clock, 300000) : fixed[when];
}

/* Clocks that timed calls accept, and some that they do not. */
static const struct {
	const char *name;
	clockid_t id;
} clocks[] = { { "realtime", CLOCK_REALTIME },
	       { "monotonic", CLOCK_MONOTONIC },
	       { "process CPU", CLOCK_PROCESS_CPUTIME_ID },
	       { "boottime", CLOCK_BOOTTIME },
	       { "no clock", 12345 } };
#define CLOCKS (sizeof(clocks) / sizeof(clocks[0]))

/* What @f returns in a thread of its own. */
static inline void *in_thread(void *(*f)(void *), void *argument)
{
	pthread_t t;
	void *result = NULL;

	must(!pthread_create(&t, NULL, f, argument), "pthread_create");
	must(!pthread_join(t, &result), "pthread_join");
	return result;
}

/* Wait until @flag is @value, which another thread sets. */
static inline void await(volatile int *flag, int value)
{
	while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) != value)
		sched_yield();
}

static inline void set(volatile int *flag, int value)
{
	__atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

#endif
