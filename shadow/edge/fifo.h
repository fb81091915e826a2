/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/fifo.h - releases waiting for the acquires they let through, in order
 *
 * The lock-free queue of Michael and Scott (PODC 1996) over token rows. Links are {tag:32, row:32}
 * words; a row's tag grows with every change of the link, and rows stay rows, so that neither
 * reuse nor late readers need a grace period: liburcu's queue would need one, which a thread that
 * is stopped in a signal handler could hold up for ever. A queue node brings a token by number:
 * reading that number before the node is won is harmless, reading a path would not be.
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
 * Append token @row, which the queue then owns. Return false, the token freed, if there is no space,
 * or the queue has no end.
 */
CPA_HIDDEN bool cpa_fifo_put(struct cpa_self *self, struct cpa_object *object, uint32_t row);

/* The oldest token, now the caller's; 0 if there is none. */
CPA_HIDDEN uint32_t cpa_fifo_take(struct cpa_self *self, struct cpa_object *object);

/* As many tokens as no queue has more: who takes all takes no more times. */
CPA_HIDDEN uint32_t cpa_fifo_most(void);

/* Free all tokens. */
CPA_HIDDEN void cpa_fifo_clear(struct cpa_self *self, struct cpa_object *object);

/* As well as the queue's own node. */
CPA_HIDDEN void cpa_fifo_drain(struct cpa_self *self, struct cpa_object *object);

#endif
