/* SPDX-License-Identifier: MIT */
/* analysis/symbols/cache_folder.h - read, replace and evict the files of the name cache */
#ifndef CPA_ANALYSIS_SYMBOLS_CACHE_FOLDER_H
#define CPA_ANALYSIS_SYMBOLS_CACHE_FOLDER_H

#include <stddef.h>

#define CPA_CACHE_SUFFIX ".names" /* end of the names of our files; no other file is ever removed */

/*
 * Contents of file @name, and a NUL; *@size bytes. The caller frees it. The file then counts as
 * used now. NULL: missing, too large, not a regular file, or others may write it.
 */
char *cpa_cache_folder_read(int folder, const char *name, size_t *size);

/*
 * Replace file @name, then remove the least recently used files until all fit CPA_CACHE_FOLDER_MAX.
 */
void cpa_cache_folder_write(int folder, const char *name, const char *text, size_t size);

#endif
