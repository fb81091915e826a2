/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/wait.h - an acquire: when the thread arrived, when it continued, and after which
 * release
 */
#ifndef CPA_SHADOW_PATH_WAIT_H
#define CPA_SHADOW_PATH_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* A wait across the border of a part of the run (shadow/edge/part.h). */
enum cpa_wait_border {
	CPA_WAIT_WITHIN,
	/*
	 * Called while profiling was off. The thread's path already has the time from the begin of the part to
	 * the return, as external time of no kind. If a release after `arrived` explains it, it is a wait.
	 */
	CPA_WAIT_BEGUN,
	CPA_WAIT_CUT, /* it went on when the part ended: no release is known to have ended it */
	/*
	 * It was over, and the part ended before that was noted: cpa_window_late(). Time in which profiling was off is no
	 * part of it: `arrived` is later by that than the thread arrived.
	 */
	CPA_WAIT_LATE
};

/* An acquire, from its arrival to its return. All times are clock ticks. */
struct cpa_wait {
	uint64_t arrived, now;
	uint64_t runqueue; /* ready, without a processor, at the end of the wait */
	/*
	 * The object belongs to a work queue: only the observed path is joined (Online CP 4.1). Set
	 * by the caller of cpa_acquire_path(); the other functions get it from their object.
	 */
	bool observed_only;
	/*
	 * A release was found. The caller sets it before the join if the wait had no other cause: the join
	 * counts what is not explained by then, or leaves it to cpa_unexplained().
	 */
	bool matched;
	uint8_t border; /* enum cpa_wait_border */
	/* Results. */
	bool followed; /* the path of the release is longer than the thread's own */
	uint32_t from; /* node of the latest release; 0: none */
};

#endif
