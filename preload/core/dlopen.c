/* SPDX-License-Identifier: MIT */
/*
 * preload/core/dlopen.c - dlopen() and dlclose(): libraries whose calls are not seen, and those
 * that go
 *
 * With RTLD_DEEPBIND a library finds the functions of its own dependencies before ours; in a
 * namespace of its own it has another C library. Its locks are not seen, so the report names the
 * library.
 *
 * dlopen() searches by its caller: $ORIGIN, RUNPATH and the namespace are those of the caller's
 * module, which the original finds by its return address. So our wrappers must not call the
 * original: they look at the arguments and jump to it.
 */
#include "preload/core/dlopen.h"

#include <dlfcn.h>
#include <errno.h>
#include <iconv.h>
#include <link.h>
#include <string.h>

#include "preload/code/module.h"
#include "preload/core/object.h"
#include "preload/code/unload.h"
#include "preload/core/window.h"
#include "preload/libc/real.h"
#include "preload/core/signal.h"
#include "shadow/arch/arch.h"

void cpa_dlopen_forked(void)
{
	cpa_unload_forked(cpa_tls.unloads);
}

/* The addresses of a module, and whether any loaded module overlaps them. */
struct range {
	uint64_t start, end;
	bool loaded;
};

static int look_for(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct range *range = argument;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		uint64_t start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type == PT_LOAD && start < range->end &&
		    range->start < start + info->dlpi_phdr[i].p_memsz)
			range->loaded = true;
	}
	return range->loaded;
}

/* The module that held the objects is gone: they count as destroyed. */
static void destroy_objects(struct cpa_worker *w, const struct range *range)
{
	uint32_t rows = __atomic_load_n(&cpa_table(CPA_TABLE_OBJECTS)->used, __ATOMIC_RELAXED);

	for (uint32_t i = 1; i <= rows; i++) {
		const struct cpa_object *o = cpa_row(CPA_TABLE_OBJECTS, i);
		/* Relaxed: rows in the range were written long before. */
		uint64_t key = __atomic_load_n(&o->key, __ATOMIC_RELAXED);

		if (!(key & CPA_SHARED_OBJECT) && (key & CPA_SPACE_MASK) == cpa_object_space &&
		    (key & CPA_ADDRESS_MASK) - range->start < range->end - range->start)
			cpa_object_destroyed(w, (const void *)(key & ~CPA_SPACE_MASK));
	}
}

/*
 * Called by dl_iterate_phdr(), which holds the lock on the loader's list. The loader takes that
 * lock to unload, so nothing is loaded at the old addresses while this runs.
 */
static int sweep(struct dl_phdr_info *info, size_t size, void *argument)
{
	unsigned at = 0;
	struct range range;

	(void)info;
	(void)size;
	while (cpa_module_next(&at, &range.start, &range.end)) {
		range.loaded = false;
		dl_iterate_phdr(look_for, &range);
		if (range.loaded)
			continue;
		cpa_module_unloaded(&at);
		destroy_objects(argument, &range);
	}
	return 1;
}

/*
 * Whether a module was unloaded that held objects. Without the loader's lock: a dlclose() that
 * unloads nothing does not take it, and another thread may hold it.
 */
static bool is_any_gone(void)
{
	struct dl_find_object o;
	uint64_t start, end;

	for (unsigned at = 0; cpa_module_next(&at, &start, &end);)
		if (_dl_find_object((void *)start, &o))
			return true;
	return false;
}

static void unload_begins(void)
{
	cpa_tls.unloads++;
	cpa_unload_begin();
}

static void unload_ended(void)
{
	cpa_unload_end();
	cpa_tls.unloads--;
}

/* The C library unloads its modules for character sets without dlclose(). */
CPA_EXPORT int iconv_close(iconv_t conversion)
{
	int ret;

	unload_begins();
	ret = REAL(iconv_close)(conversion);
	unload_ended();
	return ret;
}

CPA_EXPORT int dlclose(void *handle)
{
	struct cpa_worker *w;
	sigset_t before;
	int ret, err;

	/* ACQ_REL: before anything is unloaded. Pairs with look() in preload/lib/next_symbol.c. */
	__atomic_fetch_add(&cpa_unloads, 1, __ATOMIC_ACQ_REL);
	unload_begins();
	ret = REAL(dlclose)(handle);
	unload_ended();
	/* ACQ_REL: forget also what a destructor has looked up in the meantime. */
	__atomic_fetch_add(&cpa_unloads, 1, __ATOMIC_ACQ_REL);
	err = errno;
	w = cpa_enter_known();
	if (w) {
		if (is_any_gone()) {
			before = cpa_signal_hold();
			dl_iterate_phdr(sweep, w);
			cpa_signal_let(&before);
		}
		cpa_leave();
	}
	errno = err;
	return ret;
}

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

/*
 * Noted before the call: the wrapper jumps to the original, so it never learns whether the library
 * was loaded.
 */
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

/* Called with the arguments of dlopen(). Return the original, to which the wrapper jumps. */
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

#define UNUSED __attribute__((unused))

CPA_EXPORT __attribute__((naked)) void *dlopen(UNUSED const char *file, UNUSED int mode)
{
	CPA_ARCH_JUMP_TO_CHOICE_OF(opening);
}

CPA_EXPORT __attribute__((naked)) void *dlmopen(UNUSED Lmid_t where, UNUSED const char *file,
						UNUSED int mode)
{
	CPA_ARCH_JUMP_TO_CHOICE_OF(opening_in);
}
