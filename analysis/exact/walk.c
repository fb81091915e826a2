/* SPDX-License-Identifier: MIT */
#include "analysis/exact/walk.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE SIZE_MAX

/* A record of a block. */
struct note {
	enum cpa_entry_kind kind;
	bool fresh;
	uint32_t number;
	unsigned causes;
	cpa_event_name cause[2];
	uint64_t weight, clock;
	size_t first, charges; /* of page.charge */
};

/* A block of a strand, after reading. */
struct page {
	size_t leaf; /* NOWHERE: empty */
	struct note *note;
	size_t notes, room;
	struct cpa_held_charge *charge;
	size_t charges, room_charges;
};

struct walk {
	const struct cpa_exact *exact;
	struct page *page; /* by strand */
	struct cpa_cursor cursor;
	size_t strand, at; /* the present note, in the page of its strand */
};

static void add_charge(struct page *p, uint32_t slot, uint64_t ticks)
{
	if (!slot || !ticks)
		return;
	if (p->charges == p->room_charges) {
		p->room_charges = p->room_charges ? 2 * p->room_charges : 256;
		p->charge = xrealloc(p->charge, p->room_charges * sizeof(*p->charge));
	}
	p->charge[p->charges++] = (struct cpa_held_charge){ slot, ticks };
}

static void add_note(const struct walk *w, struct page *p, const struct cpa_entry *e)
{
	const struct cpa_cursor *c = &w->cursor;
	struct note *n;

	if (p->notes == p->room) {
		p->room = p->room ? 2 * p->room : 256;
		p->note = xrealloc(p->note, p->room * sizeof(*p->note));
	}
	n = &p->note[p->notes++];
	*n = (struct note){ .kind = e->kind,
			    .fresh = e->fresh,
			    .number = e->number,
			    .clock = e->clock,
			    .first = p->charges };
	if (e->kind == CPA_ENTRY_MERGE || e->kind == CPA_ENTRY_ACQUIRE) {
		n->causes = e->causes;
		memcpy(n->cause, e->cause, sizeof(n->cause));
	} else if (e->kind == CPA_ENTRY_EVENT) {
		n->weight = cpa_entry_weight(e);
		add_charge(p, w->exact->file->edge[e->edge].slot, n->weight);
		add_charge(p, c->slot, n->weight);
		for (unsigned i = 0; i < c->held_count; i++)
			add_charge(p, c->held[i], n->weight);
		for (size_t i = 0; i < e->charges; i++)
			if (!w->exact->file->idle[e->charge[i].slot])
				add_charge(p, e->charge[i].slot, e->charge[i].ticks);
		n->charges = p->charges - n->first;
	}
}

/* The page of @strand with leaf @leaf in it. */
static struct page *turn_to(struct walk *w, size_t strand, size_t leaf)
{
	const struct cpa_journal_file *file = w->exact->file;
	struct page *p = &w->page[strand];
	struct cpa_entry e;

	if (p->leaf == leaf)
		return p;
	p->leaf = leaf;
	p->notes = p->charges = 0;
	cpa_cursor_init(&w->cursor, file, &file->strand[strand], leaf, 1);
	while (cpa_cursor_next(&w->cursor, &e))
		if (e.kind != CPA_ENTRY_RELEASE)
			add_note(w, p, &e);
	cpa_cursor_fini(&w->cursor);
	return p;
}

