/* SPDX-License-Identifier: MIT */
#include "shadow/edge/terminal.h"

#include "shadow/edge/cell.h"

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: the kernel's own lock on the terminal orders a write and the read of its bytes. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

/* Records with older paths behind which there are none of a span: writers leave theirs in about their order. */
#define OLDER 8u

/* The writes in a span of time, of which the latest is pinned. */
struct span {
	uint64_t after, until; /* clocks */
	bool several;	       /* several threads made them */
	unsigned older;	       /* records from before the span */
	uint64_t released;     /* of the one that is pinned */
	uint32_t token;	       /* 0: none */
	uint64_t *cell;
};

/* The record @token in @cell is pinned: keep it, if it is in @span and what is the latest so far. */
static void consider(struct cpa_self *self, struct span *span, uint64_t *cell, uint32_t token)
{
	const struct cpa_path *path = &cpa_token(token)->path;
	bool is_in = path->released > span->after && path->released <= span->until;

	span->older += path->released <= span->after;
	if (is_in && span->token)
		span->several |= path->owner != cpa_token(span->token)->path.owner;
	if (!is_in || (span->token && path->released < span->released)) {
		cpa_cell_unpin(self, cell, token);
		return;
	}
	if (span->token)
		cpa_cell_unpin(self, span->cell, span->token);
	span->token = token;
	span->cell = cell;
	span->released = path->released;
}

/* Pin the latest of @span, among the records of @s. Return whether none may be missing. */
static bool scan(struct cpa_self *self, struct cpa_stream *s, struct span *span)
{
	uint64_t i = get(&s->records), first = cpa_stream_first_place(s, i);

	while (i-- > first && span->older < OLDER) {
		uint64_t *cell = &s->record[i % CPA_STREAM_RECORDS];
		uint32_t token = cpa_cell_pin(cell);

		if (token)
			consider(self, span, cell, token);
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
	bool whole = scan(self, s, &span);

	cpa_stream_found_init(f, s, 0);
	if (!span.token)
		return false;
	if (span.several || !whole || echoes) {
		cpa_cell_unpin(self, span.cell, span.token);
		__atomic_fetch_add(&s->uncertain, 1, __ATOMIC_RELAXED);
		return false;
	}
	__atomic_fetch_add(&s->reads, 1, __ATOMIC_RELAXED);
	f->count = 1;
	f->from[0].cell = span.cell;
	f->from[0].token = span.token;
	f->released = span.released;
	return true;
}
