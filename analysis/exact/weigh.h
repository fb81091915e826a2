/* SPDX-License-Identifier: MIT */
/* analysis/exact/weigh.h - the critical path if idle time and waits for nobody known weigh, too */
#ifndef CPA_ANALYSIS_EXACT_WEIGH_H
#define CPA_ANALYSIS_EXACT_WEIGH_H

#include "analysis/input/load.h"
#include "analysis/profile/profile.h"

/*
 * Compute that path from the journal of @dump, and store its length in @profile. If @adopt: also
 * replace the critical path of @profile, and the shares and savings of its components, locks and
 * queues; what is read from the journal later weighs the same. Return 0; or -1 with *@error, which
 * the caller frees: there is no journal, or it is not whole.
 */
int cpa_weigh_idle(struct cpa_dump *dump, struct cpa_profile *profile, bool adopt, char **error);

#endif
