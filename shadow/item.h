/* SPDX-License-Identifier: MIT */
/*
 * shadow/item.h - paths of items that are in work queues, found by (queue, item)
 *
 * Items come and go by the million, so this index, unlike that of shadow/table.h, forgets. Level k
 * has 64 << 2k lines of one cache line; a word is 0 or {hash:32, token row:32}. An item hashes to
 * one line per level and goes into any free word of the first level that has one; words never
 * move. So a taker looks at each level there is.
 *
 *              put  take     "-": the calls may overlap; equal items too
 *   put         -    -
 *   take        -    -
 *
 * I1  A word goes from 0 to an item by its putter and back to 0 by the one taker that gets it.
 * I2  The token of an item is read only by the taker that got its word.
 * Progress: lock-free. Memory: one token an item, at most CPA_ITEMS_MAX, used again.
 */
#ifndef CPA_SHADOW_ITEM_H
#define CPA_SHADOW_ITEM_H

#include "shadow/token.h"

enum cpa_item_put { CPA_ITEM_REFUSED, CPA_ITEM_NEW, CPA_ITEM_TWICE };

/*
 * Publish a copy of @path as that of @item in queue row @queue. CPA_ITEM_TWICE: such an item is
 * there already, a take gets the older one; CPA_ITEM_REFUSED: no space, counted.
 */
CPA_HIDDEN enum cpa_item_put cpa_item_put(struct cpa_self *self, uint32_t queue, uint64_t item,
					  const struct cpa_path *path);

/* Take the oldest such item out: its token's row, the caller's to free; 0: there is none. */
CPA_HIDDEN uint32_t cpa_item_take(struct cpa_self *self, uint32_t queue, uint64_t item);

#endif
