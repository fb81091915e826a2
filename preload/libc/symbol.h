/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/symbol.h - find symbols without the loader
 *
 * dlsym() takes the loader's lock, which another thread may hold in a constructor that waits for
 * the caller. So originals are looked up here, in the hash tables that each module carries.
 *
 * Nothing here takes a lock, allocates memory or makes a system call; async-signal-safe.
 */
#ifndef CPA_PRELOAD_LIBC_SYMBOL_H
#define CPA_PRELOAD_LIBC_SYMBOL_H

#include <link.h>
#include <stdbool.h>

#include "shadow/store/session.h"

/* A loaded module: where it lies, and its dynamic section. */
struct cpa_image {
	uint64_t base;
	const ElfW(Dyn) * dynamic;
};

/*
 * The address of what @image defines as @name, as a reference to @version of it is bound; NULL: the
 * default version. NULL: nothing. The module must not be unloaded meanwhile.
 */
CPA_HIDDEN void *cpa_symbol_in(const struct cpa_image *image, const char *name,
			       const char *version);

/*
 * The next definition of @name behind this library, in the modules that the program started with,
 * up to the C library: no module among them is ever unloaded. NULL: there is none.
 */
CPA_HIDDEN void *cpa_symbol_next(const char *name, const char *version);

/* The name by which others need @image; NULL: that of its file. */
CPA_HIDDEN const char *cpa_symbol_module_name(const struct cpa_image *image);

/* The string that @entry of the dynamic section of @image names. */
CPA_HIDDEN const char *cpa_symbol_string(const struct cpa_image *image, const ElfW(Dyn) * entry);

#endif
