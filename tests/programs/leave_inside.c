/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/leave_inside.c - THREADS threads, one after another, leave the library that has sem_post()
 *
 *	leave_inside jump|exit|stop
 *
 * Each is interrupted there at a random place by a signal, whose handler jumps out, or ends the thread, or waits
 * until the program ends. Under libcpa.so the library is libcpa.so. Of those that jump, every second one computes
 * for a while before it ends.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS	 60
#define EVERY_US 100
#define WORK	 100000l

static uintptr_t begin, end; /* of the library */
static char how;
static sem_t stopped;
static __thread sigjmp_buf target;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	if (at < begin || at >= end)
		return;
	if (how == 'j')
		siglongjmp(target, 1);
	if (how == 'e')
		pthread_exit(NULL);
	sem_post(&stopped);
	for (;;)
		pause();
}

static void *go(void *works)
{
	sigset_t alarm;
	sem_t sem;

	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sem_init(&sem, 0, 1);
	if (!sigsetjmp(target, 1)) {
		pthread_sigmask(SIG_UNBLOCK, &alarm, NULL);
		for (;;) {
			sem_trywait(&sem);
			sem_post(&sem);
		}
	}
	for (volatile long i = 0; works && i < WORK; i++)
		;
	return NULL;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } };
	struct dl_find_object found;
	pthread_t thread;
	sigset_t alarm;

	if (argc != 2 || _dl_find_object((void *)sem_post, &found))
		return 2;
	how = argv[1][0];
	begin = (uintptr_t)found.dlfo_map_start;
	end = (uintptr_t)found.dlfo_map_end;
	sem_init(&stopped, 0, 0);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	pthread_sigmask(SIG_BLOCK, &alarm, NULL);
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (long i = 0; i < THREADS; i++) {
		if (pthread_create(&thread, NULL, go, (void *)(i % 2)))
			return 1;
		if (how == 's')
			sem_wait(&stopped);
		else
			pthread_join(thread, NULL);
	}
	return 0;
}
