/* SPDX-License-Identifier: MIT */
#include "preload/lib/next_symbol.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "preload/code/function.h"
#include "preload/code/unload.h"
#include "preload/core/signal.h"
#include "preload/libc/log.h"
#include "preload/libc/symbol.h"

/* The cached result of module @m for function @number if @caller lies in the module, else NULL. */
static void *look(const struct cpa_next_symbol_module *m, unsigned number, uint64_t caller)
{
	/* ACQUIRE pairs with the RELEASE in keep(). */
	uint32_t version = __atomic_load_n(&m->version, __ATOMIC_ACQUIRE);
	/* Relaxed: the version is compared afterwards. */
	uint64_t start = __atomic_load_n(&m->start, __ATOMIC_RELAXED);
	uint64_t end = __atomic_load_n(&m->end, __ATOMIC_RELAXED);
	uint32_t then = __atomic_load_n(&m->generation, __ATOMIC_RELAXED);
	void *f = __atomic_load_n(&m->function[number], __ATOMIC_RELAXED);

	/* the fields are read before the version is compared */
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (version & 1 || __atomic_load_n(&m->version, __ATOMIC_RELAXED) != version)
		return NULL;
	/* Relaxed: a thread that calls from a module knows that the module was loaded. */
	if (caller < start || caller >= end ||
	    then != __atomic_load_n(&cpa_unloads, __ATOMIC_RELAXED))
		return NULL;
	return f;
}

