/* SPDX-License-Identifier: MIT */
#include "analysis/input/journal.h"

#include <libiberty/libiberty.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHARGES_MAX (1u << 20) /* largest number for one activity */
#define MERGES_MAX  (1u << 20) /* largest number for one event */

static int compare_leaves(const void *a, const void *b)
{
	const struct cpa_leaf *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->sequence < y->sequence ? -1 : x->sequence > y->sequence;
}

/* Read a block's header. @ticket becomes 0 if the block may not be read. */
static void read_leaf(struct cpa_journal_file *file, uint64_t offset)
{
	struct cpa_journal_block b;
	struct cpa_leaf *leaf = &file->leaf[file->leaves];

	if (!cpa_dump_bytes(file->dump, offset, &b, sizeof(b)) || !b.ticket || !b.thread ||
	    b.number - b.event > MERGES_MAX)
		return;
	*leaf = (struct cpa_leaf){ .offset = offset,
				   .ticket = b.ticket,
				   .clock = b.clock,
				   .thread = b.thread,
				   .row = b.row,
				   .sequence = b.sequence,
				   .number = b.number,
				   .event = b.event };
	file->leaves++;
}

static void read_leaves(struct cpa_journal_file *file, uint64_t at, uint32_t blocks)
{
	file->leaf = xcalloc(blocks ? blocks : 1, sizeof(*file->leaf));
	for (uint32_t i = 0; i < blocks; i++) {
		uint64_t offset;

		if (!cpa_dump_bytes(file->dump, at + i * sizeof(offset), &offset, sizeof(offset)))
			break;
		if (offset)
			read_leaf(file, offset);
	}
	qsort(file->leaf, file->leaves, sizeof(*file->leaf), compare_leaves);
	file->size = file->leaves * CPA_JOURNAL_BLOCK;
}

/* Number of events in the closed block at @offset. */
static uint32_t events_in(const struct cpa_journal_file *file, uint64_t offset)
{
	uint32_t events = 0;

	cpa_dump_bytes(file->dump, offset + offsetof(struct cpa_journal_block, events), &events,
		       sizeof(events));
	return events;
}

/* Whether @next is the continuation of @leaf. */
static bool follows(const struct cpa_journal_file *file, const struct cpa_leaf *leaf,
		    const struct cpa_leaf *next)
{
	uint32_t events = events_in(file, leaf->offset);

	/* A record that defines an event number has at least one byte. */
	return next->sequence == leaf->sequence + 1 && next->row == leaf->row &&
	       events < CPA_JOURNAL_BLOCK && next->number == leaf->number + events;
}

static void make_strands(struct cpa_journal_file *file)
{
	file->strand = xcalloc(file->leaves ? file->leaves : 1, sizeof(*file->strand));
	for (size_t i = 0; i < file->leaves; i++) {
		const struct cpa_leaf *leaf = &file->leaf[i];
		struct cpa_strand *s = &file->strand[file->strands - (file->strands > 0)];

		if (!i || leaf->thread != leaf[-1].thread)
			s = &file->strand[file->strands++];
		else if (follows(file, &leaf[-1], leaf)) {
			s->leaves++;
			continue;
		}
		*s = (struct cpa_strand){ .id = leaf->thread,
					  .row = leaf->row,
					  .first = i,
					  .leaves = 1,
					  .begun = leaf->clock,
					  /* The thread's start is event 1, in its first block. */
					  .dropped = leaf->number -
						     (!leaf->sequence && leaf->number == 1) };
	}
}

static void read_edges(struct cpa_journal_file *file)
{
	struct cpa_edge row;

	file->edges = file->dump->rows[CPA_TABLE_EDGES] + 1;
	file->edge = xcalloc(file->edges, sizeof(*file->edge));
	for (uint32_t i = 1; i < file->edges; i++) {
		if (!cpa_dump_row(file->dump, CPA_TABLE_EDGES, i, &row, sizeof(row)))
			continue;
		file->edge[i].slot =
			row.slot != CPA_EDGE_SLOTLESS && row.slot < file->slots ? row.slot : 0;
		file->edge[i].from = row.from;
		file->edge[i].to = row.to;
	}
}

static void read_externals(struct cpa_journal_file *file)
{
	struct cpa_component row;

	file->kind = xcalloc(file->slots, sizeof(*file->kind));
	file->idle = xcalloc(file->slots, sizeof(*file->idle));
	for (uint32_t i = 1; i <= file->dump->rows[CPA_TABLE_COMPONENTS]; i++) {
		if (!cpa_dump_row(file->dump, CPA_TABLE_COMPONENTS, i, &row, sizeof(row)) ||
		    row.kind != CPA_EXTERNAL || row.slot >= file->slots ||
		    row.address >= CPA_EXTERNALS)
			continue;
		file->kind[row.slot] = (uint8_t)(row.address + 1);
		file->idle[row.slot] = !file->dump->idle_weighs &&
				       cpa_external_class(row.address) != CPA_EXT_SERVICE;
	}
}

