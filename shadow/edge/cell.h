/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/cell.h - a path that many threads may read and extend concurrently: annotations
 *
 * The cell names a token with the join of all releases so far. A reader pins the token by
 * incrementing the pins in the cell word {pins:32, row:32}. A releaser replaces the token by a new
 * one, the join of the old one and its own path, and moves the pins to `left` of the old token. The
 * thread that brings `left` back to 0 frees the old token.
 *
 *              release  read     "-": the calls may overlap
 *   release       -       -
 *   read          -       -
 *
 * Progress: lock-free. Memory: one token per cell and one per call in progress.
 */
#ifndef CPA_SHADOW_EDGE_CELL_H
#define CPA_SHADOW_EDGE_CELL_H

#include "shadow/edge/acquire.h"
#include "shadow/path/token.h"

/* A pin in a cell's word {pins:32, row:32}. */
#define CPA_CELL_PIN (UINT64_C(1) << 32)

/* Pin the cell's token, so that it is not freed. NULL: the cell is empty. */
CPA_HIDDEN struct cpa_token *cpa_cell_pin(uint64_t *cell);

/* The cell's token @t is no longer read by this thread. */
CPA_HIDDEN void cpa_cell_unpin(struct cpa_self *self, uint64_t *cell, struct cpa_token *t);

/*
 * Replace token @old, which the thread has pinned (NULL: none), by the word @new, whose token may have
 * pins already. The pin of the thread is gone then. Return false, changing nothing, if the cell
 * names another token.
 */
CPA_HIDDEN bool cpa_cell_replace(struct cpa_self *self, uint64_t *cell, struct cpa_token *old,
				 uint64_t new);

/* Join @path into @cell. Without space the cell stays as it is (counted). */
CPA_HIDDEN void cpa_cell_release(struct cpa_self *self, uint64_t *cell,
				 const struct cpa_path *path);

/* Join the path in @cell into the thread's path, as an acquire. */
CPA_HIDDEN void cpa_cell_acquired(struct cpa_self *self, uint64_t *cell, struct cpa_wait *wait);

/*
 * Put @path into @cell in place of what is there, as the release of number @key. Without space the cell
 * stays as it is (counted).
 */
CPA_HIDDEN void cpa_cell_put(struct cpa_self *self, uint64_t *cell, uint64_t key,
			     const struct cpa_path *path);

/*
 * cpa_cell_acquired() of the release of number @key. False, acquiring nothing, if the cell does not hold
 * it.
 */
CPA_HIDDEN bool cpa_cell_acquired_if(struct cpa_self *self, uint64_t *cell, uint64_t key,
				     struct cpa_wait *wait);

/* Return the clock of the latest release into @cell, ticks; 0: none. */
CPA_HIDDEN uint64_t cpa_cell_released(struct cpa_self *self, uint64_t *cell);

/* Free the token of @cell; no other thread may use the cell. */
CPA_HIDDEN void cpa_cell_clear(struct cpa_self *self, uint64_t *cell);

#endif
