/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/names_met.h - constructs of OpenMP of which the runtime tells where they are met
 *
 * libomp tells the place of a construct, and not its code. clang calls the code .omp_outlined..1.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_NAMES_MET_H
#define CPA_ANALYSIS_SYMBOLS_NAMES_MET_H

#include "analysis/symbols/names.h"

/*
 * Where the construct @row, with CPA_BY_FIRST_SITE, is; its function may be an inlined one. The caller frees the
 * texts.
 */
struct cpa_place cpa_names_met(struct cpa_names *names, const struct cpa_component *row);

/*
 * The function, as "solve()", in which a thread met a construct of the module in row @module whose place is
 * @location. The caller frees it. NULL: none was met there, or it has no name.
 */
char *cpa_names_within(struct cpa_names *names, uint32_t module, const char *location);

#endif
