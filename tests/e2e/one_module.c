/* SPDX-License-Identifier: MIT */
/*
 * tests/e2e/one_module.c - processes that have a library at different addresses
 *
 * With -DLIBRARY the library, built without stubs for calls, which have no names. $1 is what the program
 * does, $2 the library, and $3, if there is one, how many fillers the program maps first. Each use of the
 * library prints where it is.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/programs/burn.h"

#define TAKES 100 /* of the lock, each time that the library is used */

#ifdef LIBRARY

/* So large that the loader finds no other place for the library while fillers lie below the others. */
char library_large[48 << 20];

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;

__attribute__((noinline)) void library_work(int ms)
{
	burn_ms(ms);
}

static void *library_thread(void *ms)
{
	library_work(*(int *)ms);
	return NULL;
}

void library_take(int times)
{
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&library_lock);
		pthread_mutex_unlock(&library_lock);
	}
}

void library_use(int ms)
{
	pthread_t thread;

	library_take(TAKES);
	if (!pthread_create(&thread, NULL, library_thread, &ms))
		pthread_join(thread, NULL);
}

#else

#define FILLER	 ((size_t)64 << 20)
#define CHILDREN 6
#define ROUNDS	 4
#define MS	 20
#define COPY_MS	 200 /* samples find the function of each copy */

static const char *program, *path;
static pthread_mutex_t program_lock = PTHREAD_MUTEX_INITIALIZER;

static void fill(int times)
{
	for (int i = 0; i < times; i++)
		mmap(NULL, FILLER, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

static void *load(void)
{
	void *library = dlopen(path, RTLD_NOW);

	if (!library) {
		puts(dlerror());
		exit(1);
	}
	printf("%p\n", dlsym(library, "library_large"));
	fflush(stdout);
	return library;
}

static void call(void *library, const char *name, int ms)
{
	void (*function)(int);

	*(void **)&function = dlsym(library, name);
	function(ms);
}

static void use(void)
{
	call(load(), "library_use", MS);
}

/* Children at once, each with the library elsewhere; they are other programs if @how is not NULL. */
static void children(int count, const char *how)
{
	char fillers[16];
	int gate[2];

	if (pipe(gate))
		exit(1);
	for (int i = 1; i <= count; i++) {
		if (fork())
			continue;
		/* Nobody writes: all go on when the parent closes its end. */
		close(gate[1]);
		if (read(gate[0], fillers, 1))
			_exit(1);
		snprintf(fillers, sizeof(fillers), "%d", i);
		if (how) {
			execl(program, program, how, path, fillers, (char *)NULL);
			_exit(1);
		}
		fill(i);
		use();
		exit(0);
	}
	close(gate[0]);
	close(gate[1]);
	while (wait(NULL) > 0)
		;
}

/* Here, there, and in turn. */
static void again(void)
{
	void *library, *filler = NULL;

	for (int i = 0; i < ROUNDS; i++) {
		if (i % 2)
			filler = mmap(NULL, FILLER, PROT_NONE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		library = load();
		call(library, "library_use", MS);
		dlclose(library);
		if (i % 2)
			munmap(filler, FILLER);
	}
}

/*
 * Another build of the library is put in its place, as while a program is written that runs. It gets the same
 * addresses: no thread is begun, whose stack could lie there.
 */
static void replaced(void)
{
	char other[4096];
	void *library = load();

	call(library, "library_take", TAKES);
	dlclose(library);
	snprintf(other, sizeof(other), "%s.new", path);
	if (rename(other, path)) {
		perror(other);
		exit(1);
	}
	call(load(), "library_take", TAKES);
}

/* Both are loaded while they are used in turn. */
static void copies(void)
{
	void *one = load(), *other = dlmopen(LM_ID_NEWLM, path, RTLD_NOW);

	call(one, "library_use", COPY_MS);
	if (!other) {
		puts(dlerror());
		exit(1);
	}
	printf("%p\n", dlsym(other, "library_large"));
	call(other, "library_work", COPY_MS);
	call(one, "library_work", COPY_MS);
}

int main(int n, char **arguments)
{
	const char *how = n > 2 ? arguments[1] : "";

	pthread_mutex_lock(&program_lock);
	pthread_mutex_unlock(&program_lock);
	program = arguments[0];
	path = arguments[2];
	fill(n > 3 ? atoi(arguments[3]) : 0);
	if (strcmp(how, "late") == 0)
		children(1, "use");
	if (strcmp(how, "forks") == 0)
		children(CHILDREN, NULL);
	if (strcmp(how, "programs") == 0)
		children(CHILDREN, "use");
	if (strcmp(how, "again") == 0)
		again();
	else if (strcmp(how, "copies") == 0)
		copies();
	else if (strcmp(how, "replaced") == 0)
		replaced();
	else
		use();
	return 0;
}

#endif
