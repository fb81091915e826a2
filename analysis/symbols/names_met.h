/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/names_met.h - constructs of OpenMP of which the runtime tells where they are met
 *
 * libomp tells the place of a construct, and not its code. clang calls the code .omp_outlined..1.
 */
#ifndef CPA_ANALYSIS_SYMBOLS_NAMES_MET_H
#define CPA_ANALYSIS_SYMBOLS_NAMES_MET_H

#include "analysis/symbols/names.h"

/* The construct @row is at @place: name the function there, which may be an inlined one. */
void cpa_names_met(struct cpa_names *names, const struct cpa_component *row,
		   struct cpa_place *place);

/*
 * The function, as "solve()", in which a thread met a construct of the module in row @module whose place is
 * @location. The caller frees it. NULL: none was met there, or it has no name.
 */
char *cpa_names_within(struct cpa_names *names, uint32_t module, const char *location);

#endif
