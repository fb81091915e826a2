/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/offer.h - the path after which a child process begins, if it does not share its
 * parent's memory
 *
 * A parent that spawns a process learns the child's pid late. It therefore offers the path
 * beforehand, as a token in its own process row, where children look for it. Afterwards the parent
 * makes a row for the child; a child that finds no row makes one itself. Each side stores the pid
 * in its row and then looks for the other's row (cpa_process_twin()). At least one side finds the
 * other, and exactly one of the two rows is used.
 */
#ifndef CPA_SHADOW_EDGE_OFFER_H
#define CPA_SHADOW_EDGE_OFFER_H

#include "shadow/edge/process.h"

/*
 * Add @more (1 or -1) to the number of threads of row @number that are between cpa_offer() and the
 * end of cpa_offer_bind().
 */
CPA_HIDDEN void cpa_offer_spawning(uint32_t number, int more);

/*
 * Offer token @token to the children of row @number. Return its place; CPA_OFFERS: no place is
 * free.
 */
CPA_HIDDEN uint32_t cpa_offer(uint32_t number, uint32_t token);

/* Withdraw the token from @place. Return it; 0: a child has taken it. */
CPA_HIDDEN uint32_t cpa_offer_take_back(uint32_t number, uint32_t place, uint32_t token);

/* Take the oldest token offered in row @number; 0: none. */
CPA_HIDDEN uint32_t cpa_offer_take(uint32_t number);

/*
 * Called by the parent after it stored the child's pid in row @number, which it made after
 * @since_ns (CLOCK_BOOTTIME, ns). The child had been offered @token at @place. If the child has no
 * row yet it gets this one, and the token unless another child took it. Return a token that found
 * no place, which the caller then owns; 0: none.
 */
CPA_HIDDEN uint32_t cpa_offer_bind(uint32_t number, uint64_t since_ns, uint32_t place,
				   uint32_t token);

/*
 * Called by the child after it stored @pid, as it sees itself, in row @number, which it made.
 * Return the child's row: @number, or a row that its parent made meanwhile, if @is_since confirms
 * that the child began before the parent saw its pid.
 */
CPA_HIDDEN uint32_t cpa_offer_row(uint32_t number, uint32_t pid,
				  bool (*is_since)(uint64_t seen_ns));

/*
 * Take the path, as a token, after which the child of row @number begins: its parent's, or another
 * one on offer. Once. 0: none.
 */
CPA_HIDDEN uint32_t cpa_offer_token(uint32_t number);

#endif
