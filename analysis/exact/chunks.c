/* SPDX-License-Identifier: MIT */
/* analysis/exact/chunks.c - iterations of OpenMP loops, as threads took them from the runtime */
#include "analysis/exact/chunks.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#define NO_STINT UINT32_MAX

struct reading {
	const struct cpa_journal_file *file;
	const struct cpa_stints *stints;
	struct cpa_stint_finder finder;
	struct cpa_chunks *out;
	size_t room;
	uint8_t *kind; /* by node: enum cpa_event_kind */
	uint32_t nodes;
	/* Of the strand that is read: */
	size_t strand;
	uint64_t clock;
	struct cpa_chunk chunk; /* that the thread is at */
	bool open;		/* it is at one */
};

static void read_nodes(struct reading *in)
{
	struct cpa_node row;

	in->nodes = in->file->dump->rows[CPA_TABLE_NODES] + 1;
	in->kind = XCNEWVEC(uint8_t, in->nodes);
	for (uint32_t i = 1; i < in->nodes; i++)
		if (cpa_dump_row(in->file->dump, CPA_TABLE_NODES, i, &row, sizeof(row)))
			in->kind[i] = (uint8_t)row.kind;
}

static uint8_t kind_of(const struct reading *in, uint32_t node)
{
	return node < in->nodes ? in->kind[node] : 0;
}

static uint32_t innermost(struct reading *in, uint32_t number)
{
	const struct cpa_stints_at *at = cpa_stints_of(&in->finder, in->strand, number);

	return at->open ? (uint32_t)at->stint[at->open - 1] : NO_STINT;
}

static void keep(struct reading *in)
{
	struct cpa_chunks *out = in->out;

	if (out->chunks == in->room) {
		in->room = in->room ? 2 * in->room : 256;
		out->chunk = XRESIZEVEC(struct cpa_chunk, out->chunk, in->room);
	}
	out->chunk[out->chunks++] = in->chunk;
}

static void read_event(struct reading *in, const struct cpa_entry *e)
{
	uint32_t from = e->edge < in->file->edges ? in->file->edge[e->edge].from : 0;
	uint32_t stint = innermost(in, e->number);
	/*
	 * A wait that nobody explains becomes an event of external time: part of the last
	 * operation.
	 */
	bool more = e->clock == in->clock && !e->process && e->external + e->runqueue;

	in->open = in->open && stint == in->chunk.stint;
	if (!more && kind_of(in, from) == CPA_EV_CHUNK && stint != NO_STINT) {
		in->chunk = (struct cpa_chunk){ .order = in->clock, .stint = stint, .node = from };
		in->open = true;
	}
	in->chunk.work += cpa_entry_weight(e);
	if (kind_of(in, e->node) == CPA_EV_AFTER && stint != NO_STINT)
		in->out->ordered[stint] = true;
	if (!more && in->open && kind_of(in, e->node) == CPA_EV_CHUNK)
		keep(in);
}

static void read_strand(struct reading *in, size_t which)
{
	const struct cpa_strand *s = &in->file->strand[which];
	struct cpa_cursor *c = xmalloc(sizeof(*c));
	struct cpa_entry e;

	in->strand = which;
	in->open = false;
	in->clock = s->begun;
	cpa_cursor_init(c, in->file, s, 0, s->leaves);
	while (cpa_cursor_next(c, &e)) {
		if (e.kind == CPA_ENTRY_MERGE)
			continue;
		if (e.kind == CPA_ENTRY_EVENT)
			read_event(in, &e);
		in->clock = e.clock;
	}
	cpa_cursor_fini(c);
	free(c);
}

static void drop_ordered(struct reading *in)
{
	struct cpa_chunks *out = in->out;
	size_t kept = 0;

	for (size_t i = 0; i < out->chunks; i++)
		if (!in->out->ordered[out->chunk[i].stint])
			out->chunk[kept++] = out->chunk[i];
	out->chunks = kept;
}

static int compare_chunks(const void *a, const void *b, void *stints)
{
	const struct cpa_stints *all = stints;
	const struct cpa_chunk *x = a, *y = b;
	const struct cpa_stint *s = &all->stint[x->stint], *t = &all->stint[y->stint];

	if (s->team != t->team)
		return s->team < t->team ? -1 : 1;
	if (s->round != t->round)
		return s->round < t->round ? -1 : 1;
	if (x->order != y->order)
		return x->order < y->order ? -1 : 1;
	return x->stint < y->stint ? -1 : x->stint > y->stint;
}

static void sort(struct cpa_chunks *chunks, const struct cpa_stints *stints)
{
	if (chunks->chunks)
		qsort_r(chunks->chunk, chunks->chunks, sizeof(*chunks->chunk), compare_chunks,
			(void *)(uintptr_t)stints);
}

/*
 * Number the @n chunks @chunk of a round if its threads took them in turns. @taken: by stint, of
 * all zeros, and so again.
 */
