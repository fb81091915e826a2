/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/load.h - who used the processors while a program ran
 *
 * Of the processors that the launcher may run on, and the program that it starts.
 */
#ifndef CPA_ANALYSIS_LAUNCH_LOAD_H
#define CPA_ANALYSIS_LAUNCH_LOAD_H

#include "shadow/format/layout.h"

/* What the kernel has counted of the processors so far; all 0: not known. own_ns is not set. */
struct cpa_load cpa_load_now(void);

/* What it has counted since @begun, when all children of the launcher have ended. */
struct cpa_load cpa_load_since(const struct cpa_load *begun);

#endif