/* The last leaf of @strand whose first event number is at most @number. */
static size_t leaf_of(const struct walk *w, size_t strand, uint32_t number)
{
	const struct cpa_strand *s = &w->exact->file->strand[strand];
	size_t low = 0, high = s->leaves;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if ((int32_t)(w->exact->file->leaf[s->first + middle].number - number) < 0)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static bool makes(const struct note *n)
{
	return n->kind != CPA_ENTRY_ACQUIRE || n->fresh;
}

/* Move to the last record of event @number of @strand. Return false if there is no such event. */
static bool go_to(struct walk *w, size_t strand, uint32_t number)
{
	size_t leaf = leaf_of(w, strand, number), i = 0;
	const struct page *p = turn_to(w, strand, leaf);
	const struct note *next;

	w->strand = strand;
	while (i < p->notes && !(makes(&p->note[i]) && p->note[i].number == number))
		i++;
	if (i == p->notes)
		return false;
	w->at = i;
	if (p->note[i].kind == CPA_ENTRY_MERGE || p->note[i].fresh)
		return true;
	/* Its acquire is the next record, which may be on the next page. */
	if (i + 1 == p->notes) {
		if (leaf + 1 == w->exact->file->strand[strand].leaves)
			return true;
		p = turn_to(w, strand, leaf + 1);
		i = (size_t)-1;
	}
	next = i + 1 < p->notes ? &p->note[i + 1] : NULL;
	if (next && !makes(next) && next->number == number) {
		w->at = i + 1;
		return true;
	}
	turn_to(w, strand, leaf);
	return true;
}

/* Move to the previous record that is not a merge. Return false at the beginning. */
static bool step_back(struct walk *w)
{
	const struct page *p = &w->page[w->strand];

	do {
		while (!w->at) {
			if (!p->leaf)
				return false;
			p = turn_to(w, w->strand, p->leaf - 1);
			w->at = p->notes;
		}
		w->at--;
	} while (p->note[w->at].kind == CPA_ENTRY_MERGE);
	return true;
}

/* The cause through which the longest path came; 0: the thread's own previous event. */
static cpa_event_name longest_of(const struct walk *w, const struct note *n)
{
	for (unsigned i = n->causes; i-- > 0;)
		if (cpa_exact_chosen(w->exact, w->strand, n->number, i))
			return n->cause[i];
	return n->kind == CPA_ENTRY_MERGE ? n->cause[0] : 0;
}

static bool follow(struct walk *w, cpa_event_name name)
{
	const struct cpa_strand *s = cpa_journal_strand(w->exact->file, cpa_event_thread(name));

	return s && go_to(w, (size_t)(s - w->exact->file->strand), (uint32_t)name);
}

/* The weight of activity @n in the context, as weigh() in exact.c. */
static uint64_t weigh(const struct walk *w, const struct note *n,
		      const struct cpa_held_charge *charge)
{
	const struct cpa_exact *x = w->exact;
	uint64_t weight = n->weight;

	if (x->skip && x->skip(x->skip_argument, w->strand, n->number))
		return 0;
	for (size_t i = 0; x->zero && i < n->charges; i++)
		if (x->zero[charge[i].slot])
			weight -= weight < charge[i].ticks ? weight : charge[i].ticks;
	return weight;
}

uint64_t cpa_walk(const struct cpa_exact *exact, size_t strand, uint32_t number,
		  void (*step)(void *argument, const struct cpa_step *step), void *argument)
{
	size_t strands = exact->file->strands;
	struct walk *w = xcalloc(1, sizeof(*w));
	/* The walk visits each record at most once; otherwise the records are damaged. */
	uint64_t length = 0, left = exact->file->size;
	bool there;

	w->exact = exact;
	w->page = xcalloc(strands, sizeof(*w->page));
	for (size_t i = 0; i < strands; i++)
		w->page[i].leaf = NOWHERE;
	there = strand < strands && go_to(w, strand, number);
	for (bool more = there; more && there; left--) {
		const struct page *p = &w->page[w->strand];
		const struct note *n = &p->note[w->at];
		cpa_event_name from = longest_of(w, n);

		there = left && (!from || follow(w, from));
		if (from || !there)
			continue;
		if (n->kind == CPA_ENTRY_EVENT) {
			const struct cpa_held_charge *charge = n->charges ? p->charge + n->first :
									    NULL;
			const struct cpa_step s = { .strand = w->strand,
						    .number = n->number,
						    .full = n->weight,
						    .weight = weigh(w, n, charge),
						    .clock = n->clock,
						    .charges = n->charges,
						    .charge = charge };

			length += s.weight;
			step(argument, &s);
		}
		more = step_back(w);
	}
	for (size_t i = 0; i < strands; i++) {
		free(w->page[i].note);
		free(w->page[i].charge);
	}
	free(w->page);
	free(w);
	return there ? length : UINT64_MAX;
}
