/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/item.h - paths of items that are in work queues, found by (queue, item)
 *
 * Items come and go by the million, so this index, unlike that of shadow/store/table.h, forgets. A word
 * (shadow/store/index.h) is 0 or {hash:32, token row:32}. An item goes into any free word of the first
 * level whose line has one; words never move. So a taker looks at each level there is.
 *
 *              put  take     "-": the calls may overlap; equal items too
 *   put         -    -
 *   take        -    -
 *
 * I1  A word goes from 0 to an item by its putter and back to 0 by the one taker that gets it.
 * I2  The path of an item's token is read only by the taker that got its word. Its key (the item),
 *     payload ({putter's id:32, queue row:32}) and left (the clock of its release) are read by all
 *     that look for it, also when it serves others already: they are atomic, and the taker that got
 *     the word looks again.
 * Progress: lock-free. Memory: one token an item, at most CPA_ITEMS_MAX, used again.
 */
#ifndef CPA_SHADOW_EDGE_ITEM_H
#define CPA_SHADOW_EDGE_ITEM_H

#include "shadow/path/token.h"

/* Equal items at once. They share their lines: more would make the index grow for nothing. */
#define CPA_ITEMS_EQUAL 32u

enum cpa_item_put { CPA_ITEM_REFUSED, CPA_ITEM_NEW, CPA_ITEM_TWICE };

/*
 * Publish a copy of @path as that of @item in queue row @queue. CPA_ITEM_TWICE: such an item is
 * there already, a take gets the older one; CPA_ITEM_REFUSED: no space, counted.
 */
CPA_HIDDEN enum cpa_item_put cpa_item_put(struct cpa_self *self, uint32_t queue, uint64_t item,
					  const struct cpa_path *path);

/*
 * Take such an item out; of several the one released first. Return its token's row, the caller's
 * to free; 0: there is none.
 */
CPA_HIDDEN uint32_t cpa_item_take(struct cpa_self *self, uint32_t queue, uint64_t item);

/* As cpa_item_take(), of those that this thread has put; of several the one released last. */
CPA_HIDDEN uint32_t cpa_item_take_back(struct cpa_self *self, uint32_t queue, uint64_t item);

/*
 * Forget all items that were released before clock @before: @each is called with the token of each.
 */
CPA_HIDDEN void cpa_item_forget(struct cpa_self *self, uint64_t before,
				void (*each)(uint32_t queue, const struct cpa_path *path));

#endif
