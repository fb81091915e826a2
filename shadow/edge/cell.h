/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/cell.h - a path that many may read and many may add to at once: annotations
 *
 * The cell names a token that holds the join of all releases so far. A reader pins it by counting
 * itself into the cell word {pins:32, row:32}; a releaser puts a new token, the join of the old
 * one and its own path, in its place, and takes the pins over into the old token's `left`. Who
 * brings `left` back to 0 frees it.
 *
 *              release  read     "-": the calls may overlap
 *   release       -       -
 *   read          -       -
 *
 * Progress: lock-free. Memory: one token a cell, one more for each call under way.
 */
#ifndef CPA_SHADOW_EDGE_CELL_H
#define CPA_SHADOW_EDGE_CELL_H

#include "shadow/edge/acquire.h"
#include "shadow/path/token.h"

/* Add @path to @cell. No space: counted, the cell stays as it was. */
CPA_HIDDEN void cpa_cell_release(struct cpa_self *self, uint64_t *cell,
				 const struct cpa_path *path);

/* Join what @cell holds into the thread's path, as an acquire. */
CPA_HIDDEN void cpa_cell_acquired(struct cpa_self *self, uint64_t *cell, struct cpa_wait *wait);

/* When the latest release of @cell was, by the clock; 0: there was none. */
CPA_HIDDEN uint64_t cpa_cell_released(struct cpa_self *self, uint64_t *cell);

/* Free what @cell holds; nobody else may use it. */
CPA_HIDDEN void cpa_cell_clear(struct cpa_self *self, uint64_t *cell);

#endif
