/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/idle_kinds.c - blocks in each way that tests/e2e/idle.py asks for, once or in a loop
 *
 * On the descriptor of the argument a stranger answers each byte; on standard input he sends one unasked.
 * On standard output it tells how many blocks of a device it read.
 */
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MS	 1000000
#define BLOCKED	 (30 * MS) /* ns */
#define POLLED	 300	   /* ms: longer than all that weighs */
#define SLEEPS	 12
#define ANSWERED 2

static void sleep_for(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

static void *sleep_loop(void *unused)
{
	for (int i = 0; i < SLEEPS; i++)
		sleep_for(5 * MS);
	return unused;
}

static void *poll_once(void *unused)
{
	poll(NULL, 0, POLLED);
	return unused;
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += BLOCKED;
	if (t.tv_nsec >= 1000 * MS) {
		t.tv_sec++;
		t.tv_nsec -= 1000 * MS;
	}
	return t;
}

/* How often the thread has given its processor up. */
static long given(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

/* Until it was blocked: a thread that lost its processor before it waits may be too late to block. */
static void *wait_in_vain(void *unused)
{
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	long before;

	pthread_mutex_lock(&mutex);
	do {
		struct timespec until = soon();

		before = given();
		while (!pthread_cond_timedwait(&never, &mutex, &until))
			;
	} while (given() == before);
	pthread_mutex_unlock(&mutex);
	return unused;
}

/*
 * Sleep by a system call of our own, after the first write to a page of a file: the kernel counts a block
 * written, and on most file systems a major page fault, though no device had a part in it.
 */
static void *block_unseen(void *unused)
{
	const struct timespec t = { .tv_nsec = BLOCKED };
	const size_t size = 4096;
	FILE *file = tmpfile();
	char *page;

	if (!file || ftruncate(fileno(file), (off_t)size))
		exit(1);
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
	if (page == MAP_FAILED)
		exit(1);
	page[0] = 'x';
	syscall(SYS_nanosleep, &t, NULL);
	munmap(page, size);
	fclose(file);
	return unused;
}

int main(int argc, char **argv)
{
	static void *(*const routines[])(void *) = { sleep_loop, poll_once, wait_in_vain,
						     block_unseen };
	pthread_t thread[4];
	int talk = argc > 1 ? atoi(argv[1]) : -1;
	struct rusage usage;
	char c = 'x';

	for (unsigned i = 0; i < 4; i++)
		if (pthread_create(&thread[i], NULL, routines[i], NULL))
			return 1;
	for (int i = 0; i < ANSWERED; i++)
		if (write(talk, &c, 1) != 1 || read(talk, &c, 1) != 1)
			return 1;
	if (read(STDIN_FILENO, &c, 1) != 1)
		return 1;
	for (unsigned i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	getrusage(RUSAGE_SELF, &usage);
	printf("%ld\n", usage.ru_inblock);
	return 0;
}