bool cpa_journal_open(struct cpa_journal_file *file, struct cpa_dump *dump, char **error)
{
	struct cpa_journal_pool pool;
	uint64_t at = dump->header.journal;

	*error = NULL;
	*file = (struct cpa_journal_file){ .dump = dump, .slots = dump->header.slots };
	if (!at)
		return false;
	if (!cpa_dump_bytes(dump, at, &pool, sizeof(pool)) ||
	    pool.block_size != CPA_JOURNAL_BLOCK || pool.blocks > dump->size / sizeof(uint64_t)) {
		if (asprintf(error, "%s:%#llx: the journal is damaged", dump->file,
			     (unsigned long long)at) < 0)
			xmalloc_failed(100);
		return false;
	}
	file->overwritten = pool.overwritten;
	file->refused = pool.refused;
	read_leaves(file, at + sizeof(pool), pool.blocks);
	make_strands(file);
	read_edges(file);
	read_externals(file);
	return true;
}

void cpa_journal_close(struct cpa_journal_file *file)
{
	free(file->leaf);
	free(file->strand);
	free(file->edge);
	free(file->kind);
	free(file->idle);
}

const struct cpa_strand *cpa_journal_strand(const struct cpa_journal_file *file, uint32_t id)
{
	size_t low = 0, high = file->strands;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (file->strand[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < file->strands && file->strand[low].id == id ? &file->strand[low] : NULL;
}

void cpa_cursor_init(struct cpa_cursor *c, const struct cpa_journal_file *file,
		     const struct cpa_strand *strand, size_t leaf, size_t leaves)
{
	const struct cpa_leaf *first = &file->leaf[strand->first + leaf];

	memset(c, 0, offsetof(struct cpa_cursor, block));
	c->file = file;
	c->strand = strand;
	c->leaf = leaf;
	c->last = leaf + leaves;
	c->begin = leaf == 0 && first->sequence == 0 && first->number == 1;
}

void cpa_cursor_fini(struct cpa_cursor *c)
{
	free(c->charge);
	c->charge = NULL;
}

static bool broken(struct cpa_cursor *c)
{
	c->broken = true;
	c->last = c->leaf;
	c->at = c->end;
	return false;
}

/* Copy the strand's next block and load the state at its beginning. */
static bool turn(struct cpa_cursor *c)
{
	const struct cpa_leaf *leaf = &c->file->leaf[c->strand->first + c->leaf];
	const struct cpa_journal_block *b = (const void *)c->block;
	uint64_t ticket = 0;

	if (c->leaf == c->last)
		return false;
	c->leaf++;
	/*
	 * Bytes covered by `used` are complete; they belong to this ticket if the header still says
	 * so after the copy.
	 */
	if (!cpa_dump_bytes(c->file->dump, leaf->offset, c->block, sizeof(c->block)) ||
	    !cpa_dump_bytes(c->file->dump, leaf->offset, &ticket, sizeof(ticket)) ||
	    ticket != leaf->ticket || b->ticket != ticket || b->thread != leaf->thread ||
	    b->used > sizeof(c->block) - offsetof(struct cpa_journal_block, records) ||
	    b->held_count > CPA_JOURNAL_HELD || b->slot >= c->file->slots)
		return broken(c);
	for (unsigned i = 0; i < b->held_count; i++)
		if (b->held[i] >= c->file->slots)
			return broken(c);
	c->at = b->records;
	c->end = b->records + b->used;
	c->number = b->number;
	c->event = b->event;
	c->released = b->released;
	c->node = b->node;
	c->edge = b->edge;
	c->slot = b->slot;
	c->held_count = b->held_count;
	memcpy(c->held, b->held, sizeof(c->held));
	c->clock = b->clock;
	c->gap = c->item = 0;
	c->object = 0;
	memset(c->list, 0, sizeof(c->list));
	memset(c->edge_guess, 0, sizeof(c->edge_guess));
	memset(c->acquired, 0, sizeof(c->acquired));
	memset(c->released_guess, 0, sizeof(c->released_guess));
	memset(c->number_guess, 0, sizeof(c->number_guess));
	return true;
}

/* Read a number; a damaged one sets c->broken. */
static inline uint64_t get(struct cpa_cursor *c)
{
	uint64_t n = 0;

	for (unsigned shift = 0; c->at < c->end && shift < 70; shift += 7) {
		unsigned char byte = *c->at++;

		n |= (uint64_t)(byte & 0x7f) << (shift & 63);
		if (!(byte & 0x80))
			return n;
	}
	c->broken = true;
	return 0;
}

static inline uint64_t get_signed(struct cpa_cursor *c)
{
	uint64_t n = get(c);

	return n >> 1 ^ -(n & 1);
}

static inline uint32_t get_slot(struct cpa_cursor *c)
{
	uint64_t n = get(c);

	if (n < c->file->slots)
		return (uint32_t)n;
	c->broken = true;
	return 0;
}

static void add_charge(struct cpa_cursor *c, uint32_t slot, uint64_t ticks)
{
	if (c->charges == c->room) {
		c->room = c->room ? 2 * c->room : 64;
		c->charge = xrealloc(c->charge, c->room * sizeof(*c->charge));
	}
	c->charge[c->charges].slot = slot;
	c->charge[c->charges++].ticks = ticks;
}

/* Read charges of known slots, whose sum is @process ticks. */
static void get_known(struct cpa_cursor *c, uint64_t process)
{
	unsigned at = c->edge % CPA_JOURNAL_GUESS;
	uint32_t n = c->list[at].slots;

	for (uint32_t i = 0; i < n; i++) {
		uint64_t ticks = i + 1 < n ? get(c) : process;

		add_charge(c, c->list[at].slot[i], ticks);
		process -= ticks;
	}
}

static void get_charges(struct cpa_cursor *c, uint64_t process)
{
	uint64_t code = get(c), n = (code - 1) / 2;
	unsigned at = c->edge % CPA_JOURNAL_GUESS;
	bool whole = !(code & 1);

	if (!code) {
		get_known(c, process);
		return;
	}
	if (n <= CPA_JOURNAL_LIST)
		c->list[at].slots = (uint32_t)n;
	for (uint64_t i = 0; i < n && !c->broken && c->charges < CHARGES_MAX; i++) {
		uint32_t slot = get_slot(c);
		uint64_t ticks = whole && i + 1 == n ? process : get(c);

		add_charge(c, slot, ticks);
		process -= ticks;
		if (n <= CPA_JOURNAL_LIST)
			c->list[at].slot[i] = slot;
	}
}

static void get_edge(struct cpa_cursor *c, unsigned flags)
{
	uint32_t *guess = &c->edge_guess[c->edge % CPA_JOURNAL_GUESS];

	if (flags & CPA_EVENT_EDGE)
		*guess = (uint32_t)get(c);
	c->edge = *guess;
	if (c->edge >= c->file->edges)
		c->broken = true;
	else
		c->node = c->edge ? c->file->edge[c->edge].to : (uint32_t)get(c);
}

static void get_held(struct cpa_cursor *c)
{
	uint64_t n = get(c);

	if (n == 0 && c->held_count) {
		c->held_count--;
	} else if (n == 1) {
		n = get(c);
		if (n > CPA_JOURNAL_HELD)
			c->broken = true;
		else
			c->held_count = (uint32_t)n;
		for (unsigned i = 0; i < c->held_count && !c->broken; i++)
			c->held[i] = get_slot(c);
	} else if (n >= 2 && n - 2 < c->file->slots && c->held_count < CPA_JOURNAL_HELD) {
		c->held[c->held_count++] = (uint32_t)(n - 2);
	} else {
		c->broken = true;
	}
}

static void get_event(struct cpa_cursor *c, unsigned flags, struct cpa_entry *e)
{
	get_edge(c, flags);
	if (flags & CPA_EVENT_HELD)
		get_held(c);
	if (flags & CPA_EVENT_SLOT)
		c->slot = get_slot(c);
	e->process = get(c);
	if (flags & CPA_EVENT_GAP)
		c->gap += get_signed(c);
	e->external = e->runqueue = e->uses = 0;
	if (flags & CPA_EVENT_EVENTFUL) {
		e->external = get(c);
		e->runqueue = get(c);
		e->uses = (uint32_t)get(c);
	}
	if (flags & CPA_EVENT_CHARGES)
		get_charges(c, e->process);
	else if (e->process)
		get_known(c, e->process);
	c->clock += c->gap + e->process + e->external + e->runqueue;
	c->event = ++c->number;
	c->released = 0;
	e->kind = CPA_ENTRY_EVENT;
	e->edge = c->edge;
	e->charge = c->charge;
	e->charges = c->charges;
	c->charges = 0;
	e->idle = 0;
	for (size_t i = 0; e->external && i < e->charges; i++)
		if (c->file->idle[e->charge[i].slot])
			e->idle += e->charge[i].ticks;
	if (e->idle > e->external) /* damaged */
		e->idle = e->external;
}

static void get_item(struct cpa_cursor *c, bool said, struct cpa_entry *e)
{
	e->queue = e->stream = 0;
	e->item = e->bytes = 0;
	if (!said)
		return;
	e->queue = (uint32_t)get(c);
	c->item += get_signed(c);
	if (e->queue >= CPA_JOURNAL_STREAM) {
		e->stream = e->queue - CPA_JOURNAL_STREAM;
		e->bytes = c->item;
		e->queue = 0;
	} else {
		e->item = c->item;
	}
}

static cpa_event_name get_path(struct cpa_cursor *c)
{
	uint32_t thread = (uint32_t)get(c);
	uint32_t *last = &c->number_guess[thread % CPA_JOURNAL_GUESS];

	*last += (uint32_t)get_signed(c);
	return cpa_event_of(thread, *last);
}

static void get_acquire(struct cpa_cursor *c, unsigned flags, struct cpa_entry *e)
{
	e->kind = CPA_ENTRY_ACQUIRE;
	e->fresh = c->released;
	if (c->released) {
		c->event = ++c->number;
		c->released = 0;
	}
	e->more = 0;
	if (flags & CPA_ACQUIRE_MORE)
		e->more = (unsigned)get(c);
	else if (flags & CPA_ACQUIRE_WAITED && flags & CPA_ACQUIRE_FIRST)
		e->more = CPA_ACQUIRE_FIRST_OBSERVED;
	if (flags & CPA_ACQUIRE_OBJECT)
		c->acquired[c->edge % CPA_JOURNAL_GUESS] = (uint32_t)get(c);
	e->object = c->object = c->acquired[c->edge % CPA_JOURNAL_GUESS];
	e->other = flags & CPA_ACQUIRE_OTHER ? (uint32_t)get(c) : 0;
	get_item(c, flags & CPA_ACQUIRE_ITEM, e);
	e->causes = 0;
	if (flags & CPA_ACQUIRE_FIRST)
		e->cause[e->causes++] = get_path(c);
	if (e->more & CPA_ACQUIRE_SECOND)
		e->cause[e->causes++] = get_path(c);
	if (flags & CPA_ACQUIRE_WAITED)
		c->clock += get(c);
	e->ready = e->more & CPA_ACQUIRE_READY ? get(c) : 0;
	c->released = e->causes > 0;
}

static void get_release(struct cpa_cursor *c, unsigned flags, struct cpa_entry *e)
{
	e->kind = CPA_ENTRY_RELEASE;
	if (flags & CPA_RELEASE_OBJECT) {
		uint32_t code = (uint32_t)get(c);

		c->released_guess[c->edge % CPA_JOURNAL_GUESS] = code ? code - 1 : c->object;
	}
	e->object = c->released_guess[c->edge % CPA_JOURNAL_GUESS];
	get_item(c, flags & CPA_RELEASE_ITEM, e);
	e->count = flags & CPA_RELEASE_COUNT ? (uint32_t)get(c) : (flags & CPA_RELEASE_ONE) != 0;
	c->released = 1;
}

/* Return false if the record is not an entry of its own. */
static bool get_other(struct cpa_cursor *c, unsigned flags, struct cpa_entry *e)
{
	if (flags >> 2 == CPA_RECORD_CHARGES) {
		get_charges(c, 0);
		return false;
	}
	if (flags >> 2 != CPA_RECORD_MERGE)
		c->broken = true;
	e->kind = CPA_ENTRY_MERGE;
	e->causes = 2;
	e->cause[0] = get_path(c);
	e->cause[1] = get_path(c);
	c->number++;
	return true;
}

bool cpa_cursor_next(struct cpa_cursor *c, struct cpa_entry *e)
{
	unsigned tag;
	bool whole = true;

	e->fresh = false;
	if (c->begin) {
		c->begin = false;
		if (!turn(c))
			return false;
		e->kind = CPA_ENTRY_START;
		e->number = c->event;
		e->clock = c->clock;
		return true;
	}
	do {
		while (c->at == c->end)
			if (!turn(c))
				return false;
		tag = *c->at++;
		e->flags = tag & ~3u;
		switch (tag & 3) {
		case CPA_RECORD_EVENT:
			get_event(c, e->flags, e);
			break;
		case CPA_RECORD_ACQUIRE:
			get_acquire(c, e->flags, e);
			break;
		case CPA_RECORD_RELEASE:
			get_release(c, e->flags, e);
			break;
		default:
			whole = get_other(c, e->flags, e);
			break;
		}
		if (c->broken)
			return broken(c);
		if (whole)
			break;
	} while (true);
	e->number = e->kind == CPA_ENTRY_MERGE ? c->number : c->event;
	e->node = c->node;
	e->clock = c->clock;
	return true;
}
