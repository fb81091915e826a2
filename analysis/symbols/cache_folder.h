/* SPDX-License-Identifier: MIT */
/* analysis/symbols/cache_folder.h - the files of analysis/symbols/cache.h: read, replaced as a whole, and evicted */
#ifndef CPA_ANALYSIS_SYMBOLS_CACHE_FOLDER_H
#define CPA_ANALYSIS_SYMBOLS_CACHE_FOLDER_H

#include <stddef.h>

#define CPA_CACHE_SUFFIX ".names" /* of each file of ours: no other is ever removed */

/*
 * The @size bytes of file @name, and a NUL, for the caller to free. NULL: there is no such file, or
 * it is too large, no regular file, or not ours alone to write. It counts as used now.
 */
char *cpa_cache_folder_read(int folder, const char *name, size_t *size);

/* Replace file @name, then remove the least recently used ones beyond CPA_CACHE_FOLDER_MAX. */
void cpa_cache_folder_write(int folder, const char *name, const char *text, size_t size);

#endif
