/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/jump_numbers.c - a signal handler jumps out of dup(), many times, or returns to it: at once, or
 * after a jump to another stack, and one back
 *
 *	jump_numbers jump|stay|switch
 *
 * Then main and a thread wait for each other some times. Prints whether a file with a delay on the run queue is
 * open, which is cpa's.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNALS	 50
#define STACK	 65536
#define EVERY_US 100
#define ROUNDS	 20
#define SLEEP_US 2000

static sigjmp_buf target;
static volatile int signals;
static int jumps, switches;
static sigjmp_buf handler, coroutine;
static ucontext_t first, second;
static char stack[STACK];
static uintptr_t begin, end; /* of the C library's dup() */
static sem_t asked, answered;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	const ucontext_t *interrupted = context;
	uintptr_t at = (uintptr_t)interrupted->uc_mcontext.gregs[REG_RIP];

	(void)sig, (void)info;
	if (at < begin || at >= end || signals == SIGNALS)
		return;
	signals++;
	if (jumps)
		siglongjmp(target, 1);
	if (switches && !sigsetjmp(handler, 1))
		siglongjmp(coroutine, 1);
}

/* Runs on `stack`. */
static void serve(void)
{
	if (!sigsetjmp(coroutine, 1))
		swapcontext(&second, &first);
	siglongjmp(handler, 1);
}

static void start_coroutine(void)
{
	getcontext(&second);
	second.uc_stack.ss_sp = stack;
	second.uc_stack.ss_size = sizeof(stack);
	makecontext(&second, serve, 0);
	swapcontext(&first, &second);
}

static int find_dup(void)
{
	const ElfW(Sym) * symbol;
	Dl_info info;
	void *library = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	void *function = library ? dlsym(library, "dup") : NULL;

	if (!function || !dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
		return 0;
	begin = (uintptr_t)function;
	end = begin + symbol->st_size;
	return 1;
}

static void take_numbers(void)
{
	struct itimerval often = { { 0, EVERY_US }, { 0, EVERY_US } }, never = { 0 };
	static volatile int fd = -1;

	if (sigsetjmp(target, 1))
		closefrom(
			3); /* the number that dup() had perhaps got; and all that was open before */
	setitimer(ITIMER_REAL, &often, NULL);
	while (signals < SIGNALS) {
		fd = dup(1);
		close(fd);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	closefrom(3);
}

static void *answer(void *argument)
{
	for (int i = 0; i < ROUNDS; i++) {
		sem_wait(&asked);
		usleep(SLEEP_US);
		sem_post(&answered);
	}
	sem_wait(&asked); /* its own file is open as long as it runs */
	return argument;
}

static int is_delay_open(void)
{
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	int found = 0;

	while (folder && (entry = readdir(folder))) {
		char path[300], file[300];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%s", entry->d_name);
		n = readlink(path, file, sizeof(file) - 1);
		file[n > 0 ? n : 0] = '\0';
		found |= strstr(file, "schedstat") != NULL;
	}
	if (folder)
		closedir(folder);
	return found;
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	pthread_t thread;

	jumps = argc == 2 && strcmp(argv[1], "jump") == 0;
	switches = argc == 2 && strcmp(argv[1], "switch") == 0;
	start_coroutine();
	if (!find_dup() || sigaction(SIGALRM, &action, NULL))
		return 1;
	take_numbers();
	sem_init(&asked, 0, 0);
	sem_init(&answered, 0, 0);
	if (pthread_create(&thread, NULL, answer, NULL))
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		sem_post(&asked);
		sem_wait(&answered);
	}
	puts(is_delay_open() ? "open" : "none");
	sem_post(&asked);
	pthread_join(thread, NULL);
	return 0;
}
