/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/token.h - paths on their way from one release to an acquire elsewhere
 *
 * Tokens are rows of a session table that are never anything else, so a late reader of a freed one
 * sees a token, if not the one it wanted. Each thread keeps some free ones; the surplus goes to a
 * pile that all processes share.
 */
#ifndef CPA_SHADOW_PATH_TOKEN_H
#define CPA_SHADOW_PATH_TOKEN_H

#include "shadow/store/self.h"
#include "shadow/store/table.h"

static inline struct cpa_token *cpa_token(uint64_t row)
{
	return cpa_row(CPA_TABLE_TOKENS, (uint32_t)row);
}

/* A token that holds a copy of @path (NULL: nothing). Return its row; 0: no space, counted. */
CPA_HIDDEN uint32_t cpa_token_new(struct cpa_self *self, const struct cpa_path *path);

/* Give back a token that no other thread can still want. */
CPA_HIDDEN void cpa_token_free(struct cpa_self *self, uint32_t row);

/* Give the thread's free tokens to the others, at its end. */
CPA_HIDDEN void cpa_token_forget_spares(struct cpa_self *self);

#endif
