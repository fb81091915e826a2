/* SPDX-License-Identifier: MIT */
/*
 * preload/lib/next_symbol.h - the real functions of libraries that a program may or may not load
 *
 * Every module finds our wrapper of a library's function first, also a plugin that was loaded with
 * RTLD_LOCAL together with the library or with a copy of it. So the original depends on the calling
 * module, as it does for the loader without cpa: the definition in the program or in a library that
 * the program needs, else that in the calling module or in a library that this module needs.
 *
 * Originals of the first kind are found at start. Those of the second kind are cached per calling
 * module, for all functions of the library at once, until a dlclose(). A look-up in the cache takes
 * no lock and calls nothing. The first call of a module reads the modules' own tables under the
 * loader's lock on its list of modules, which is not held while constructors and destructors of
 * libraries run. A tail call (a jump) seems to come from the caller of the function that made it. If
 * that module has no such library in its scope, the copy that was loaded first is used, with a
 * warning if there are several.
 *
 * dlsym() finds these wrappers even if the library is not loaded. They fail then.
 */
#ifndef CPA_PRELOAD_LIB_NEXT_SYMBOL_H
#define CPA_PRELOAD_LIB_NEXT_SYMBOL_H

#include "preload/lib/queue.h"
#include "preload/libc/real.h"
#include "preload/core/track.h"

#define CPA_NEXT_SYMBOL_FUNCTIONS 32u /* as many as bits in `missing` */
#define CPA_NEXT_SYMBOL_MODULES	  8u

/*
 * Originals for one calling module. A writer makes `version` odd, fills the rest, and makes it even
 * again; readers compare it before and after.
 */
struct cpa_next_symbol_module {
	uint32_t version;
	uint32_t generation;
	uint64_t start, end; /* of the module; end 0: unused */
	void *function[CPA_NEXT_SYMBOL_FUNCTIONS];
};

struct cpa_next_symbol_library {
	const char *const *names;
	unsigned count;
	/* Originals in the program and the libraries it needs, never unloaded. Written at start. */
	void *programs[CPA_NEXT_SYMBOL_FUNCTIONS];
	unsigned next;	  /* module to be replaced */
	uint32_t missing; /* atomic; bit i: it was said that function i has no original */
	struct cpa_next_symbol_module modules[CPA_NEXT_SYMBOL_MODULES];
};

/* Once, at start. */
CPA_HIDDEN void cpa_next_symbol_init(struct cpa_next_symbol_library *library);

/* cpa_next_symbol_find() of a function that the program does not need. */
CPA_HIDDEN void *cpa_next_symbol_of_module(struct cpa_next_symbol_library *library, unsigned number,
					   uint64_t caller);

/* The real function @number of @library for a call that returns to @caller; NULL: there is none. */
static inline void *cpa_next_symbol_find(struct cpa_next_symbol_library *library, unsigned number,
					 uint64_t caller)
{
	void *f = library->programs[number];

	return likely(f) ? f : cpa_next_symbol_of_module(library, number, caller);
}

/* Define @library of the functions that @functions(F) lists as F(name). */
#define CPA_NEXT_SYMBOL_NUMBER(name) NUMBER_##name,
#define CPA_NEXT_SYMBOL_NAME(name)   #name,
#define CPA_NEXT_SYMBOL_LIBRARY(library, functions)                                       \
	enum { functions(CPA_NEXT_SYMBOL_NUMBER) COUNT_##library };                       \
	static const char *const names_##library[] = { functions(CPA_NEXT_SYMBOL_NAME) }; \
	_Static_assert(COUNT_##library <= CPA_NEXT_SYMBOL_FUNCTIONS, "too many");         \
	static struct cpa_next_symbol_library library = { .names = names_##library,       \
							  .count = COUNT_##library };     \
	static __attribute__((constructor)) void library##_init(void)                     \
	{                                                                                 \
		cpa_next_symbol_init(&library);                                           \
	}

/* In an exported wrapper: the original of @name, of which NUMBER_@name is the number. */
#define CPA_NEXT_SYMBOL(library, name) \
	((__typeof__(&(name)))cpa_next_symbol_find(&(library), NUMBER_##name, CPA_CALLER()))

/* F(00) ... F(77), octal: functions that differ in a number only. See preload/lib/glib.c. */
#define CPA_NEXT_SYMBOL_8(F, n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define CPA_NEXT_SYMBOL_32(F, a, b, c, d) \
	CPA_NEXT_SYMBOL_8(F, a)           \
	CPA_NEXT_SYMBOL_8(F, b) CPA_NEXT_SYMBOL_8(F, c) CPA_NEXT_SYMBOL_8(F, d)
#define CPA_NEXT_SYMBOL_64(F) CPA_NEXT_SYMBOL_32(F, 0, 1, 2, 3) CPA_NEXT_SYMBOL_32(F, 4, 5, 6, 7)

/* Whether the thread is in a queue's own code already: the outer call records the operation. */
static inline bool cpa_next_symbol_nested(void)
{
	const struct cpa_worker *w = cpa_tls.worker;

	return w && w->self.inner;
}

static inline void cpa_next_symbol_leave(const char *scope)
{
	(void)scope;
	cpa_inner_end();
}

/* Evaluate @call as a queue's own code, return its value. The thread may be cancelled in it. */
#define CPA_INNER(call)                                                                  \
	({                                                                               \
		char scope_ __attribute__((cleanup(cpa_next_symbol_leave), unused)) = 0; \
                                                                                         \
		cpa_inner_begin();                                                       \
		call;                                                                    \
	})

#endif
