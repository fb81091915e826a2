/* SPDX-License-Identifier: MIT */
#include "shadow/path/token.h"

#include "shadow/path/path.h"
#include "shadow/store/stack.h"

#define KEEP   32u /* free tokens that a thread keeps */
#define REFILL 8u  /* tokens that it takes from the shared stack at once */

static uint32_t *below(uint32_t row)
{
	return &cpa_token(row)->below;
}

/* Only the latest free token keeps the versions of its path: the next path often has the same ones. */
static void keep(struct cpa_self *self, struct cpa_token *t)
{
	if (self->free_tokens)
		cpa_path_drop(self, &self->free_tokens->path);
	t->free_next = self->free_tokens;
	self->free_tokens = t;
	self->free_token_count++;
}

static void give(struct cpa_token *t)
{
	cpa_stack_push(&cpa_header()->tokens, t->row, below);
}

static void refill(struct cpa_self *self)
{
	uint32_t row;

	while (self->free_token_count < REFILL &&
	       (row = cpa_stack_pop(&cpa_header()->tokens, below)))
		keep(self, cpa_token(row));
}

struct cpa_token *cpa_token_make(struct cpa_self *self, const struct cpa_path *path)
{
	struct cpa_token *t;

	if (!self->free_tokens)
		refill(self);
	t = self->free_tokens;
	if (t) {
		self->free_tokens = t->free_next;
		self->free_token_count--;
	} else {
		uint32_t row = cpa_table_append(CPA_TABLE_TOKENS);

		if (!row) {
			cpa_diag(CPA_DIAG_TOKENS_REFUSED);
			return NULL;
		}
		t = cpa_token(row);
		t->row = row;
	}
	if (path)
		cpa_path_publish(self, &t->path, path);
	else
		cpa_path_drop(self, &t->path);
	return t;
}

void cpa_token_drop(struct cpa_self *self, struct cpa_token *t)
{
	t->path.owner = 0;
	if (self->free_token_count < KEEP) {
		keep(self, t);
		return;
	}
	cpa_path_drop(self, &t->path);
	give(t);
}

void cpa_token_forget_spares(struct cpa_self *self)
{
	struct cpa_token *t = self->free_tokens, *next;

	if (t)
		cpa_path_drop(self, &t->path);
	/*
	 * Bounded by the count: in a child that left the session (preload/core/alive.h) the list
	 * may be a ring.
	 */
	for (; t && self->free_token_count; self->free_token_count--) {
		next = t->free_next;
		give(t);
		t = next;
	}
	self->free_tokens = NULL;
	self->free_token_count = 0;
}
