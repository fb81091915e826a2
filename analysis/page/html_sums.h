/* SPDX-License-Identifier: MIT */
/*
 * analysis/page/html_sums.h - sums over the events of a journal, for views of the page
 *
 * Components are numbers in the profile. The caller frees all results.
 */
#ifndef CPA_ANALYSIS_PAGE_HTML_SUMS_H
#define CPA_ANALYSIS_PAGE_HTML_SUMS_H

#include <jansson.h>

#include "analysis/exact/lanes.h"
#include "analysis/profile/profile.h"

/*
 * What was active together, as a tree: thread class, then regions, queues and locks that were held
 * during the whole activity, then functions and calls that block. A node has "component" (null: the
 * rest, which no sample told), "critical_s", "observed_s", "all_s": what weighs in the
 * inherent path, on either path and of all activities, with that of its children, and "children".
 */
json_t *cpa_html_stacks(const struct cpa_lanes *lanes, const struct cpa_profile *profile);

/*
 * Who waited for whom: for each lock class or other kind of wait, and classes of waiter and
 * releaser: number, sum, longest, and how many of them the observed path crosses. By sum, the
 * largest 200.
 */
json_t *cpa_html_waits(const struct cpa_lanes *lanes, const struct cpa_profile *profile);

/*
 * For each queue class: mean number of items in each of equal parts of the run, items in and out.
 */
json_t *cpa_html_depths(const struct cpa_lanes *lanes, const struct cpa_profile *profile,
			struct cpa_dump *dump);

#endif
