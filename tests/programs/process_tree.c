/* SPDX-License-Identifier: MIT */
/*
 * tests/programs/process_tree.c - trees of processes whose critical path is a sum of burns
 *
 * The first argument names the tree. Work is in units of CPU time of its thread, so the longest
 * chain does not depend on how many processors there are. It is printed, in units, when the
 * program ends: process_trees.py compares the report with it. `foreign` needs the path of a program
 * like this one that has no part in the session, and tells on standard error how many seconds of
 * waiting for it there were.
 */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define UNIT_MS 20

extern char **environ;

static const char *own, *other;

static struct {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	pthread_barrier_t barrier;
	sem_t sem;
	int ready;
} * shared;

static void burn(unsigned units)
{
	burn_ms((int)units * UNIT_MS);
}

static void await(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status != 0)
		exit(9);
}

/* A child that does @work and ends. */
#define CHILD(...)                   \
	({                           \
		pid_t p_ = fork();   \
                                     \
		if (p_ == 0) {       \
			__VA_ARGS__; \
			_exit(0);    \
		}                    \
		p_;                  \
	})

static pid_t spawn_of(const char *program, const char *what, const char *units)
{
	char *const argv[] = { (char *)program, (char *)what, (char *)units, NULL };
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, environ))
		exit(8);
	return pid;
}

static pid_t spawn(const char *what, const char *units)
{
	return spawn_of(own, what, units);
}

static void share(void)
{
	pthread_mutexattr_t m;
	pthread_condattr_t c;
	pthread_barrierattr_t b;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		exit(7);
	pthread_mutexattr_init(&m);
	pthread_mutexattr_setpshared(&m, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&shared->mutex, &m);
	pthread_condattr_init(&c);
	pthread_condattr_setpshared(&c, PTHREAD_PROCESS_SHARED);
	pthread_cond_init(&shared->cond, &c);
	pthread_barrierattr_init(&b);
	pthread_barrierattr_setpshared(&b, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&shared->barrier, &b, 2);
	sem_init(&shared->sem, 1, 0);
}

static unsigned fork_join(void)
{
	pid_t a, b;

	burn(2);
	a = CHILD(burn(8));
	b = CHILD(burn(3));
	burn(1);
	await(a);
	await(b);
	burn(2);
	return 2 + 8 + 2;
}

/* Each is waited for before the next begins. */
static unsigned chain(void)
{
	await(spawn("burn", "3"));
	await(CHILD(burn(2)));
	await(spawn("burn", "4"));
	return 3 + 2 + 4;
}

static void vfork_of(const char *program, const char *units)
{
	char *const argv[] = { (char *)program, "burn", (char *)units, NULL };
	pid_t pid = vfork();

	if (pid == 0) {
		execv(program, argv);
		_exit(1);
	}
	await(pid);
}

static unsigned by_vfork(void)
{
	burn(2);
	vfork_of(own, "4");
	return 2 + 4;
}

static void system_of(const char *program, const char *units)
{
	char command[4096];

	snprintf(command, sizeof(command), "%s burn %s", program, units);
	if (system(command))
		exit(6);
}

static unsigned by_system(void)
{
	burn(1);
	system_of(own, "3");
	burn(1);
	return 1 + 3 + 1;
}

static void popen_of(const char *program, const char *units)
{
	char command[4096];
	FILE *stream;

	snprintf(command, sizeof(command), "%s burn %s", program, units);
	stream = popen(command, "r");
	if (!stream || pclose(stream))
		exit(6);
}

static unsigned by_popen(void)
{
	burn(1);
	popen_of(own, "3");
	burn(1);
	return 1 + 3 + 1;
}

/* The process becomes itself, and then the one that burns. */
static unsigned by_exec(void)
{
	char *const argv[] = { (char *)own, "becomes", NULL };

	burn(2);
	execv(own, argv);
	exit(6);
}

static unsigned becomes(void)
{
	burn(3);
	return 2 + 3;
}

static void section(unsigned units)
{
	pthread_mutex_lock(&shared->mutex);
	burn(units);
	pthread_mutex_unlock(&shared->mutex);
}

static unsigned by_mutex(void)
{
	pid_t a, b;

	share();
	a = CHILD(section(4));
	b = CHILD(section(3));
	await(a);
	await(b);
	return 4 + 3;
}

static unsigned by_sem(void)
{
	pid_t a;

	share();
	a = CHILD({
		sem_wait(&shared->sem);
		burn(3);
	});
	burn(4);
	sem_post(&shared->sem);
	await(a);
	return 4 + 3;
}

