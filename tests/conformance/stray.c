/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/stray.c - children that a signal handler makes, wherever it interrupts
 *
 * Parent and child both return to what the handler interrupted: a wait, or any instruction of a
 * loop that does little but synchronize, so that most are in the midst of a call. The child goes on
 * there for a while, and its exit status says whether it could.
 */
#include <signal.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define WAITS	20
#define TIMES	200
#define AFTER	250 /* rounds of the loop, after the handler */
#define COMPUTE 12  /* ms */
#define MOST	10  /* s of CPU time of a child: one that takes more never ends */
#define NOT_YET -2

static pthread_mutex_t m[16];
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t s;
static pid_t (*volatile make)(void);
static volatile pid_t made;
static volatile int stop;

static __attribute__((used)) void on_alarm(int sig)
{
	struct itimerval late = { .it_value = { MOST, 0 } };
	pid_t child = make();

	(void)sig;
	if (!child)
		setitimer(ITIMER_VIRTUAL, &late, NULL);
	made = child;
	sem_post(&s);
}

/* Of this one no unwinder knows who called it. */
void on_alarm_unseen(int sig);
__asm__("on_alarm_unseen:\n\t"
	"push %rbp\n\t"
	"call on_alarm\n\t"
	"pop %rbp\n\t"
	"ret");

static pid_t fork_by_number(void)
{
	return (pid_t)syscall(SYS_fork);
}

static void set_alarm(pid_t (*how)(void), suseconds_t us)
{
	struct itimerval soon = { .it_value = { 0, us } };

	make = how;
	made = NOT_YET;
	setitimer(ITIMER_REAL, &soon, NULL);
}

/* The child ends here. */
static bool is_well(int failed)
{
	int status = 0;

	if (!made)
		_exit(failed ? 1 : 42);
	return waitpid(made, &status, 0) == made && status == 42 << 8 && !failed;
}

static void compute(long ms)
{
	struct timespec now;
	long until;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	until = now.tv_sec * 1000 + now.tv_nsec / 1000000 + ms;
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while (now.tv_sec * 1000 + now.tv_nsec / 1000000 < until);
}

/* Of a thread that computes: there is something that the kernel may tell a profiler. */
static void in_waits(const char *name, pid_t (*how)(void))
{
	int bad = 0;

	begin("%s in waits", name);
	for (int i = 0; i < WAITS; i++) {
		compute(COMPUTE);
		set_alarm(how, 10000);
		while (sem_wait(&s))
			;
		bad += !is_well(0);
	}
	add(" bad=%d", bad);
	end();
}

static int synchronize(unsigned round)
{
	pthread_mutex_t *each = &m[round % 16];
	int failed = pthread_mutex_lock(each) + pthread_mutex_unlock(each);

	failed += sem_post(&s) + sem_wait(&s);
	return failed + pthread_rwlock_rdlock(&rw) + pthread_rwlock_unlock(&rw);
}

static void anywhere(const char *name, pid_t (*how)(void))
{
	int bad = 0;

	begin("%s anywhere", name);
	for (int i = 0; i < TIMES; i++) {
		unsigned round = 0, after = 0;
		int failed = 0;

		set_alarm(how, 200 + i * 37 % 900);
		while (after < AFTER) {
			failed += synchronize(round++);
			after += made != NOT_YET;
		}
		failed += sem_wait(&s);
		bad += !is_well(failed);
	}
	add(" bad=%d", bad);
	end();
}

/* Beside it, with objects of its own: the child finds none of them locked. */
static void *make_noise(void *argument)
{
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	sem_t tokens;

	(void)argument;
	sem_init(&tokens, 0, 0);
	while (!stop) {
		for (int i = 0; i < 1000; i++) {
			pthread_mutex_lock(&own);
			sem_post(&tokens);
			sem_post(&tokens);
			pthread_mutex_unlock(&own);
			sem_wait(&tokens);
			sem_wait(&tokens);
		}
		sched_yield();
	}
	return NULL;
}

int main(void)
{
	struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct sigaction unseen = { .sa_handler = on_alarm_unseen, .sa_flags = SA_RESTART };
	pthread_t noise[2];
	sigset_t alarms;

	sem_init(&s, 0, 0);
	for (int i = 0; i < 16; i++)
		pthread_mutex_init(&m[i], NULL);
	sigaction(SIGALRM, &unseen, NULL);
	in_waits("fork, unseen,", fork);
	sigaction(SIGALRM, &action, NULL);
	in_waits("fork", fork);
	in_waits("_Fork", _Fork);
	in_waits("fork by system call", fork_by_number);
	anywhere("fork", fork);
	anywhere("_Fork", _Fork);
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarms, NULL);
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&noise[i], NULL, make_noise, NULL), "pthread_create");
	pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
	anywhere("among threads, fork", fork);
	anywhere("among threads, _Fork", _Fork);
	stop = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(noise[i], NULL);
	return 0;
}
