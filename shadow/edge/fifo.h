/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/fifo.h - queue of releases for the acquires that they let through, in order
 *
 * The lock-free queue of Michael and Scott (PODC 1996) over token rows. Links are {tag:32, row:32}
 * words; a row's tag grows with every change of the link, and a row always stays a token. Neither
 * reuse nor late readers therefore need a grace period; liburcu's queue needs one, which a thread
 * stopped in a signal handler could delay without limit. A queue node names its token by row
 * number: reading the number before winning the node is harmless, reading a path would not be.
 *
 *            put  take  drain
 *   put       -    -      X      "X": the caller excludes the pair; drain runs when the object
 *   take      -    -      X      is initialized or destroyed.
 *
 * put and take are lock-free and may interrupt each other in one thread (sem_post in a handler).
 */
#ifndef CPA_SHADOW_EDGE_FIFO_H
#define CPA_SHADOW_EDGE_FIFO_H

#include "shadow/path/token.h"

/*
 * Append token @row, which the queue then owns. Return false, with the token freed, if there is no
 * space or the queue has no end.
 */
CPA_HIDDEN bool cpa_fifo_put(struct cpa_self *self, struct cpa_object *object, uint32_t row);

/* Remove and return the oldest token, which the caller then owns; 0: the queue is empty. */
CPA_HIDDEN uint32_t cpa_fifo_take(struct cpa_self *self, struct cpa_object *object);

/* Return an upper bound of the tokens in any queue, which bounds a loop that takes all tokens. */
CPA_HIDDEN uint32_t cpa_fifo_most(void);

/* Free all tokens. */
CPA_HIDDEN void cpa_fifo_clear(struct cpa_self *self, struct cpa_object *object);

/* As cpa_fifo_clear(), but also free the queue's own node. */
CPA_HIDDEN void cpa_fifo_drain(struct cpa_self *self, struct cpa_object *object);

#endif