static void *name_sem(void)
{
	static char name[64];
	sem_t *s;

	snprintf(name, sizeof(name), "/cpa-tree-%d", (int)getpid());
	s = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
	if (s == SEM_FAILED)
		exit(5);
	return name;
}

/* Work for @units, then post @s, called @name, for which child @a waits. Return @units. */
static unsigned post_after(unsigned units, sem_t *s, const char *name, pid_t a)
{
	burn(units);
	sem_post(s);
	await(a);
	sem_unlink(name);
	return units;
}

/* Mapped by each for itself, at addresses of its own. */
static unsigned by_named_sem(void)
{
	const char *name = name_sem();
	sem_t *s = sem_open(name, 0);
	pid_t a = CHILD({
		sem_t *mine;

		sem_close(s);
		mmap(NULL, 4096 * 7, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		mine = sem_open(name, 0);
		sem_wait(mine);
		burn(3);
	});

	return post_after(4, s, name, a) + 3;
}

/* The second one may lie where the first one was. */
static unsigned two_sems(void)
{
	const char *name = name_sem();
	sem_t *s = sem_open(name, 0);
	pid_t a;

	sem_post(s);
	sem_wait(s);
	sem_close(s);
	/* The name was opened twice. */
	sem_close(s);
	sem_unlink(name);
	name_sem();
	s = sem_open(name, 0);
	a = CHILD({
		sem_wait(s);
		burn(3);
	});
	return post_after(4, s, name, a) + 3;
}

static void *map_at(void *place, int how)
{
	void *p = mmap(place, 4096, PROT_READ | PROT_WRITE,
		       how | MAP_ANONYMOUS | (place ? MAP_FIXED : 0), -1, 0);

	if (p == MAP_FAILED)
		exit(7);
	return p;
}

/* Mutexes that processes may share, at one address: in private memory, then in two pieces of shared memory. */
static unsigned remapped(void)
{
	char *place = map_at(NULL, MAP_PRIVATE);
	pthread_mutex_t *mutex = (pthread_mutex_t *)place;
	pthread_mutexattr_t attr;
	pid_t a, b;

	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	/* 2 KiB apart they displace each other in caches by address. */
	for (int i = 0; i < 2; i++)
		pthread_mutex_init((pthread_mutex_t *)(place + 2048 * i), &attr);
	for (int i = 0; i < 200; i++) {
		pthread_mutex_t *one = (pthread_mutex_t *)(place + 2048 * (i % 2));

		pthread_mutex_lock(one);
		pthread_mutex_unlock(one);
	}
	for (int i = 0; i < 2; i++) {
		map_at(place, MAP_SHARED);
		pthread_mutex_init(mutex, &attr);
		pthread_mutex_lock(mutex);
		a = CHILD({
			pthread_mutex_lock(mutex);
			burn(3);
			pthread_mutex_unlock(mutex);
		});
		burn(2);
		pthread_mutex_unlock(mutex);
		b = CHILD({
			pthread_mutex_lock(mutex);
			burn(1);
			pthread_mutex_unlock(mutex);
		});
		await(a);
		await(b);
	}
	return 2 * (2 + 3 + 1);
}

static unsigned by_barrier(void)
{
	pid_t a;

	share();
	a = CHILD({
		burn(5);
		pthread_barrier_wait(&shared->barrier);
	});
	burn(2);
	pthread_barrier_wait(&shared->barrier);
	burn(3);
	await(a);
	return 5 + 3;
}

static unsigned by_cond(void)
{
	pid_t a;

	share();
	a = CHILD({
		pthread_mutex_lock(&shared->mutex);
		while (!shared->ready)
			pthread_cond_wait(&shared->cond, &shared->mutex);
		pthread_mutex_unlock(&shared->mutex);
		burn(3);
	});
	burn(4);
	pthread_mutex_lock(&shared->mutex);
	shared->ready = 1;
	pthread_cond_signal(&shared->cond);
	pthread_mutex_unlock(&shared->mutex);
	await(a);
	return 4 + 3;
}

static void *burner(void *argument)
{
	burn(*(unsigned *)argument);
	return NULL;
}

/* A process of threads, whose child has threads. */
static unsigned threads(void)
{
	unsigned units[2] = { 3, 4 };
	pthread_t t[2];
	pid_t a;

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, burner, &units[i]);
	a = CHILD({
		unsigned more[2] = { 6, 2 };

		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, burner, &more[i]);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	});
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	await(a);
	burn(1);
	return 6 + 1;
}

static volatile sig_atomic_t caught;

static void catch (int sig)
{
	caught = sig;
}

