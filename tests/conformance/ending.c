/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/ending.c - all the ways a process may end
 *
 *	ending --list		one name a line
 *	ending NAME		ends that way; the status and what handlers print are the result
 */
#include <signal.h>
#include <sys/syscall.h>
#include <threads.h>

#include "tests/conformance/case.h"

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static volatile int ready;

static void say(const char *what)
{
	begin("%s", what);
	DO("lock", pthread_mutex_lock(&m));
	DO("unlock", pthread_mutex_unlock(&m));
	end();
}

static void at_exit(void)
{
	say("atexit");
}

static void at_quick(void)
{
	say("at_quick_exit");
}

static __attribute__((destructor)) void destructor(void)
{
	say("destructor");
}

static void *waits(void *argument)
{
	set(&ready, 1);
	for (;;)
		pause();
	return argument;
}

static void *locks_for_ever(void *argument)
{
	set(&ready, 1);
	for (;;) {
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	return argument;
}

static void *ends_soon(void *argument)
{
	set(&ready, 1);
	sleep_ms(20);
	say("thread");
	return argument;
}

static void *exits_process(void *argument)
{
	(void)argument;
	sleep_ms(5);
	exit(21);
}

static void *exits_at_once(void *argument)
{
	(void)argument;
	_exit(22);
}

static void run(void *(*f)(void *))
{
	pthread_t t;

	ready = 0;
	must(!pthread_create(&t, NULL, f, NULL), "pthread_create");
}

static void run_and_see(void *(*f)(void *))
{
	run(f);
	await(&ready, 1);
}

static void exit_again(void)
{
	exit(31);
}

static void on_term(int sig)
{
	_exit(100 + sig);
}

static void thread_at_exit(void)
{
	in_thread(ends_soon, NULL);
}

static int c11_thread(void *argument)
{
	(void)argument;
	thrd_exit(3);
}

static void end_return(void)
{
}

static void end_exit(void)
{
	exit(3);
}

static void end_exit_long(void)
{
	exit(0x1234);
}

static void end__exit(void)
{
	_exit(4);
}

static void end__Exit(void)
{
	_Exit(5);
}

static void end_quick(void)
{
	quick_exit(6);
}

static void end_exit_group(void)
{
	syscall(SYS_exit_group, 7);
}

static void end_abort(void)
{
	abort();
}

static void end_among(void)
{
	run_and_see(waits);
	run_and_see(locks_for_ever);
	exit(8);
}

static void end__exit_among(void)
{
	run_and_see(waits);
	run_and_see(locks_for_ever);
	_exit(9);
}

static void end_in_thread(void)
{
	run(exits_process);
	waits(NULL);
}

static void end__exit_in_thread(void)
{
	run(exits_at_once);
	waits(NULL);
}

static void end_main_exits(void)
{
	run(ends_soon);
	pthread_exit(NULL);
}

static void end_main_exits_alone(void)
{
	pthread_exit((void *)12);
}

static void end_main_exits_thread_exits(void)
{
	run(exits_process);
	pthread_exit(NULL);
}

static void end_main_cancelled(void)
{
	run(ends_soon);
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void end_c11(void)
{
	thrd_t t;

	thrd_create(&t, c11_thread, NULL);
	thrd_exit(4);
}

static void end_exit_in_handler(void)
{
	atexit(exit_again);
	exit(30);
}

static void end_thread_in_handler(void)
{
	atexit(thread_at_exit);
	exit(32);
}

static void end_lock_held(void)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&own);
	exit(13);
}

static void end_handled(void)
{
	signal(SIGTERM, on_term);
	run_and_see(locks_for_ever);
	raise(SIGTERM);
}

static void end_null(void)
{
	*(volatile int *)NULL = 1;
}

static void deeper(volatile char *outer)
{
	volatile char much[65536];

	much[0] = *outer;
	if (much[0] < 2) /* always */
		deeper(much);
	*outer = much[0];
}

static void end_stack(void)
{
	char none = 0;

	deeper(&none);
}

static int divisor;

static void end_division(void)
{
	divisor = 1 / divisor;
}

static void end_alarm(void)
{
	alarm(1);
	waits(NULL);
}

static void *raises_in_thread(void *argument)
{
	raise((int)(intptr_t)argument);
	return NULL;
}

static void end_signal_in_thread(void)
{
	in_thread(raises_in_thread, (void *)SIGTERM);
}

static void end_blocked_signal(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGTERM);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	exit(1);
}

static const struct {
	const char *name;
	void (*end)(void);
} endings[] = { { "return", end_return },
		{ "exit", end_exit },
		{ "exit-long", end_exit_long },
		{ "_exit", end__exit },
		{ "_Exit", end__Exit },
		{ "quick_exit", end_quick },
		{ "exit_group", end_exit_group },
		{ "abort", end_abort },
		{ "exit-among-threads", end_among },
		{ "_exit-among-threads", end__exit_among },
		{ "exit-in-thread", end_in_thread },
		{ "_exit-in-thread", end__exit_in_thread },
		{ "main-exits", end_main_exits },
		{ "main-exits-alone", end_main_exits_alone },
		{ "main-exits-thread-exits", end_main_exits_thread_exits },
		{ "main-cancelled", end_main_cancelled },
		{ "thrd_exit", end_c11 },
		{ "exit-in-atexit", end_exit_in_handler },
		{ "thread-in-atexit", end_thread_in_handler },
		{ "lock-held", end_lock_held },
		{ "handled-signal", end_handled },
		{ "null-pointer", end_null },
		{ "stack-overflow", end_stack },
		{ "division", end_division },
		{ "alarm", end_alarm },
		{ "signal-in-thread", end_signal_in_thread },
		{ "blocked-signal", end_blocked_signal } };
static const int signals[] = { SIGTERM, SIGKILL, SIGSEGV, SIGINT,    SIGHUP,  SIGPIPE, SIGUSR1,
			       SIGBUS,	SIGILL,	 SIGTRAP, SIGSTKFLT, SIGPROF, SIGXCPU, 34 };

int main(int argc, char **argv)
{
	size_t n = sizeof(endings) / sizeof(endings[0]), k = sizeof(signals) / sizeof(signals[0]);

	if (argc != 2 || !strcmp(argv[1], "--list")) {
		for (size_t i = 0; i < n; i++)
			puts(endings[i].name);
		for (size_t i = 0; i < k; i++)
			printf("signal-%d\n", signals[i]);
		fflush(stdout);
		_exit(0);
	}
	atexit(at_exit);
	at_quick_exit(at_quick);
	say("main");
	if (!strncmp(argv[1], "signal-", 7) && argv[1][7] < 'a')
		raise(atoi(argv[1] + 7));
	for (size_t i = 0; i < n; i++)
		if (!strcmp(argv[1], endings[i].name))
			endings[i].end();
	return 33;
}
