/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/windows.h - how the parts of a run differ
 *
 * At each start all paths join (shadow/edge/part.h). So L, and H and S of each slot, grow part by
 * part: what one part added is a value of a sample of which the run is the whole. Sums of squares and
 * products, of constant size, are enough for the error of the sums (analysis/profile/windows.c).
 *
 * The first thread in a part notes what the part before has added. A late thread's path
 * (CPA_DIAG_PART_LATE) is then noted with the next part.
 */
#ifndef CPA_SHADOW_EDGE_WINDOWS_H
#define CPA_SHADOW_EDGE_WINDOWS_H

#include "shadow/store/session.h"

/* Slots of each array of struct cpa_window_sums. */
static inline uint32_t cpa_windows_slots(uint32_t slots)
{
	return (slots + 2 * CPA_VERSION_BLOCK - 1) / CPA_VERSION_BLOCK * CPA_VERSION_BLOCK;
}

/*
 * @path is the join of all paths up to the start that began @epoch. Does nothing if that was noted
 * already, or another thread is noting it. Async-signal-safe, lock-free.
 */
CPA_HIDDEN void cpa_windows_note(const struct cpa_path *path, uint64_t epoch);

#endif
