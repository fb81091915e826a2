/* SPDX-License-Identifier: MIT */
/*
 * preload/process/exec.c - exec*(): the process becomes another program
 *
 * glibc's exec functions do not call each other by name, so each is wrapped. All are
 * async-signal-safe, and a child of vfork() may call them: preload/process/spawn.h.
 */
#include <alloca.h>
#include <stdarg.h>
#include <unistd.h>

#include "preload/process/life.h"
#include "preload/libc/real.h"
#include "preload/process/spawn.h"
#include "preload/stream/descriptor.h"

#define REPLACE(call)                               \
	({                                          \
		uint32_t child_ = cpa_spawn_exec(); \
		bool marked_ = cpa_life_replaced(); \
		int ret_ = (call);                  \
                                                    \
		if (marked_)                        \
			cpa_life_not_replaced();    \
		cpa_descriptor_not_execed();        \
		if (child_)                         \
			cpa_spawn_not_exec(child_); \
		ret_;                               \
	})

CPA_EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return REPLACE(REAL(execve)(path, argv, envp));
}

CPA_EXPORT int execv(const char *path, char *const argv[])
{
	return REPLACE(REAL(execv)(path, argv));
}

CPA_EXPORT int execvp(const char *file, char *const argv[])
{
	return REPLACE(REAL(execvp)(file, argv));
}

CPA_EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return REPLACE(REAL(execvpe)(file, argv, envp));
}

CPA_EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	return REPLACE(REAL(fexecve)(fd, argv, envp));
}

CPA_EXPORT int execveat(int fd, const char *path, char *const argv[], char *const envp[], int flags)
{
	return REPLACE(REAL(execveat)(fd, path, argv, envp, flags));
}

/* Number of arguments, with the NULL that ends them. */
static size_t count(va_list list)
{
	va_list rest;
	size_t n = 1;

	va_copy(rest, list);
	while (va_arg(rest, const char *))
		n++;
	va_end(rest);
	return n;
}

/* The argument vector of @first and the arguments behind it, up to NULL, on the caller's stack. */
#define VECTOR(first, list)                                          \
	({                                                           \
		char **v_ = alloca((1 + count(list)) * sizeof(*v_)); \
		char **p_ = v_;                                      \
                                                                     \
		*p_ = (char *)(first);                               \
		while (*p_)                                          \
			*++p_ = va_arg(list, char *);                \
		v_;                                                  \
	})

CPA_EXPORT int execl(const char *path, const char *first, ...)
{
	va_list list;
	char **argv;

	va_start(list, first);
	argv = VECTOR(first, list);
	va_end(list);
	return execv(path, argv);
}

CPA_EXPORT int execlp(const char *file, const char *first, ...)
{
	va_list list;
	char **argv;

	va_start(list, first);
	argv = VECTOR(first, list);
	va_end(list);
	return execvp(file, argv);
}

CPA_EXPORT int execle(const char *path, const char *first, ...)
{
	va_list list;
	char **argv, **envp;

	va_start(list, first);
	argv = VECTOR(first, list);
	envp = va_arg(list, char **);
	va_end(list);
	return execve(path, argv, envp);
}
