/* SPDX-License-Identifier: MIT */
/*
 * analysis/page/html_lanes.h - the events of a journal for the timeline of the page
 *
 * The page gets a description of the lanes as JSON, and bytes with their events and bins. Times in
 * the bytes are ns; numbers are varints (7 bits a byte, lowest first; the last byte has bit 7 clear).
 * An event is
 *
 *	flags		byte: bits of enum cpa_event_flag
 *	left out	if CPA_EV_GAP: ns from the event before to the begin of this activity, whose
 *			events are in the bins only
 *	node		id of its node of the activity graph, 0: none
 *	component	index in the report + 1 of the function or external that took most; 0: none
 *	activity	ns
 *	process, external, run queue	ns, unless CPA_EV_WORK: all of it is process time
 *	wait		if CPA_EV_WAITS: ns
 *	external, run queue	if CPA_EV_SHARES: ns of the wait
 *	lane, latency	if CPA_EV_RELEASED: the releaser's lane, ns from the release to the return
 *
 * The bins of a lane are equal parts of the run, CPA_HTML_SHARES bytes each: in 1/255 of the bin the
 * time of work, external, run queue, wait, woken (released, not yet back), other (cpa itself), on the
 * critical path, on the observed path. They hold all events.
 */
#ifndef CPA_ANALYSIS_PAGE_HTML_LANES_H
#define CPA_ANALYSIS_PAGE_HTML_LANES_H

#include <jansson.h>

#include "analysis/exact/lanes.h"
#include "analysis/profile/profile.h"
#include "analysis/util/bytes.h"

enum cpa_event_flag {
	CPA_EV_ON_PATH = 7, /* enum cpa_on */
	CPA_EV_WORK = 8,
	CPA_EV_WAITS = 16,
	CPA_EV_RELEASED = 32,
	CPA_EV_SHARES = 64,
	CPA_EV_GAP = 128,
};

enum { CPA_HTML_SHARES = 8 };

/*
 * Describe the lanes of @lanes, of the run of @profile, and append their events and bins to @bytes,
 * which the caller frees. The caller frees the result.
 */
json_t *cpa_html_lanes(const struct cpa_lanes *lanes, const struct cpa_profile *profile,
		       struct cpa_bytes *bytes);

#endif
