/* SPDX-License-Identifier: MIT */
#include "shadow/edge/terminal.h"

#include "shadow/edge/cell.h"
#include "shadow/edge/range.h"

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: the kernel's own lock on the terminal orders a write and the read of its bytes. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

/* Records with older paths behind which there are none of a span: writers leave theirs in about their order. */
#define OLDER 8u

/* A span of time, in clocks, while its writes are looked for. */
struct span {
	uint64_t after, until;
	unsigned older; /* records from before it */
};

/* The record @token in @cell is pinned: keep it, if it is in @span. */
static void consider(struct cpa_self *self, struct span *span, uint64_t *cell,
		     struct cpa_token *token, struct cpa_stream_found *f)
{
	uint64_t released = token->path.released;

	span->older += released <= span->after;
	if (released > span->after && released <= span->until)
		cpa_range_keep(self, f, cell, token);
	else
		cpa_cell_unpin(self, cell, token);
}

/* Pin the writes in @span, among the records of @s, in @f. Return whether none may be missing. */
static bool scan(struct cpa_self *self, struct cpa_stream *s, struct span *span,
		 struct cpa_stream_found *f)
{
	uint64_t i = get(&s->records), first = cpa_stream_first_place(s, i);

	while (i-- > first && span->older < OLDER) {
		uint64_t *cell = &s->record[i % CPA_STREAM_RECORDS];
		struct cpa_token *token = cpa_cell_pin(cell);

		if (token)
			consider(self, span, cell, token, f);
	}
	return span->older || !first;
}

uint64_t cpa_terminal_written(const struct cpa_stream *s, uint64_t since)
{
	uint64_t i = get(&s->records), first = cpa_stream_first_place(s, i);
	uint32_t token = 0;

	/* Not pinned: a late reader of a token still reads a token. */
	while (!token && i-- > first)
		token = (uint32_t)get(&s->record[i % CPA_STREAM_RECORDS]);
	return token && get(&cpa_token(token)->path.released) > since ?
		       cpa_token(token)->path.released :
		       0;
}

bool cpa_terminal_find(struct cpa_self *self, struct cpa_stream *s, uint64_t since, uint64_t now,
		       bool echoes, struct cpa_stream_found *f)
{
	struct span span = { .after = since, .until = now };
	bool whole;

	cpa_stream_found_init(f, s, 0);
	whole = scan(self, s, &span, f);
	if (!f->count)
		return false;
	if (f->count > 1 || !whole || echoes)
		__atomic_fetch_add(&s->uncertain, 1, __ATOMIC_RELAXED);
	if (echoes) {
		cpa_stream_drop(self, f);
		return false;
	}
	__atomic_fetch_add(&s->reads, 1, __ATOMIC_RELAXED);
	return true;
}
