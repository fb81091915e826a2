/* SPDX-License-Identifier: MIT */
#include "shadow/token.h"

#include <sched.h>
#include <urcu/lfstack.h>

#include "shadow/path.h"

#define KEEP	 32u	/* free tokens a thread keeps for itself */
#define REFILL	 8u	/* and takes at once */
#define PATIENCE 10000u /* yields; some milliseconds */

_Static_assert(sizeof(struct cds_lfs_node) == sizeof(((struct cpa_token *)0)->free_next),
	       "free_next is the stack's node");

static struct __cds_lfs_stack surplus;

/*
 * Atomic: a thread pops. liburcu's pop needs that or a grace period. Not a lock: who has waited
 * long enough (it may be a signal handler that interrupted the popper) makes a new row instead.
 * Taking the whole stack needs neither, but starves the others, who would make new rows again and
 * again.
 */
static uint32_t popping;

/* The stack's operations are assembly, in which the race detector sees no order: tell it. */
#ifdef __SANITIZE_THREAD__
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
/* Between the two, push itself writes the link. */
#define PUSHES() (__tsan_release(&surplus), AnnotateIgnoreWritesBegin(__FILE__, __LINE__))
#define PUSHED() AnnotateIgnoreWritesEnd(__FILE__, __LINE__)
#define POPPED() __tsan_acquire(&surplus)
#else
#define PUSHES() ((void)0)
#define PUSHED() ((void)0)
#define POPPED() ((void)0)
#endif

static struct cds_lfs_node *node_of(struct cpa_token *t)
{
	return (struct cds_lfs_node *)&t->free_next;
}

static struct cpa_token *token_of(struct cds_lfs_node *node)
{
	return caa_container_of((void **)node, struct cpa_token, free_next);
}

static void keep(struct cpa_self *self, struct cpa_token *t)
{
	t->free_next = self->free_tokens;
	self->free_tokens = t;
	self->free_token_count++;
}

static void give(struct cpa_token *t)
{
	PUSHES();
	cds_lfs_push(&surplus, node_of(t));
	PUSHED();
}

static bool begin_pop(void)
{
	for (unsigned i = 0; i < PATIENCE; i++) {
		/* ACQUIRE pairs with the RELEASE in refill(). */
		if (!__atomic_exchange_n(&popping, 1, __ATOMIC_ACQUIRE))
			return true;
		sched_yield();
	}
	return false;
}

static void refill(struct cpa_self *self)
{
	struct cds_lfs_node *node;

	if (cds_lfs_empty(&surplus) || !begin_pop())
		return;
	while (self->free_token_count < REFILL && (node = __cds_lfs_pop(&surplus))) {
		POPPED();
		keep(self, token_of(node));
	}
	/* RELEASE: our pops are over. Pairs with begin_pop(). */
	__atomic_store_n(&popping, 0, __ATOMIC_RELEASE);
}

uint32_t cpa_token_new(struct cpa_self *self, const struct cpa_path *path)
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
			return 0;
		}
		t = cpa_token(row);
		t->row = row;
	}
	if (path)
		cpa_path_publish(self, &t->path, path);
	return t->row;
}

void cpa_token_free(struct cpa_self *self, uint32_t row)
{
	struct cpa_token *t = cpa_token(row);

	cpa_path_drop(self, &t->path);
	if (self->free_token_count < KEEP)
		keep(self, t);
	else
		give(t);
}

void cpa_token_forget_spares(struct cpa_self *self)
{
	struct cpa_token *t, *next;

	for (t = self->free_tokens; t; t = next) {
		next = t->free_next;
		give(t);
	}
	self->free_tokens = NULL;
	self->free_token_count = 0;
}

void cpa_token_reset(void)
{
	__cds_lfs_init(&surplus);
}
