/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/cache.h - names found by earlier reports, in files by build-id and path
 *
 * One small text file for each module, in a folder that only its user may write. The file lists the
 * files that the names come from, with size and time of each: if one of them changed, appeared or
 * vanished, or if the file is damaged, it is ignored and written again. Without a usable folder,
 * names are kept in memory only.
 *
 * No function fails or prints a message: the cache only saves time. Several processes may write:
 * each file is replaced as a whole, and the last writer wins.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_CACHE_H
#define CPA_ANALYSIS_SYMBOLS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_CACHE_FILE_MAX   (UINT64_C(8) << 20)  /* largest size of one file, bytes */
#define CPA_CACHE_FOLDER_MAX (UINT64_C(64) << 20) /* of all files; least recently used ones go */

/*
 * Open the cache's folder, creating it if needed: $CPA_CACHE; else $XDG_CACHE_HOME/cpa, or
 * $HOME/.cache/cpa. Return a descriptor, which the caller closes; -1: no folder, or CPA_CACHE=off.
 * A folder that others may write, or that would be created in another user's folder, is not used.
 */
int cpa_cache_folder(void);

struct cpa_cache;

enum cpa_cache_kind {
	CPA_CACHE_CODE,
	CPA_CACHE_RETURN,
	CPA_CACHE_INLINED,
	CPA_CACHE_VARIABLE,
	CPA_CACHE_WHOLE,
};

struct cpa_cache_key {
	uint64_t address; /* in the module's file */
	enum cpa_cache_kind kind;
};

/*
 * Printable, but for the tabs of `inlined` (analysis/symbols/inlined.h); NULL: the address has
 * none.
 */
struct cpa_cache_entry {
	const char *name, *location, *inlined;
};

/* Open the cache for @module. @folder must stay open; -1: in memory only. */
struct cpa_cache *cpa_cache_open(int folder, const struct cpa_module *module);

/* The entry for an address; NULL: not known. Valid until the next cpa_cache_add(). */
const struct cpa_cache_entry *cpa_cache_find(const struct cpa_cache *cache,
					     const struct cpa_cache_key *key);

/* Add @entry, copying its texts. @debug: the separate debug file that they come from, or NULL. */
void cpa_cache_add(struct cpa_cache *cache, const struct cpa_cache_key *key,
		   const struct cpa_cache_entry *entry, const char *debug);

/* Write the entries that were added, if @keep, and free @cache. NULL is allowed. */
void cpa_cache_close(struct cpa_cache *cache, bool keep);

#endif
