/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/verify.h - compare the results of a run with a second computation from its journal
 */
#ifndef CPA_ANALYSIS_EXACT_VERIFY_H
#define CPA_ANALYSIS_EXACT_VERIFY_H

#include <stdio.h>

#include "analysis/input/load.h"

/*
 * Compare tick by tick. Write to @out what was compared, what was not, and why. Return 0 if nothing
 * differs, 1 if something does, -1 with *@error, which the caller frees, if there is nothing to
 * compare with.
 */
int cpa_verify(struct cpa_dump *dump, FILE *out, char **error);

#endif
