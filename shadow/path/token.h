/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/token.h - copies of paths between one release and its acquire in another thread
 *
 * Token rows in the session table are never used for anything else. A late reader of a freed token
 * therefore still reads a token, though perhaps another one. Each thread keeps a few free tokens;
 * the surplus goes to a stack that all processes share.
 */
#ifndef CPA_SHADOW_PATH_TOKEN_H
#define CPA_SHADOW_PATH_TOKEN_H

#include "shadow/store/self.h"
#include "shadow/store/table.h"

static inline struct cpa_token *cpa_token(uint64_t row)
{
	return cpa_row(CPA_TABLE_TOKENS, (uint32_t)row);
}

/* Return a new token with a copy of @path (NULL: without a path). NULL: no space (counted). */
CPA_HIDDEN struct cpa_token *cpa_token_make(struct cpa_self *self, const struct cpa_path *path);

/* Free a token that no other thread can still use. */
CPA_HIDDEN void cpa_token_drop(struct cpa_self *self, struct cpa_token *t);

/* The same by row; 0: no token. */
static inline uint32_t cpa_token_new(struct cpa_self *self, const struct cpa_path *path)
{
	const struct cpa_token *t = cpa_token_make(self, path);

	return likely(t) ? t->row : 0;
}

static inline void cpa_token_free(struct cpa_self *self, uint32_t row)
{
	cpa_token_drop(self, cpa_token(row));
}

/* Move the thread's free tokens to the shared stack; called at the thread's end. */
CPA_HIDDEN void cpa_token_forget_spares(struct cpa_self *self);

#endif
