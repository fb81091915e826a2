/* SPDX-License-Identifier: MIT */
#include "preload/known.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "preload/function.h"
#include "preload/load.h"
#include "preload/signal.h"
#include "preload/log.h"

/* What module @m finds as @number if @caller lies in it, else NULL. */
static void *look(const struct cpa_known_module *m, unsigned number, uint64_t caller)
{
	/* ACQUIRE pairs with the RELEASE in keep(). */
	uint32_t version = __atomic_load_n(&m->version, __ATOMIC_ACQUIRE);
	/* Relaxed: checked by the version. */
	uint64_t start = __atomic_load_n(&m->start, __ATOMIC_RELAXED);
	uint64_t end = __atomic_load_n(&m->end, __ATOMIC_RELAXED);
	uint32_t then = __atomic_load_n(&m->generation, __ATOMIC_RELAXED);
	void *f = __atomic_load_n(&m->function[number], __ATOMIC_RELAXED);

	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* the fields were read before the version is */
	if (version & 1 || __atomic_load_n(&m->version, __ATOMIC_RELAXED) != version)
		return NULL;
	/* Relaxed: who calls from a module knows that it was loaded. */
	if (caller < start || caller >= end ||
	    then != __atomic_load_n(&cpa_load_generation, __ATOMIC_RELAXED))
		return NULL;
	return f;
}

/* Keep what was found, in place of something outdated or, in turn, of anything. */
static void keep(struct cpa_known *library, const struct cpa_known_module *found)
{
	struct cpa_known_module *m;
	unsigned i = 0;
	uint32_t version;

	while (i < CPA_KNOWN_MODULES &&
	       __atomic_load_n(&library->modules[i].end, __ATOMIC_RELAXED) &&
	       __atomic_load_n(&library->modules[i].generation, __ATOMIC_RELAXED) ==
		       found->generation)
		i++;
	/* Relaxed, as above: any choice is right. */
	if (i == CPA_KNOWN_MODULES)
		i = __atomic_fetch_add(&library->next, 1, __ATOMIC_RELAXED) % CPA_KNOWN_MODULES;
	m = &library->modules[i];
	version = __atomic_load_n(&m->version, __ATOMIC_RELAXED);
	/* ACQUIRE: the stores below come after. Another writer is faster: nothing is kept. */
	if (version & 1 || !__atomic_compare_exchange_n(&m->version, &version, version + 1, false,
							__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_thread_fence(__ATOMIC_RELEASE); /* odd before the first field changes */
	/* Relaxed: readers check the version. */
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

/* A loaded module of that path, "" for the program; close it again. */
static void *loaded(const char *path)
{
	return dlopen(*path ? path : NULL, RTLD_LAZY | RTLD_NOLOAD);
}

/* The module number @countdown of the loader's list. */
struct nth {
	unsigned countdown;
	char path[4096];
};

static int find_nth(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct nth *nth = argument;

	(void)size;
	if (nth->countdown--)
		return 0;
	strncpy(nth->path, info->dlpi_name, sizeof(nth->path) - 1);
	return 1;
}

/* Fill what is missing in @m from the first of all modules that has function @number. */
static void find_anywhere(const struct cpa_known *library, unsigned number,
			  struct cpa_known_module *m)
{
	struct nth nth = { 0 };

	for (unsigned i = 0; nth.countdown = i, dl_iterate_phdr(find_nth, &nth); i++) {
		void *module = loaded(nth.path), *f;

		f = module ? foreign(dlsym(module, library->names[number])) : NULL;
		for (unsigned j = 0; f && !m->function[number] && j < library->count; j++)
			if (j != number && !m->function[j])
				m->function[j] = foreign(dlsym(module, library->names[j]));
		if (f && !m->function[number])
			m->function[number] = f;
		else if (f && f != m->function[number])
			cpa_warn("several copies of %s are loaded, and it cannot be told which one "
				 "was called; the first is taken",
				 library->names[number]);
		if (module)
			REAL(dlclose)(module);
		if (f && f != m->function[number])
			return;
	}
}

static void resolve(const struct cpa_known *library, uint64_t caller, struct cpa_known_module *m)
{
	struct dl_find_object o;
	void *scope = NULL;

	m->start = caller;
	m->end = caller + 1;
	if (!_dl_find_object((void *)caller, &o)) {
		m->start = (uint64_t)o.dlfo_map_start;
		m->end = (uint64_t)o.dlfo_map_end;
		if (o.dlfo_link_map->l_name && *o.dlfo_link_map->l_name)
			scope = loaded(o.dlfo_link_map->l_name);
	}
	for (unsigned i = 0; i < library->count; i++) {
		void *f = foreign(dlsym(RTLD_NEXT, library->names[i]));

		m->function[i] = f || !scope ? f : foreign(dlsym(scope, library->names[i]));
	}
	if (scope)
		REAL(dlclose)(scope);
}

/*
 * What the loader allocates here, and the message that it keeps of a name that is not there, are
 * the price of a first call.
 */
static __attribute__((noinline, cold)) void *find_slow(struct cpa_known *library, unsigned number,
						       uint64_t caller)
{
	struct cpa_known_module m = { 0 };
	bool inside = cpa_tls.inside;
	int err = errno;
	sigset_t before;

	cpa_reenter();
	before = cpa_signal_hold(); /* as in preload/real.c */
	/* ACQUIRE: what is found is found after that. */
	m.generation = __atomic_load_n(&cpa_load_generation, __ATOMIC_ACQUIRE);
	resolve(library, caller, &m);
	if (!m.function[number])
		find_anywhere(library, number, &m);
	keep(library, &m);
	if (!m.function[number])
		cpa_warn("no original of %s found; calls to it fail", library->names[number]);
	dlerror();
	cpa_signal_let(&before);
	cpa_tls.inside = inside;
	errno = err;
	return m.function[number];
}

void *cpa_known_find(struct cpa_known *library, unsigned number, uint64_t caller)
{
	for (unsigned i = 0; i < CPA_KNOWN_MODULES; i++) {
		void *f = look(&library->modules[i], number, caller);

		if (likely(f))
			return f;
	}
	return find_slow(library, number, caller);
}
