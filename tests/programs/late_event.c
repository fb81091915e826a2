/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/late_event.c - an operation of a thread begins in one part of the run, its event is in the next
 *
 *	late_event waits     it locks a mutex that was held when it tried, and is free when it waits; then it ends the
 *			     program
 *	late_event releases  it unlocks a mutex, for which main waits since the next part began
 *	late_event ends      it unlocks a mutex in the first part, and the operation ends in the next
 *	late_event calls     it returns from a function of an instrumented build; then it ends the program
 *	late_event reads     it is back from a read that waited for main's work; then it ends the program
 *
 * Before, it computes for 60 ms, or main for 20 ms (reads). A second argument: profiling is stopped and started so
 * many times in between; 0: by somebody else, once there is a byte on standard output, and before there is one on
 * standard input.
 * With tests/plugins/slow_clock.so, as if the thread lost its processor in the operation. Without it it does nothing.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/cpa.h"
#include "tests/conformance/asleep.h"
#include "tests/programs/burn.h"

#define OFF_MS	50
#define ON_MS	50
#define BUSY_MS 60
#define READ_MS 20

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static void (*arm)(void), (*arm_behind)(void), (*arm_thread)(int tid), (*let)(void);
static bool (*reached)(void);
static int tid; /* of the thread that is about to wait */
static int ends_of_pipe[2];
static int stops;

/* By no function that cpa wraps. */
static void sleep_ms(long ms)
{
	struct timespec left = { .tv_nsec = ms * 1000000 };

	while (syscall(SYS_nanosleep, &left, &left))
		;
}

static void *waits(void *unused)
{
	sleep_ms(1); /* cpa looks at the clock after that */
	burn_ms(BUSY_MS);
	arm();
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	exit(0);
	return unused;
}

static void *releases(void *unused)
{
	pthread_mutex_lock(&mutex);
	sleep_ms(1);
	burn_ms(BUSY_MS);
	arm();
	pthread_mutex_unlock(&mutex);
	return unused;
}

static void *ends(void *unused)
{
	pthread_mutex_lock(&mutex);
	sleep_ms(1);
	burn_ms(BUSY_MS);
	arm_behind();
	pthread_mutex_unlock(&mutex);
	while (!reached()) { /* where each stamp asks the kernel, one of the next operations is late */
		pthread_mutex_lock(&mutex);
		pthread_mutex_unlock(&mutex);
	}
	return unused;
}

/* As the compiler has it done in an instrumented build. */
void __cyg_profile_func_enter(void *function, void *site);
void __cyg_profile_func_exit(void *function, void *site);

static void *calls(void *unused)
{
	void *function = (void *)calls, *site = __builtin_return_address(0);

	__cyg_profile_func_enter(function, site);
	sleep_ms(1);
	burn_ms(BUSY_MS);
	arm();
	__cyg_profile_func_exit(function, site);
	exit(0);
	return unused;
}

static void *reads(void *unused)
{
	char byte;

	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (read(ends_of_pipe[0], &byte, 1) == 1)
		exit(0);
	return unused;
}

static void *opener(void *unused)
{
	await_asleep(&tid);
	let();
	return unused;
}

static void next_part(void)
{
	char byte = 0;

	while (!reached())
		sleep_ms(1);
	if (!stops) {
		syscall(SYS_write, STDOUT_FILENO, &byte, 1);
		while (syscall(SYS_read, STDIN_FILENO, &byte, 1) == -1)
			;
		return;
	}
	for (int i = 0; i < stops; i++) {
		CPA_STOP();
		sleep_ms(OFF_MS);
		CPA_START();
		sleep_ms(1);
	}
	sleep_ms(ON_MS);
}

/* Until another thread ends the program, in no operation that cpa sees. */
static void await_exit(void)
{
	for (;;)
		sleep_ms(1000);
}

static void wait_late(void)
{
	pthread_t thread;

	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, waits, NULL);
	next_part();
	pthread_mutex_unlock(&mutex);
	let();
	await_exit();
}

static void release_late(void)
{
	pthread_t thread, opens;

	pthread_create(&opens, NULL, opener, NULL);
	pthread_create(&thread, NULL, releases, NULL);
	next_part();
	__atomic_store_n(&tid, (int)syscall(SYS_gettid), __ATOMIC_RELEASE);
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

/* The thread runs @routine, and nobody waits for what it does there. */
static void alone(void *(*routine)(void *))
{
	pthread_t thread;

	pthread_create(&thread, NULL, routine, NULL);
	next_part();
	let();
	if (routine == calls)
		await_exit();
	pthread_join(thread, NULL);
}

static void read_late(void)
{
	pthread_t thread;

	if (pipe(ends_of_pipe))
		exit(2);
	pthread_create(&thread, NULL, reads, NULL);
	await_asleep(&tid);
	arm_thread(tid);
	burn_ms(READ_MS);
	if (write(ends_of_pipe[1], "", 1) != 1)
		exit(2);
	next_part();
	let();
	await_exit();
}

int main(int argc, char **argv)
{
	*(void **)&arm = dlsym(RTLD_DEFAULT, "slow_clock_arm");
	*(void **)&arm_behind = dlsym(RTLD_DEFAULT, "slow_clock_arm_behind");
	*(void **)&arm_thread = dlsym(RTLD_DEFAULT, "slow_clock_arm_thread");
	*(void **)&let = dlsym(RTLD_DEFAULT, "slow_clock_open");
	*(void **)&reached = dlsym(RTLD_DEFAULT, "slow_clock_reached");
	stops = argc > 2 ? atoi(argv[2]) : 1;
	if (argc < 2 || !arm || !arm_behind || !arm_thread || !let || !reached)
		return 2;
	if (strcmp(argv[1], "waits") == 0)
		wait_late();
	else if (strcmp(argv[1], "releases") == 0)
		release_late();
	else if (strcmp(argv[1], "reads") == 0)
		read_late();
	else
		alone(strcmp(argv[1], "ends") == 0 ? ends : calls);
	return 0;
}
