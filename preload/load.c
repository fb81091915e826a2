/* SPDX-License-Identifier: MIT */
/*
 * preload/load.c - libraries that are loaded so that our wrappers are not theirs
 *
 * With RTLD_DEEPBIND a library finds its own dependencies' functions before ours; in a namespace of
 * its own it has another C library. What it locks is not seen, so the report names it.
 *
 * dlopen() searches by who calls it: $ORIGIN, RUNPATH and the namespace are those of the caller's
 * module, which the original finds by its return address. So our wrappers are no functions that call
 * it, they look at the arguments and jump there.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "preload/real.h"
#include "preload/worker.h"
#include "shadow/table.h"

#ifndef __x86_64__
#error "cpa needs x86-64: preload/load.c is one more place to add a processor"
#endif

struct unseen {
	const char *file;
	enum cpa_module_unseen why;
};

static void fill(void *row, const void *argument)
{
	const struct unseen *u = argument;
	struct cpa_module *m = row;
	size_t length = strlen(u->file), room = sizeof(m->path) - 1;

	m->unseen = u->why;
	strncpy(m->path, u->file + (length > room ? length - room : 0), room);
}

/* Whether it can be loaded, or was there already, shows later, and nobody tells us. */
static void note(const char *file, enum cpa_module_unseen why)
{
	struct unseen u = { .file = file, .why = why };
	uint64_t key = why;
	int err = errno;

	if (!*cpa_alive || cpa_tls.inside)
		return;
	cpa_reenter();
	for (const char *p = file; *p; p++)
		key = key * 31 + (unsigned char)*p;
	/* Odd keys are those of modules with an address. */
	cpa_table_intern(CPA_TABLE_MODULES, key << 1 | UINT64_C(1) << 63, fill, &u);
	cpa_leave();
	errno = err;
}

static void look(const char *file, int mode)
{
	if (file && mode & RTLD_DEEPBIND && !(mode & RTLD_NOLOAD))
		note(file, CPA_UNSEEN_DEEPBIND);
}

/* The arguments of a call to come. Return the original, which is jumped to. */
static __attribute__((used)) void *opening(const char *file, int mode)
{
	look(file, mode);
	return (void *)REAL(dlopen);
}

static __attribute__((used)) void *opening_in(Lmid_t where, const char *file, int mode)
{
	if (where == LM_ID_BASE)
		look(file, mode);
	else if (file && !(mode & RTLD_NOLOAD))
		note(file, CPA_UNSEEN_NAMESPACE);
	return (void *)REAL(dlmopen);
}

/* Call @look with our arguments, then go where it says with the same ones. */
#define JUMP(look)                              \
	__asm__("push %rdi\n\t"                 \
		".cfi_adjust_cfa_offset 8\n\t"  \
		"push %rsi\n\t"                 \
		".cfi_adjust_cfa_offset 8\n\t"  \
		"push %rdx\n\t"                 \
		".cfi_adjust_cfa_offset 8\n\t"  \
		"call " #look "\n\t"            \
		"pop %rdx\n\t"                  \
		".cfi_adjust_cfa_offset -8\n\t" \
		"pop %rsi\n\t"                  \
		".cfi_adjust_cfa_offset -8\n\t" \
		"pop %rdi\n\t"                  \
		".cfi_adjust_cfa_offset -8\n\t" \
		"jmp *%rax")

#define UNUSED __attribute__((unused))

CPA_EXPORT __attribute__((naked)) void *dlopen(UNUSED const char *file, UNUSED int mode)
{
	JUMP(opening);
}

CPA_EXPORT __attribute__((naked)) void *dlmopen(UNUSED Lmid_t where, UNUSED const char *file,
						UNUSED int mode)
{
	JUMP(opening_in);
}
