/* SPDX-License-Identifier: MIT */
/*
 * analysis/export/perfetto.h - the events of a journal for Perfetto (TrackEvent packets)
 *
 * A track for each thread, one for the observed and one for the critical path, arrows from a
 * release to what it let go on, counters of working threads and of items in queues, marks.
 */
#ifndef CPA_ANALYSIS_EXPORT_PERFETTO_H
#define CPA_ANALYSIS_EXPORT_PERFETTO_H

#include <stdio.h>

#include "analysis/profile/profile.h"

/*
 * Write the journal of @dump, whose profile is @profile. Return 0 if all is well, -1 with errno set
 * if writing failed, and 1 with *@error, which the caller frees, if there is no journal.
 */
int cpa_perfetto_write(struct cpa_dump *dump, const struct cpa_profile *profile, FILE *out,
		       char **error);

#endif
