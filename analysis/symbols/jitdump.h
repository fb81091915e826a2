/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/jitdump.h - names of code that a program made while it ran, from a jitdump
 *
 * jit-PID.dump is the file that `perf inject --jit` reads: a header, then a record for each
 * function that was compiled or moved. Its bytes may be hostile.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_JITDUMP_H
#define CPA_ANALYSIS_SYMBOLS_JITDUMP_H

#include <stddef.h>
#include <stdint.h>

/*
 * Take @size > 0 bytes of code at @start; the end of the code is an address. @name is in the dump.
 */
typedef void cpa_jitdump_take(void *context, uint64_t start, uint64_t size, const char *name);

/*
 * Call @take for each function in the @size bytes at @dump, which must be of process @pid. Return
 * NULL, or what is wrong with the dump, "is damaged at byte 4711", which the caller frees:
 * functions before that were taken.
 */
char *cpa_jitdump_read(const void *dump, size_t size, uint32_t pid, cpa_jitdump_take *take,
		       void *context);

#endif
