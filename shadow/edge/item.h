/* SPDX-License-Identifier: MIT */
/*
 * shadow/edge/item.h - paths of items in work queues, found by (queue, item)
 *
 * Items come and go by the million, so entries of this index, unlike those of shadow/store/table.h,
 * are removed. A word (shadow/store/index.h) is 0 or {hash:32, token row:32}. An item goes into any
 * free word of the first level whose line has one; words never move. A take therefore searches all
 * existing levels.
 *
 *              put  take     "-": the calls may overlap, also for equal items
 *   put         -    -
 *   take        -    -
 *
 * I1  A word is changed from 0 to an item by the thread that puts it, and back to 0 by the one
 * thread that takes it.
 * I2  Only the thread that took the word reads the path of the token. All threads that look for the
 * item read the token's key (the item), payload ({putter's id:32, queue row:32}) and left (clock of
 * the release), possibly after the token was used again. These fields are atomic, and the taker
 * checks them again after it took the word.
 * Progress: lock-free. Memory: one token per item, at most CPA_ITEMS_MAX; tokens are reused.
 */
#ifndef CPA_SHADOW_EDGE_ITEM_H
#define CPA_SHADOW_EDGE_ITEM_H

#include "shadow/path/token.h"

/*
 * Maximum number of equal items at once. They share their lines, so more would only make the index
 * grow.
 */
#define CPA_ITEMS_EQUAL 32u

enum cpa_item_put { CPA_ITEM_REFUSED, CPA_ITEM_NEW, CPA_ITEM_TWICE };

/*
 * Publish a copy of @path for @item in queue row @queue. CPA_ITEM_TWICE: an equal item is there
 * already; takes get the older one first. CPA_ITEM_REFUSED: no space (counted).
 */
CPA_HIDDEN enum cpa_item_put cpa_item_put(struct cpa_self *self, uint32_t queue, uint64_t item,
					  const struct cpa_path *path);

/*
 * Take @item out; of several equal ones the one released first. Return its token's row, which the
 * caller must free; 0: none.
 */
CPA_HIDDEN uint32_t cpa_item_take(struct cpa_self *self, uint32_t queue, uint64_t item);

/* As cpa_item_take(), but only items put by this thread; of several the one released last. */
CPA_HIDDEN uint32_t cpa_item_take_back(struct cpa_self *self, uint32_t queue, uint64_t item);

/* Remove all items released before clock @before; @each is called with the path of each. */
CPA_HIDDEN void cpa_item_forget(struct cpa_self *self, uint64_t before,
				void (*each)(uint32_t queue, const struct cpa_path *path));

#endif
