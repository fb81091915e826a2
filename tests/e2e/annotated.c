/* SPDX-License-Identifier: MIT */
/* tests/e2e/annotated.c [LIBRARY] - the program: links with the library, or opens it */
#include "tests/e2e/annotated.h"

#ifdef OPEN_LIBRARY
#include <dlfcn.h>

static int call_library(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*function)(void);

	if (!library)
		return 3;
	*(void **)&function = dlsym(library, "library_function");
	return function ? function() : 4;
}
#else
static int call_library(const char *path)
{
	return path ? library_function() : 2;
}
#endif

/* With external linkage C99 allows no use of what is static. */
inline int in_inline(const volatile char *queue);
inline int in_inline(const volatile char *queue)
{
	CPA_ENQUEUE(queue, 1);
	CPA_DEQUEUE(queue, 1);
	return 0;
}
#ifndef __cplusplus
extern inline int in_inline(const volatile char *queue);
#endif

int main(int argc, char **argv)
{
	static char queue;
	int ret = annotated("program", &queue, argc);

	ret += in_inline(&queue);
	return ret + call_library(argv[argc - 1]);
}
