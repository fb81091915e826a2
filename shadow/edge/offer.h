/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/offer.h - which path a child begins after that does not know its parent's memory
 *
 * A parent that spawns knows the child's pid late. So it offers the path before, as a token in its
 * process row, where children look for it. Then it makes a row for the child; a child that does not
 * find that makes one itself. Each side tells the pid in its row and looks for the other's
 * (cpa_process_twin()): at least one finds it, and of both one gets the parent's row.
 */
#ifndef CPA_SHADOW_EDGE_OFFER_H
#define CPA_SHADOW_EDGE_OFFER_H

#include "shadow/edge/process.h"

/*
 * In row @number there is one more thread, or one less, between cpa_offer() and the end of
 * cpa_offer_bind().
 */
CPA_HIDDEN void cpa_offer_spawning(uint32_t number, int more);

/* Put token @token where a child of row @number will look; the place, CPA_OFFERS: there is none. */
CPA_HIDDEN uint32_t cpa_offer(uint32_t number, uint32_t token);

/* Take the token back from @place; 0: a child has taken it. */
CPA_HIDDEN uint32_t cpa_offer_take_back(uint32_t number, uint32_t place, uint32_t token);

/* Take the oldest token that is offered; 0: none. */
CPA_HIDDEN uint32_t cpa_offer_take(uint32_t number);

/*
 * The parent has told the pid of the child that @token was offered to at @place, in row @number,
 * which it made since @since_ns (as seen_ns). Unless the child has a row, it gets this one, and the
 * token if no other child has taken it. Return a token that there is no place for; 0: none.
 */
CPA_HIDDEN uint32_t cpa_offer_bind(uint32_t number, uint64_t since_ns, uint32_t place,
				   uint32_t token);

/*
 * The child, @pid to itself, has told it in row @number, which it made. Return its row: this, or
 * one that its parent made meanwhile, if @is_since says that the child began before the parent saw
 * it.
 */
CPA_HIDDEN uint32_t cpa_offer_row(uint32_t number, uint32_t pid,
				  bool (*is_since)(uint64_t seen_ns));

/*
 * What the child whose row it is begins after, once: its parent's path, or another that is offered.
 * 0: none.
 */
CPA_HIDDEN uint32_t cpa_offer_token(uint32_t number);

#endif
