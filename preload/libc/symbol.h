/* SPDX-License-Identifier: MIT */
/*
 * preload/libc/symbol.h - find symbols without the loader
 *
 * dlsym() takes the loader's lock. Another thread may hold that lock in a constructor that waits for
 * the caller. So this file looks originals up in the hash tables that each module carries.
 *
 * Nothing here takes a lock, allocates memory or makes a system call; async-signal-safe.
 */
#ifndef CPA_PRELOAD_LIBC_SYMBOL_H
#define CPA_PRELOAD_LIBC_SYMBOL_H

#include <link.h>
#include <stdbool.h>

#include "shadow/store/session.h"

/* A loaded module: load address and dynamic section. */
struct cpa_image {
	uint64_t base;
	const ElfW(Dyn) * dynamic;
};

/*
 * Address of the symbol @name that @image defines, by the loader's rules for a reference to
 * @version; @version NULL: the default version. Returns NULL if there is none. The module must stay
 * loaded during the call.
 */
CPA_HIDDEN void *cpa_symbol_in(const struct cpa_image *image, const char *name,
			       const char *version);

/*
 * The next definition of @name behind this library, in the modules that the program started with,
 * up to the C library: no module among them is ever unloaded. NULL: there is none.
 */
CPA_HIDDEN void *cpa_symbol_next(const char *name, const char *version);

/* DT_SONAME of @image, the name in the DT_NEEDED of others; NULL: it has none. */
CPA_HIDDEN const char *cpa_symbol_module_name(const struct cpa_image *image);

/* The string that @entry of the dynamic section of @image names. */
CPA_HIDDEN const char *cpa_symbol_string(const struct cpa_image *image, const ElfW(Dyn) * entry);

#endif