static void number_turns(struct cpa_chunk *chunk, size_t n, const struct cpa_stints *stints,
			 uint32_t *taken)
{
	uint32_t most = 0, least = UINT32_MAX;

	for (size_t i = 0; i < n; i++)
		most = ++taken[chunk[i].stint] > most ? taken[chunk[i].stint] : most;
	for (size_t i = 0; i < n; i++)
		least = taken[chunk[i].stint] < least ? taken[chunk[i].stint] : least;
	for (size_t i = 0; i < n; i++)
		taken[chunk[i].stint] = 0;
	if (most - least > 1)
		return;
	for (size_t i = 0; i < n; i++) {
		chunk[i].order = (uint64_t)taken[chunk[i].stint]++ << 32 |
				 stints->stint[chunk[i].stint].strand;
		chunk[i].turn = true;
	}
	for (size_t i = 0; i < n; i++)
		taken[chunk[i].stint] = 0;
}

static void number_all(struct cpa_chunks *chunks, const struct cpa_stints *stints)
{
	uint32_t *taken = XCNEWVEC(uint32_t, stints->stints + 1);

	for (size_t i = 0, n; i < chunks->chunks; i += n) {
		n = cpa_chunks_of(chunks, stints, i, &stints->stint[chunks->chunk[i].stint]);
		number_turns(&chunks->chunk[i], n, stints, taken);
	}
	free(taken);
}

struct cpa_chunks *cpa_chunks_read(const struct cpa_journal_file *file,
				   const struct cpa_stints *stints)
{
	struct reading in = { .file = file, .stints = stints, .out = XCNEW(struct cpa_chunks) };

	read_nodes(&in);
	in.out->ordered = XCNEWVEC(bool, stints->stints + 1);
	cpa_stint_finder_init(&in.finder, stints, file->strands);
	for (size_t i = 0; i < file->strands; i++)
		read_strand(&in, i);
	cpa_stint_finder_fini(&in.finder);
	drop_ordered(&in);
	sort(in.out, stints);
	number_all(in.out, stints);
	sort(in.out, stints);
	free(in.kind);
	return in.out;
}

void cpa_chunks_free(struct cpa_chunks *chunks)
{
	free(chunks->chunk);
	free(chunks->ordered);
	free(chunks);
}

size_t cpa_chunks_of(const struct cpa_chunks *chunks, const struct cpa_stints *stints, size_t first,
		     const struct cpa_stint *stint)
{
	size_t n = 0;

	for (; first + n < chunks->chunks; n++) {
		const struct cpa_stint *s = &stints->stint[chunks->chunk[first + n].stint];

		if (s->team != stint->team || s->round != stint->round)
			break;
	}
	return n;
}

/*
 * How much later than the first of @round each of its @n stints begins, ticks: @late. The time for which a thread was
 * ready without a processor does not count. Some of that time may lie before the round: a thread that is woken there
 * may begin another wait.
 */
static void find_late(const struct cpa_stint *const *round, size_t n, double *late)
{
	uint64_t first = UINT64_MAX;

	for (size_t i = 0; i < n; i++)
		first = round[i]->begun < first ? round[i]->begun : first;
	for (size_t i = 0; i < n; i++)
		late[i] = round[i]->begun - first > round[i]->unready ?
				  (double)(round[i]->begun - first - round[i]->unready) :
				  0;
}

void cpa_chunks_deal(const struct cpa_stints *stints, const struct cpa_stint *const *round,
		     size_t n, const struct cpa_chunk *chunk, size_t count, double *work)
{
	double *late = XNEWVEC(double, n);

	find_late(round, n, late);
	/* What a thread does besides is taken to come first. */
	for (size_t i = 0; i < n; i++) {
		work[i] = (double)round[i]->work;
		for (size_t k = 0; k < count; k++)
			if (&stints->stint[chunk[k].stint] == round[i])
				work[i] -= (double)chunk[k].work;
	}
	for (size_t k = 0; k < count; k++) {
		size_t first = 0;

		for (size_t i = 1; i < n; i++)
			if (late[i] + work[i] < late[first] + work[first])
				first = i;
		work[first] += (double)chunk[k].work;
	}
	free(late);
}

/* Add @work to the first of a heap of @n sums, the least, which sinks to its place. */
static void add_to_least(double *sum, size_t n, double work)
{
	double grown = sum[0] + work;
	size_t at = 0, below = 1;

	while (below < n) {
		if (below + 1 < n && sum[below + 1] < sum[below])
			below++;
		if (sum[below] >= grown)
			break;
		sum[at] = sum[below];
		at = below;
		below = 2 * at + 1;
	}
	sum[at] = grown;
}

double cpa_chunks_ticks(const struct cpa_chunk *chunk, size_t count, double rest, uint32_t threads)
{
	double *sum = XNEWVEC(double, threads), most = 0;
	uint32_t turn = 0;

	for (uint32_t i = 0; i < threads; i++)
		sum[i] = rest / threads;
	for (size_t i = 0; i < count; i++) {
		if (chunk[i].turn)
			sum[turn] += (double)chunk[i].work;
		else
			add_to_least(sum, threads, (double)chunk[i].work);
		turn = turn + 1 < threads ? turn + 1 : 0;
	}
	for (uint32_t i = 0; i < threads; i++)
		most = sum[i] > most ? sum[i] : most;
	free(sum);
	return most;
}

bool cpa_chunks_are_shares(const struct cpa_chunk *chunk, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < i; k++)
			if (chunk[i].stint == chunk[k].stint)
				return false;
	return true;
}
