/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/adversary.c - a library that does everything at the worst moment
 *
 * Built as adversary.so, and preloaded behind libcpa.so, so that its constructor runs first.
 * Whatever runs code of the program inside somebody else's work runs everything() here: its
 * constructor and destructor, handlers of forks, destructors of thread-specific data, handlers of
 * signals, exit handlers, and constructors of libraries that are loaded (its own, if dlopen() is the
 * first to load it). That locks, waits, makes and joins threads, forks and waits for the child. Its
 * malloc and mmap lock and post. What everything() does may lead to more of the same: LEVELS deep.
 *
 * If the program sets ADVERSARY_CALL to the address of a function, the constructor calls that and
 * does nothing else.
 */
#include <limits.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define LEVELS 2
#define HANG_S 200 /* a program that takes this long hangs */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

enum moment { CONSTRUCTOR, PREPARE, PARENT, CHILD, SPECIFIC, EXITING };

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, in_malloc = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t l = PTHREAD_RWLOCK_INITIALIZER;
static sem_t posted;
static pthread_key_t key;
static bool ready;
static int count;		  /* under m */
static unsigned long allocations; /* of the main thread */
static unsigned long mappings;	  /* atomic: of all threads, since the constructor */
static __thread int level;
static __thread bool allocates, is_main;

unsigned long adversary_allocations(void);
unsigned long adversary_mappings(void);
void adversary_say(const char *what);

/* Of the main thread so far: whoever else uses the program's malloc changes it. */
unsigned long adversary_allocations(void)
{
	return allocations;
}

static void allocating(bool counts)
{
	if (is_main && counts)
		allocations++;
	if (!ready || allocates)
		return;
	allocates = true;
	pthread_mutex_lock(&in_malloc);
	sem_post(&posted);
	pthread_mutex_unlock(&in_malloc);
	sem_trywait(&posted);
	allocates = false;
}

void *malloc(size_t size)
{
	allocating(true);
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	allocating(true);
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	allocating(true);
	return __libc_realloc(p, size);
}

void free(void *p)
{
	allocating(false); /* the C library frees as many NULLs as there are modules */
	__libc_free(p);
}

unsigned long adversary_mappings(void)
{
	return __atomic_load_n(&mappings, __ATOMIC_SEQ_CST);
}

static void mapping(void)
{
	if (!ready)
		return;
	__atomic_fetch_add(&mappings, 1, __ATOMIC_SEQ_CST);
	allocating(false);
}

/* The C library does not call these two by their names. */
void *mmap(void *at, size_t size, int rights, int flags, int fd, off_t from)
{
	mapping();
	return (void *)syscall(SYS_mmap, at, size, rights, flags, fd, from);
}

int munmap(void *p, size_t size)
{
	mapping();
	return (int)syscall(SYS_munmap, p, size);
}

static void everything(enum moment moment);

static void *work(void *argument)
{
	level = (int)(intptr_t)argument;
	pthread_setspecific(key, &key);
	pthread_mutex_lock(&m);
	count++;
	pthread_cond_broadcast(&c);
	pthread_mutex_unlock(&m);
	return argument;
}

static void make_threads(void)
{
	pthread_t t[2];
	int before;

	pthread_mutex_lock(&m);
	before = count;
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 2; i++)
		must(!pthread_create(&t[i], NULL, work, (void *)(intptr_t)level), "pthread_create");
	pthread_mutex_lock(&m);
	while (count < before + 2)
		pthread_cond_wait(&c, &m);
	pthread_mutex_unlock(&m);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void make_child(void)
{
	pid_t pid = fork();
	int status = 0;

	must(pid >= 0, "fork");
	if (!pid)
		_exit(7);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 7 << 8) {
		static const char text[] = "a child of the adversary's ended otherwise\n";

		if (write(STDOUT_FILENO, text, sizeof(text) - 1) < 0)
			abort();
	}
}

static void everything(enum moment moment)
{
	if (level >= LEVELS || !ready)
		return;
	level++;
	pthread_rwlock_rdlock(&l);
	pthread_rwlock_unlock(&l);
	make_threads();
	if (moment != CHILD) /* children of children of ... */
		make_child();
	pthread_kill(pthread_self(), SIGUSR1);
	level--;
}

/* What may be done there: functions that POSIX calls async-signal-safe, and _Fork(). */
static void handle(int sig)
{
	int err = errno, status = 0;
	pid_t pid;

	(void)sig;
	sem_post(&posted);
	pid = level < LEVELS ? _Fork() : -1;
	if (!pid)
		_exit(0);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	errno = err;
}

static void prepare(void)
{
	everything(PREPARE);
}

static void in_parent(void)
{
	everything(PARENT);
}

/* Threads that are no more may have had these. */
static void in_child(void)
{
	pthread_mutex_init(&m, NULL);
	pthread_mutex_init(&in_malloc, NULL);
	pthread_cond_init(&c, NULL);
	pthread_rwlock_init(&l, NULL);
	everything(CHILD);
}

static void end_of_thread(void *value)
{
	static __thread int rounds;

	everything(SPECIFIC);
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS)
		pthread_setspecific(key, value);
}

static void exiting(void)
{
	everything(EXITING);
}

void adversary_say(const char *what)
{
	begin("%s", what);
	end();
}

static __attribute__((constructor)) void load(void)
{
	const char *call = getenv("ADVERSARY_CALL");
	struct sigaction action = { .sa_handler = handle, .sa_flags = SA_RESTART };

	if (call) {
		((void (*)(void))strtoull(call, NULL, 0))();
		return;
	}
	alarm(HANG_S);
	is_main = true;
	sem_init(&posted, 0, 0);
	sigaction(SIGUSR1, &action, NULL);
	CASE("adversary: key", pthread_key_create(&key, end_of_thread));
	CASE("adversary: key number", key);
	CASE("adversary: handlers of forks", pthread_atfork(prepare, in_parent, in_child));
	CASE("adversary: exit handler", atexit(exiting));
	ready = true;
	everything(CONSTRUCTOR);
	adversary_say("adversary: constructor is over");
}

static __attribute__((destructor)) void unload(void)
{
	everything(EXITING);
	if (ready)
		adversary_say("adversary: destructor is over");
}
