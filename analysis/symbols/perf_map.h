/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/perf_map.h - names of code that a program made while it ran, from perf maps
 *
 * Just-in-time compilers write /tmp/perf-PID.map for profilers: a line "START SIZE NAME" (hex) for
 * each function. Or they write jit-PID.dump (analysis/symbols/jitdump.h), which is looked for in
 * the folder of the session, the current folder, /tmp, and the folders in .debug/jit of
 * $JITDUMPDIR, or of $HOME without it. A file counts only if it is the process's: of the owner of
 * the session, and last written while the process ran. Its contents may be hostile.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_PERF_MAP_H
#define CPA_ANALYSIS_SYMBOLS_PERF_MAP_H

#include <stddef.h>

#include "analysis/input/load.h"

#define CPA_PERF_MAP_BLOCK 64u /* bytes of code that one bit of `blocks` stands for */

struct cpa_perf_map;

/* The maps of all processes in @dump. The caller closes them. */
struct cpa_perf_map *cpa_perf_map_open(struct cpa_dump *dump);
void cpa_perf_map_close(struct cpa_perf_map *map); /* NULL is allowed */

/*
 * The functions with code in the blocks at @address that bit i of @blocks stands for: "f", or "f,
 * g" if there are several, those with most blocks first. NULL: none is known. The caller frees it.
 */
char *cpa_perf_map_name(const struct cpa_perf_map *map, uint64_t address, uint64_t blocks);

/*
 * What was wrong with the @number-th file that is damaged, from 0: a sentence. NULL: there are no
 * more.
 */
const char *cpa_perf_map_trouble(const struct cpa_perf_map *map, size_t number);

#endif
