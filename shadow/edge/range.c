/* SPDX-License-Identifier: MIT */
#include "shadow/edge/range.h"

#include "shadow/edge/cell.h"

static uint64_t get(const uint64_t *from)
{
	/* Relaxed: the kernel's own lock on the stream orders a write and the read of its bytes. */
	return __atomic_load_n(from, __ATOMIC_RELAXED);
}

/* Of the records found the one that matters least: the shortest path, but not the latest. */
static unsigned least(const struct cpa_stream_found *f)
{
	unsigned latest = 0, found = 0;

	for (unsigned i = 1; i < f->count; i++)
		if (cpa_range_is_later(f->from[i].token, f->from[latest].token))
			latest = i;
	found = latest == 0;
	for (unsigned i = 0; i < f->count; i++)
		if (i != latest && cpa_token(f->from[i].token)->path.len <
					   cpa_token(f->from[found].token)->path.len)
			found = i;
	return found;
}

/*
 * Add the pinned record @token in @cell to what was found. If there is one of the same thread the
 * later one stays, whose path contains that of the other.
 */
static void keep(struct cpa_self *self, struct cpa_stream_found *f, uint64_t *cell, uint32_t token)
{
	unsigned i = 0;

	while (i < f->count &&
	       cpa_token(f->from[i].token)->path.owner != cpa_token(token)->path.owner)
		i++;
	if (i < f->count && !cpa_range_is_later(token, f->from[i].token)) {
		cpa_cell_unpin(self, cell, token);
		return;
	}
	if (i == CPA_STREAM_OWNERS)
		i = least(f);
	if (i < f->count)
		cpa_cell_unpin(self, f->from[i].cell, f->from[i].token);
	else
		f->count++;
	f->from[i].cell = cell;
	f->from[i].token = token;
}

/* The open records, while those of a range are looked for. */
struct open {
	uint64_t *cell;
	uint32_t token, count;
};

static void keep_open(struct cpa_self *self, struct open *open, uint64_t *cell, uint32_t token)
{
	open->count++;
	if (open->count > 1 && !cpa_range_is_later(token, open->token)) {
		cpa_cell_unpin(self, cell, token);
		return;
	}
	if (open->count > 1)
		cpa_cell_unpin(self, open->cell, open->token);
	open->cell = cell;
	open->token = token;
}

bool cpa_range_find(struct cpa_self *self, struct cpa_stream *s, uint64_t from,
		    struct cpa_stream_found *f, bool *uncertain)
{
	uint64_t places = __atomic_load_n(&s->records, __ATOMIC_RELAXED), known = from;
	struct open open = { 0 };
	unsigned behind = 0;

	for (uint64_t i = cpa_stream_first_place(s, places);
	     i < places && behind < CPA_STREAM_BEHIND; i++) {
		uint64_t *cell = &s->record[i % CPA_STREAM_RECORDS];
		uint32_t token = cpa_cell_pin(cell);
		uint64_t begin, end;

		if (!token)
			continue;
		begin = get(&cpa_token(token)->key);
		end = get(&cpa_token(token)->payload);
		if (end == CPA_STREAM_OPEN && begin < f->end) {
			keep_open(self, &open, cell, token);
		} else if (begin < f->end && end > from && end > begin) {
			keep(self, f, cell, token);
			known = end > known ? end : known;
		} else {
			cpa_cell_unpin(self, cell, token);
			behind += begin >= f->end;
		}
	}
	if (open.count && known < f->end)
		keep(self, f, open.cell, open.token);
	else if (open.count)
		cpa_cell_unpin(self, open.cell, open.token);
	*uncertain = open.count > 1 && known < f->end;
	for (unsigned i = 0; i < f->count; i++) {
		uint64_t released = cpa_token(f->from[i].token)->path.released;

		f->released = released > f->released ? released : f->released;
	}
	/* Bytes of somebody whom we do not see: numbers of bytes no longer tell who wrote them. */
	if (!open.count && f->end > (get(&s->written) & CPA_STREAM_BYTES) && !s->broken)
		__atomic_store_n(&s->broken, 1, __ATOMIC_RELAXED);
	return f->count;
}