/* What ends the wait is a signal; the child is collected when it has ended. */
static unsigned by_signal(void)
{
	struct sigaction action = { .sa_handler = catch };
	sigset_t block, old;
	pid_t a;

	sigaction(SIGCHLD, &action, NULL);
	sigemptyset(&block);
	sigaddset(&block, SIGCHLD);
	sigprocmask(SIG_BLOCK, &block, &old);
	a = CHILD(burn(5));
	while (!caught)
		sigsuspend(&old);
	sigprocmask(SIG_SETMASK, &old, NULL);
	if (waitpid(a, NULL, WNOHANG) != a)
		exit(4);
	burn(2);
	return 5 + 2;
}

/* The end of the pipe is the end of the child. */
static unsigned by_pipe(void)
{
	int end[2];
	char c;
	pid_t a;

	if (pipe(end))
		exit(4);
	a = CHILD({
		close(end[0]);
		burn(5);
	});
	close(end[1]);
	if (read(end[0], &c, 1))
		exit(4);
	await(a);
	burn(2);
	return 5 + 2;
}

static void leave_one(int to)
{
	CHILD({
		burn(2);
		if (write(to, "x", 1) != 1)
			_exit(1);
	});
}

/* The middle one ends at once: nobody waits for the last one. */
static unsigned double_fork(void)
{
	int end[2];
	char c;

	if (pipe(end))
		exit(4);
	await(CHILD(leave_one(end[1])));
	close(end[1]);
	if (read(end[0], &c, 1) != 1)
		exit(4);
	burn(3);
	return 0;
}

static unsigned kill_one(void)
{
	int end[2], status;
	char c;
	pid_t a;

	if (pipe(end))
		exit(4);
	a = CHILD({
		burn(4);
		if (write(end[1], "x", 1) != 1)
			_exit(1);
		pause();
	});
	if (read(end[0], &c, 1) != 1)
		exit(4);
	kill(a, SIGKILL);
	if (waitpid(a, &status, 0) != a || !WIFSIGNALED(status))
		exit(4);
	burn(1);
	return 0;
}

static unsigned without_environment(void)
{
	char *const argv[] = { (char *)own, "burn", "2", NULL };
	char *const none[] = { NULL };
	pid_t pid;

	if (posix_spawn(&pid, own, NULL, NULL, argv, none))
		exit(8);
	await(pid);
	return 0;
}

static double clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/*
 * Children that have no part, by all means; then one that has, beside one that has not; then one
 * that has, of one that has not.
 */
static unsigned foreign(void)
{
	double waits_s;
	pid_t a, b;

	burn(1);
	waits_s = -clock_s();
	await(spawn_of(other, "burn", "2"));
	await(CHILD(execl(other, other, "burn", "2", NULL)));
	vfork_of(other, "2");
	system_of(other, "2");
	popen_of(other, "2");
	waits_s += clock_s();
	a = CHILD(burn(8));
	b = spawn_of(other, "burn", "1");
	await(a);
	waits_s -= clock_s();
	await(b);
	await(spawn_of(other, "passes-on", own));
	waits_s += clock_s();
	burn(1);
	fprintf(stderr, "%.6f\n", waits_s);
	return 1 + 8 + 1;
}

static unsigned many(void)
{
	for (int i = 0; i < 3000; i++)
		await(CHILD((void)0));
	return 0;
}

static const struct {
	const char *name;
	unsigned (*run)(void);
} trees[] = {
	{ "fork_join", fork_join }, { "chain", chain },
	{ "vfork", by_vfork },	    { "system", by_system },
	{ "popen", by_popen },	    { "exec", by_exec },
	{ "becomes", becomes },	    { "mutex", by_mutex },
	{ "sem", by_sem },	    { "named_sem", by_named_sem },
	{ "two_sems", two_sems },   { "remapped", remapped },
	{ "barrier", by_barrier },  { "cond", by_cond },
	{ "threads", threads },	    { "signal", by_signal },
	{ "pipe", by_pipe },	    { "double_fork", double_fork },
	{ "kill", kill_one },	    { "env", without_environment },
	{ "many", many },	    { "foreign", foreign },
};

int main(int argc, char **argv)
{
	own = argv[0];
	other = argc > 2 ? argv[2] : NULL;
	if (other && strcmp(argv[1], "burn") == 0) {
		burn((unsigned)atoi(other));
		return 0;
	}
	if (other && strcmp(argv[1], "passes-on") == 0) {
		await(spawn_of(other, "burn", "2"));
		return 0;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(trees) / sizeof(*trees); i++)
		if (strcmp(argv[1], trees[i].name) == 0) {
			printf("%u\n", trees[i].run());
			return 0;
		}
	return 2;
}
