/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/dying.c - a program that dies in each way there is, for tests/e2e/death.py
 *
 *	dying FILE HOW [ARGUMENT]
 *
 * Eight threads use locks, conditions, semaphores and barriers without end. FILE is told of each
 * operation before it begins and after it has ended, in memory that outlives the program, so that
 * the test knows what a profile must hold at least and may hold at most. When all threads have done
 * some operations, the program dies by HOW, or goes on until somebody ends it ("live").
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "tests/conformance/case.h"

#define ENOUGH 20u

enum counter { SHARED, PRIVATE, SIGNALED, POSTED, CROSSED, SLEPT, COUNTERS };

/* The test reads this: 64-bit words, little-endian. */
struct tally {
	uint64_t threads; /* that have begun */
	uint64_t ready;	  /* threads that have done ENOUGH operations */
	uint64_t begun[COUNTERS], done[COUNTERS];
	uint64_t at_end[COUNTERS]; /* done when the death began; 0: it came from outside */
};

static struct tally *tally;
static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t private_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t signal_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t crossing;
static sem_t posted, answered;
static int turn;
static volatile int stop, last_crossing;

static void begun(enum counter which)
{
	__atomic_fetch_add(&tally->begun[which], 1, __ATOMIC_SEQ_CST);
}

static void done(enum counter which)
{
	__atomic_fetch_add(&tally->done[which], 1, __ATOMIC_SEQ_CST);
}

static void burn(int n)
{
	for (int i = 0; i < n; i++)
		__asm__ volatile("" : : "r"(i));
}

static void use(pthread_mutex_t *lock, enum counter which)
{
	begun(which);
	pthread_mutex_lock(lock);
	burn(300);
	pthread_mutex_unlock(lock);
	done(which);
	burn(1000);
}

static void take_turns(int me)
{
	begun(SIGNALED);
	pthread_mutex_lock(&signal_lock);
	while (turn != me && !stop)
		pthread_cond_wait(&turn_changed, &signal_lock);
	turn = !me;
	pthread_cond_broadcast(&turn_changed);
	pthread_mutex_unlock(&signal_lock);
	done(SIGNALED);
}

static void hand_over(sem_t *from, sem_t *to)
{
	begun(POSTED);
	sem_wait(from);
	sem_post(to);
	done(POSTED);
}

static void *live(void *argument)
{
	int me = (int)(intptr_t)argument;

	__atomic_fetch_add(&tally->threads, 1, __ATOMIC_SEQ_CST);
	for (unsigned n = 1; me < 6 ? !stop : !last_crossing; n++) {
		if (me < 2) {
			use(&shared_lock, SHARED);
		} else if (me < 4) {
			take_turns(me - 2);
		} else if (me < 6) {
			hand_over(me == 4 ? &posted : &answered, me == 4 ? &answered : &posted);
		} else if (me == 6) {
			begun(CROSSED);
			pthread_barrier_wait(&crossing);
			done(CROSSED);
		} else {
			use(&private_lock, PRIVATE);
			begun(SLEPT);
			sleep_ms(1);
			done(SLEPT);
			last_crossing = stop;
			pthread_barrier_wait(&crossing);
		}
		if (n == ENOUGH)
			__atomic_fetch_add(&tally->ready, 1, __ATOMIC_SEQ_CST);
	}
	return argument;
}

static void on_signal(int number)
{
	_exit(100 + number);
}

static int overflow(volatile int *depth)
{
	volatile int page[256]; /* no step passes over the guard page */

	page[0] = *depth + 1;
	return page[0] < 0 ? 0 : overflow(page) + page[0];
}

static void note_end(void)
{
	for (int i = 0; i < COUNTERS; i++)
		tally->at_end[i] = __atomic_load_n(&tally->done[i], __ATOMIC_SEQ_CST);
}

/* Die by a signal, as the kernel sends it where it does. */
static void die_by(int number)
{
	volatile int zero = 0;
	volatile uintptr_t nowhere = 8;

	signal(number, SIG_DFL); /* who started us may have them ignored */
	switch (number) {
	case SIGSEGV:
		*(volatile int *)nowhere = 1;
		break;
	case SIGFPE:
		zero = number / zero;
		break;
	case SIGILL:
		__builtin_trap();
	case SIGXCPU:
		setrlimit(RLIMIT_CPU, &(struct rlimit){ 1, RLIM_INFINITY });
		for (;;)
			;
	default:
		kill(getpid(), number);
		for (;;)
			pause();
	}
}

static void eat(size_t limit)
{
	/* The kernel ends us, or malloc fails. */
	for (size_t eaten = 0; eaten < limit; eaten += 1 << 20) {
		char *p = malloc(1 << 20);

		must(p, "malloc");
		memset(p, 1, 1 << 20);
	}
	_exit(98);
}

static void *die(void *argument)
{
	char *const nothing[] = { NULL };
	char **argv = argument;
	const char *how = argv[2];
	int number = argv[3] ? atoi(argv[3]) : 0;

	if (!strcmp(how, "later"))
		sleep_ms(number);
	note_end();
	if (!strcmp(how, "exit"))
		exit(number);
	if (!strcmp(how, "_exit") || !strcmp(how, "later"))
		_exit(number);
	if (!strcmp(how, "_Exit"))
		_Exit(number);
	if (!strcmp(how, "quick_exit"))
		quick_exit(number);
	if (!strcmp(how, "exit_group"))
		syscall(SYS_exit_group, number);
	if (!strcmp(how, "abort"))
		abort();
	if (!strcmp(how, "signal"))
		die_by(number);
	if (!strcmp(how, "handler")) {
		signal(number, on_signal);
		raise(number);
	}
	if (!strcmp(how, "overflow"))
		overflow(&number);
	if (!strcmp(how, "exec"))
		execle("/bin/sh", "sh", "-c", "exit 9", NULL, nothing);
	if (!strcmp(how, "eat"))
		eat((size_t)number << 20);
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	bool here = argc > 2 && argv[2][0] == '+'; /* in the first thread, not in one of its own */
	pthread_t t[8];

	must(fd >= 0, "usage: dying FILE [+]HOW [ARGUMENT]");
	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(tally != MAP_FAILED, "mmap");
	close(fd);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	pthread_barrier_init(&crossing, NULL, 2);
	sem_init(&posted, 0, 1);
	sem_init(&answered, 0, 0);
	for (intptr_t i = 0; i < 8; i++)
		must(!pthread_create(&t[i], NULL, live, (void *)i), "pthread_create");
	while (__atomic_load_n(&tally->ready, __ATOMIC_SEQ_CST) < 8)
		sleep_ms(1);
	argv[2] += here;
	if (!strcmp(argv[2], "return")) {
		note_end();
		return argv[3] ? atoi(argv[3]) : 0;
	}
	if (!strcmp(argv[2], "last")) { /* of the threads, after main has left */
		stop = 1;
		pthread_cond_broadcast(&turn_changed);
		sem_post(&posted);
		sem_post(&answered);
		pthread_exit(NULL);
	}
	if (!strcmp(argv[2], "live"))
		pause();
	if (here)
		die(argv);
	else
		in_thread(die, argv);
	return 97;
}
