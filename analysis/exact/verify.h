/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/verify.h - what was computed while the program ran, computed again from its journal
 */
#ifndef CPA_ANALYSIS_EXACT_VERIFY_H
#define CPA_ANALYSIS_EXACT_VERIFY_H

#include <stdio.h>

#include "analysis/input/load.h"

/*
 * Compare, to the tick, and say on @out what was compared, and what could not be and why. Return 0
 * if nothing differs, 1 if anything does, -1 with *@error (to be freed) if there is nothing to
 * compare with.
 */
int cpa_verify(struct cpa_dump *dump, FILE *out, char **error);

#endif