/* Keep the result in place of an outdated one or, in turn, of any. */
static void keep(struct cpa_next_symbol_library *library,
		 const struct cpa_next_symbol_module *found)
{
	struct cpa_next_symbol_module *m;
	unsigned i = 0;
	uint32_t version;

	while (i < CPA_NEXT_SYMBOL_MODULES &&
	       __atomic_load_n(&library->modules[i].end, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&library->modules[i].generation, __ATOMIC_RELAXED) ==
		       found->generation)
		i++;
	/* Relaxed: any choice is right. */
	if (i == CPA_NEXT_SYMBOL_MODULES)
		i = __atomic_fetch_add(&library->next, 1, __ATOMIC_RELAXED) %
		    CPA_NEXT_SYMBOL_MODULES;
	m = &library->modules[i];
	version = __atomic_load_n(&m->version, __ATOMIC_RELAXED);
	/*
	 * ACQUIRE: the stores below come after it. If another writer was faster, nothing is kept.
	 */
	if (version & 1 || !__atomic_compare_exchange_n(&m->version, &version, version + 1, false,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	/* the version is odd before the first field changes */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	/* Relaxed: readers compare the version. */
	__atomic_store_n(&m->generation, found->generation, __ATOMIC_RELAXED);
	__atomic_store_n(&m->start, found->start, __ATOMIC_RELAXED);
	__atomic_store_n(&m->end, found->end, __ATOMIC_RELAXED);
	for (i = 0; i < library->count; i++)
		__atomic_store_n(&m->function[i], found->function[i], __ATOMIC_RELAXED);
	/* RELEASE: the fields are complete. Pairs with look(). */
	__atomic_store_n(&m->version, version + 2, __ATOMIC_RELEASE);
}

static void *foreign(void *f)
{
	return f && !cpa_function_is_ours((uint64_t)f) ? f : NULL;
}

#define MODULES 1024u

/*
 * The loaded modules. Filled and read while dl_iterate_phdr() holds the lock on the loader's list,
 * so by one thread at a time. That is not the lock that dlopen() and dlclose() hold while
 * constructors and destructors of the program run.
 */
static struct module {
	struct cpa_image image;
	const char *path, *name; /* the program or the caller's module needs it */
	bool in_scope;
} modules[MODULES];
static unsigned module_count;

/* Where a function is looked up: the program and its dependencies, then the caller and its own. */
static uint16_t scope[MODULES];
static unsigned scope_length;

static int list(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct module *m = &modules[module_count];

	(void)size, (void)argument;
	*m = (struct module){ .image.base = info->dlpi_addr, .path = info->dlpi_name };
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			m->image.dynamic =
				(const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	if (!m->image.dynamic)
		return 0;
	m->name = cpa_symbol_module_name(&m->image);
	if (!m->name)
		m->name = strrchr(m->path, '/') ? strrchr(m->path, '/') + 1 : m->path;
	module_count++;
	return module_count == MODULES;
}

static struct module *module_called(const char *name)
{
	for (unsigned i = 0; i < module_count; i++)
		if (!strcmp(modules[i].name, name) || !strcmp(modules[i].path, name))
			return &modules[i];
	return NULL;
}

static void add(struct module *m)
{
	if (!m || m->in_scope)
		return;
	m->in_scope = true;
	scope[scope_length++] = (uint16_t)(m - modules);
}

/* Add @m, then its dependencies, then theirs, in the loader's order. */
static void add_with_needed(struct module *m)
{
	unsigned i = scope_length;

	for (add(m); i < scope_length; i++) {
		const struct cpa_image *by = &modules[scope[i]].image;

		for (const ElfW(Dyn) *d = by->dynamic; d->d_tag != DT_NULL; d++)
			if (d->d_tag == DT_NEEDED)
				add(module_called(cpa_symbol_string(by, d)));
	}
}

static void list_all(void)
{
	module_count = scope_length = 0;
	dl_iterate_phdr(list, NULL);
}

/* The program is the first module. */
static void add_program(void)
{
	if (module_count)
		add_with_needed(&modules[0]);
}

/* Look up in the scope the originals of @function that are still missing. */
static void find_in_scope(const struct cpa_next_symbol_library *library, void **function)
{
	for (unsigned i = 0; i < scope_length; i++)
		for (unsigned j = 0; j < library->count; j++)
			if (!function[j])
				function[j] = foreign(cpa_symbol_in(&modules[scope[i]].image,
								    library->names[j], NULL));
}

/* What is looked up, and the result. */
struct search {
	const struct cpa_next_symbol_library *library;
	unsigned number;
	const ElfW(Dyn) * caller; /* the calling module; NULL: none */
	struct cpa_next_symbol_module *m;
};

/* Look up the missing originals in the first module that has the function. */
static void find_anywhere(const struct search *s)
{
	const char *const *names = s->library->names;

	for (unsigned i = 0; i < module_count; i++) {
		const struct cpa_image *image = &modules[i].image;
		void *f = foreign(cpa_symbol_in(image, names[s->number], NULL));

		if (f && s->m->function[s->number] && f != s->m->function[s->number]) {
			cpa_warn("several copies of %s are loaded, and it cannot be told which one "
				 "was called; the first is taken",
				 names[s->number]);
			return;
		}
		for (unsigned j = 0; f && j < s->library->count; j++)
			if (!s->m->function[j])
				s->m->function[j] = foreign(cpa_symbol_in(image, names[j], NULL));
	}
}

static int find(struct dl_phdr_info *info, size_t size, void *argument)
{
	const struct search *s = argument;

	(void)info, (void)size;
	list_all();
	add_program();
	for (unsigned i = 0; i < module_count; i++)
		if (modules[i].image.dynamic == s->caller)
			add_with_needed(&modules[i]);
	find_in_scope(s->library, s->m->function);
	if (!s->m->function[s->number])
		find_anywhere(s);
	return 1;
}

static int find_programs(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct cpa_next_symbol_library *library = argument;
	bool any = false;

	(void)info, (void)size;
	list_all();
	for (unsigned i = 0; i < module_count && !any; i++)
		any = foreign(cpa_symbol_in(&modules[i].image, library->names[0], NULL));
	if (any) {
		add_program();
		find_in_scope(library, library->programs);
	}
	return 1;
}

void cpa_next_symbol_init(struct cpa_next_symbol_library *library)
{
	dl_iterate_phdr(find_programs, library);
}

static void resolve(const struct cpa_next_symbol_library *library, unsigned number, uint64_t caller,
		    struct cpa_next_symbol_module *m)
{
	struct search s = { .library = library, .number = number, .m = m };
	struct dl_find_object o;

	m->start = caller;
	m->end = caller + 1;
	if (!_dl_find_object((void *)caller, &o)) {
		m->start = (uint64_t)o.dlfo_map_start;
		m->end = (uint64_t)o.dlfo_map_end;
		s.caller = o.dlfo_link_map->l_ld;
	}
	dl_iterate_phdr(find, &s);
}

/* A program that tests for the function, and finds ours, may call it without end. */
static void warn_once(struct cpa_next_symbol_library *library, unsigned number)
{
	uint32_t bit = UINT32_C(1) << number;

	/* Relaxed: a set of its own. */
	if (!(__atomic_fetch_or(&library->missing, bit, __ATOMIC_RELAXED) & bit))
		cpa_warn("no original of %s found", library->names[number]);
}

/*
 * Signals are held: a handler that jumped out of dl_iterate_phdr() would leave the loader's list
 * locked. If the profile has ended, system calls may be forbidden: do without.
 */
static __attribute__((noinline, cold)) void *find_slow(struct cpa_next_symbol_library *library,
						       unsigned number, uint64_t caller)
{
	struct cpa_next_symbol_module m = { 0 };
	bool inside = cpa_tls.inside, holds = *cpa_alive;
	int err = errno;
	sigset_t before;

	cpa_reenter();
	if (holds)
		before = cpa_signal_hold();
	/* ACQUIRE: the lookup comes after this. Pairs with dlclose() in preload/core/dlopen.c. */
	m.generation = __atomic_load_n(&cpa_unloads, __ATOMIC_ACQUIRE);
	resolve(library, number, caller, &m);
	keep(library, &m);
	if (!m.function[number])
		warn_once(library, number);
	if (holds)
		cpa_signal_let(&before);
	cpa_tls.inside = inside;
	errno = err;
	return m.function[number];
}

void *cpa_next_symbol_of_module(struct cpa_next_symbol_library *library, unsigned number,
				uint64_t caller)
{
	/* A tail call in a function that we call in place of the library. */
	if (unlikely(cpa_tls.code && cpa_function_is_ours(caller)))
		caller = cpa_tls.code;
	for (unsigned i = 0; i < CPA_NEXT_SYMBOL_MODULES; i++) {
		void *f = look(&library->modules[i], number, caller);

		if (likely(f))
			return f;
	}
	return find_slow(library, number, caller);
}
