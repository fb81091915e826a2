/* SPDX-License-Identifier: MIT */
/*
 * tests/conformance/exec.c - all the functions that make a process another program
 *
 * Those that fail are called by this process, which then goes on; those that do not, by a child of
 * fork(), of vfork(), and by this process itself, which becomes the next in the list.
 */
#include <fcntl.h>
#include <sys/wait.h>

#include "tests/conformance/case.h"

#define ENV "CPA_TEST_WORD=said"

static char *const environment[] = { ENV, NULL };
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;

/* The program that prints its arguments and one word of its environment, and ends with 7. */
#define SCRIPT "echo $0 $1 $2 $CPA_TEST_WORD; exit 7"
#define SHELL  "sh", "-c", SCRIPT, name, "one", "two"

static char *const *arguments(const char *name)
{
	static char *vector[8];
	const char *const words[] = { SHELL, NULL };

	memcpy(vector, words, sizeof(words));
	return vector;
}

static int by_execl(const char *path, const char *name)
{
	return execl(path, SHELL, (char *)NULL);
}

static int by_execlp(const char *path, const char *name)
{
	return execlp(path, SHELL, (char *)NULL);
}

static int by_execle(const char *path, const char *name)
{
	return execle(path, SHELL, (char *)NULL, environment);
}

static int by_execv(const char *path, const char *name)
{
	return execv(path, arguments(name));
}

static int by_execvp(const char *path, const char *name)
{
	return execvp(path, arguments(name));
}

static int by_execve(const char *path, const char *name)
{
	return execve(path, arguments(name), environment);
}

static int by_execvpe(const char *path, const char *name)
{
	return execvpe(path, arguments(name), environment);
}

static int by_fexecve(const char *path, const char *name)
{
	return fexecve(open(path, O_RDONLY | O_CLOEXEC), arguments(name), environment);
}

static int by_execveat(const char *path, const char *name)
{
	return execveat(AT_FDCWD, path, arguments(name), environment, 0);
}

static const struct {
	const char *name;
	int (*call)(const char *path, const char *name);
} functions[] = {
	{ "execl", by_execl },	   { "execlp", by_execlp },   { "execle", by_execle },
	{ "execv", by_execv },	   { "execvp", by_execvp },   { "execve", by_execve },
	{ "execvpe", by_execvpe }, { "fexecve", by_fexecve }, { "execveat", by_execveat }
};

#define FUNCTIONS (int)(sizeof(functions) / sizeof(*functions))

static void add_child(const char *label, pid_t child)
{
	int status = -1;

	if (child < 0 || waitpid(child, &status, 0) != child)
		add(" %s: none", label);
	else
		add(" %s=%d", label, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void fails(int i)
{
	begin("%s: fails", functions[i].name);
	DO("nowhere", functions[i].call("/nowhere/at/all", "x"));
	DO("folder", functions[i].call("/tmp", "x"));
	DO("lock", pthread_mutex_lock(&m));
	DO("unlock", pthread_mutex_unlock(&m));
	end();
}

static void in_children(int i)
{
	pid_t child = fork();

	begin("%s", functions[i].name);
	if (!child) {
		functions[i].call("/bin/sh", functions[i].name);
		_exit(1);
	}
	add_child("fork", child);
	child = vfork();
	if (!child) {
		functions[i].call("/bin/sh", functions[i].name);
		_exit(1);
	}
	add_child("vfork", child);
	end();
}

/* Not the first of many programs: this one, with the next function of the list. */
static void become_next(const char *self, int next)
{
	char number[12];

	snprintf(number, sizeof(number), "%d", next);
	if (next % 3 == 0)
		execl(self, self, number, (char *)NULL);
	else if (next % 3 == 1)
		execlp(self, self, number, (char *)NULL);
	else
		execvp(self, (char *const[]){ (char *)self, number, NULL });
}

int main(int argc, char **argv)
{
	int i = argc > 1 ? atoi(argv[1]) : 0;

	if (!i)
		setenv("CPA_TEST_WORD", "inherited", 1);
	fails(i);
	in_children(i);
	if (i + 1 < FUNCTIONS)
		become_next(argv[0], i + 1);
	return i + 1 != FUNCTIONS;
}
