/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/cache.h - names that were found before, kept in files by build-id and path
 *
 * One small text file for each module, in a folder that only its user may write. It says from which
 * files the names are, with size and time of each: if one of them changed, came or went, or if
 * anything else is wrong with it, the file is ignored and written anew. Without a usable folder
 * names are kept in memory only. Nothing here fails, and no message is made: a cache only saves time.
 *
 * Several processes may write: a file appears as a whole or not at all, and the last one stays.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_CACHE_H
#define CPA_ANALYSIS_SYMBOLS_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

#define CPA_CACHE_FILE_MAX   (UINT64_C(8) << 20)  /* bytes of one file */
#define CPA_CACHE_FOLDER_MAX (UINT64_C(64) << 20) /* of all; the least recently used ones go */

/*
 * Open the folder, which is made if needed: $CPA_CACHE; if that is not set $XDG_CACHE_HOME/cpa, or
 * $HOME/.cache/cpa. Return a descriptor for the caller to close; -1: none, which CPA_CACHE=off asks
 * for. A folder that is not ours alone to write, or would be made in somebody else's, is not used.
 */
int cpa_cache_folder(void);

struct cpa_cache;

enum cpa_cache_kind { CPA_CACHE_CODE, CPA_CACHE_RETURN, CPA_CACHE_VARIABLE, CPA_CACHE_WHOLE };

struct cpa_cache_key {
	uint64_t address; /* in the module's file */
	enum cpa_cache_kind kind;
};

/* Both printable, or NULL: the address has none. */
struct cpa_cache_entry {
	const char *name, *location;
};

/* What @folder, which may be -1 and must stay open, has of @module. */
struct cpa_cache *cpa_cache_open(int folder, const struct cpa_module *module);

/* NULL: not known. Valid until the next add. */
const struct cpa_cache_entry *cpa_cache_find(const struct cpa_cache *cache,
					     const struct cpa_cache_key *key);

/*
 * Remember the copied texts of @entry. @debug: the separate file with the debug information that
 * they are from, NULL if there is none.
 */
void cpa_cache_add(struct cpa_cache *cache, const struct cpa_cache_key *key,
		   const struct cpa_cache_entry *entry, const char *debug);

/* Write what was added, if @keep, and free @cache; NULL is no cache. */
void cpa_cache_close(struct cpa_cache *cache, bool keep);

#endif
