/* SPDX-License-Identifier: MIT */
/* analysis/exact/pieces.c - read the pieces of tasks from a journal */
#include "analysis/exact/pieces.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exact/pieces_state.h"

static struct cpa_node node_of(const struct cpa_piece_reading *in, uint32_t row)
{
	return row < in->nodes ? in->node[row] : (struct cpa_node){ 0 };
}

static struct frame *top(const struct cpa_piece_reading *in)
{
	return &in->frame[in->frames - 1];
}

static void push(struct cpa_piece_reading *in, struct frame frame)
{
	in->frame = pieces_grown(in->frame, in->frames, &in->frame_room, sizeof(*in->frame));
	in->frame[in->frames++] = frame;
}

/* A piece of the thread's task begins, behind @before. */
static uint32_t add_piece(struct cpa_piece_reading *in, uint32_t before)
{
	struct cpa_pieces *out = in->out;
	const struct frame *f = top(in);

	out->piece = pieces_grown(out->piece, out->pieces, &in->room, sizeof(*out->piece));
	out->piece[out->pieces] = (struct cpa_piece){ .begun = in->clock,
						      .before = before,
						      .begun_by = (uint32_t)out->pieces,
						      .parent = CPA_NO_PIECE,
						      .stint = in->stint,
						      .task = f->task,
						      .begins = f->task && before == CPA_NO_PIECE };
	if (before != CPA_NO_PIECE)
		out->piece[out->pieces].begun_by = out->piece[before].begun_by;
	return (uint32_t)out->pieces++;
}

static void add_causes(struct cpa_piece_reading *in, uint32_t piece)
{
	for (unsigned i = 0; i < in->causes; i++) {
		in->link = pieces_grown(in->link, in->links, &in->link_room, sizeof(*in->link));
		in->link[in->links++] = (struct link){ piece, in->cause[i] };
	}
}

static void add_inlined(struct cpa_piece_reading *in, uint32_t piece)
{
	in->inlined =
		pieces_grown(in->inlined, in->inlines, &in->inline_room, sizeof(*in->inlined));
	in->inlined[in->inlines++] = (struct inlined){ piece, in->done, in->ended };
}

/* Whether the thread that starts a task made it by its last event, and goes on behind it. */
static void start_task(struct cpa_piece_reading *in, uint32_t class)
{
	const struct frame *f = top(in);
	bool elsewhere = in->causes != 1 ||
			 cpa_event_thread(in->cause[0]) != in->file->strand[in->strand].id;

	if ((f->waits || elsewhere) && class < in->file->dump->rows[CPA_TABLE_COMPONENTS] + 1)
		in->put_off[class] = true;
	push(in, (struct frame){ .piece = CPA_NO_PIECE, .class = class, .task = true });
	top(in)->piece = add_piece(in, CPA_NO_PIECE);
	add_causes(in, top(in)->piece);
}

/* What the thread does outside all tasks is a piece of the stint that the activity is of. */
static void find_stint(struct cpa_piece_reading *in, uint32_t number)
{
	const struct cpa_stints_at *at = cpa_stints_of(&in->finder, in->strand, number);
	uint32_t stint = at->open ? (uint32_t)at->stint[at->open - 1] : CPA_NO_PIECE;

	in->out->nested |= at->open > 1;
	if (in->frames == 1 && stint != in->stint)
		in->frame[0] = (struct frame){ .piece = CPA_NO_PIECE };
	in->stint = stint;
}

/* An activity begins at an event of kind @from. */
static void begin_activity(struct cpa_piece_reading *in, struct cpa_node from, uint32_t number)
{
	struct frame *f;
	uint32_t before;

	find_stint(in, number);
	if (in->stint == CPA_NO_PIECE)
		return;
	if (from.kind == CPA_EV_TASK_START) {
		start_task(in, from.class);
		return;
	}
	f = top(in);
	before = f->piece;
	if (before == CPA_NO_PIECE) {
		f->piece = add_piece(in, CPA_NO_PIECE);
	} else if (from.kind == CPA_EV_TASK_WAIT || (from.kind == CPA_EV_TASK_END && f->waits)) {
		f->piece = add_piece(in, before);
		add_causes(in, f->piece);
	} else if (f->split) {
		f->piece = add_piece(in, before);
		if (in->ended)
			add_inlined(in, f->piece);
	}
	f->split = f->waits = false;
}

static void end_activity(struct cpa_piece_reading *in, const struct cpa_entry *e)
{
	struct cpa_node to = node_of(in, e->node);

	in->ended = 0;
	in->done = top(in)->piece;
	switch (to.kind) {
	case CPA_EV_TASK:
		if (in->done != CPA_NO_PIECE)
			in->out->piece[in->done].makes = true;
		top(in)->split = true;
		break;
	case CPA_EV_TASK_END:
		if (in->frames == 1) {
			in->out->odd = true;
			break;
		}
		in->ended = top(in)->class;
		in->frames--;
		top(in)->split = true;
		break;
	case CPA_EV_TEAM_ARRIVE:
	case CPA_EV_PART_END:
		/*
		 * No task is at a barrier: one was interrupted, and its thread went on without it.
		 */
		in->out->odd |= in->frames > 1;
		top(in)->waits = true;
		break;
	case CPA_EV_TASK_WAIT:
		top(in)->waits = true;
		break;
	default:
		break;
	}
}

static void read_event(struct cpa_piece_reading *in, const struct cpa_entry *e)
{
	/*
	 * A wait that nobody explains becomes an event of external time: part of the last
	 * operation.
	 */
	bool more = e->clock == in->clock && !e->process && e->external + e->runqueue;

	if (!more && e->edge < in->file->edges)
		begin_activity(in, node_of(in, in->file->edge[e->edge].from), e->number);
	if (in->stint != CPA_NO_PIECE && top(in)->piece != CPA_NO_PIECE)
		in->out->piece[top(in)->piece].work += cpa_entry_weight(e);
	if (more)
		return;
	end_activity(in, e);
	in->causes = 0;
}

static void read_release(struct cpa_piece_reading *in, const struct cpa_entry *e)
{
	if (in->done != CPA_NO_PIECE)
		cpa_map_set(&in->piece_of, cpa_event_of(in->file->strand[in->strand].id, e->number),
			    (uint64_t)in->done + 1);
}

static void read_merge(struct cpa_piece_reading *in, const struct cpa_entry *e)
{
	in->merge = pieces_grown(in->merge, in->merges, &in->merge_room, sizeof(*in->merge));
	in->merge[in->merges++] =
		(struct merge){ .cause = { e->cause[0], e->cause[1] }, .joint = CPA_NO_PIECE };
	cpa_map_set(&in->merge_of, cpa_event_of(in->file->strand[in->strand].id, e->number),
		    in->merges);
}

static void read_strand(struct cpa_piece_reading *in, size_t which)
{
	const struct cpa_strand *s = &in->file->strand[which];
	struct cpa_cursor *c = xmalloc(sizeof(*c));
	struct cpa_entry e;

	in->strand = (uint32_t)which;
	in->frames = 0;
	push(in, (struct frame){ .piece = CPA_NO_PIECE });
	in->stint = in->done = CPA_NO_PIECE;
	in->causes = 0;
	in->ended = 0;
	in->clock = s->begun;
	cpa_cursor_init(c, in->file, s, 0, s->leaves);
	while (cpa_cursor_next(c, &e)) {
		if (e.kind == CPA_ENTRY_MERGE) {
			read_merge(in, &e);
			continue;
		}
		if (e.kind == CPA_ENTRY_EVENT) {
			read_event(in, &e);
		} else if (e.kind == CPA_ENTRY_ACQUIRE) {
			in->causes = e.causes;
			memcpy(in->cause, e.cause, sizeof(in->cause));
		} else if (e.kind == CPA_ENTRY_RELEASE) {
			read_release(in, &e);
		}
		in->clock = e.clock;
	}
	cpa_cursor_fini(c);
	free(c);
}

static int compare_pieces(const void *a, const void *b, void *reading)
{
	const struct cpa_piece_reading *in = reading;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct cpa_stint *s = &in->stints->stint[in->out->piece[x].stint];
	const struct cpa_stint *t = &in->stints->stint[in->out->piece[y].stint];

	if (s->team != t->team)
		return s->team < t->team ? -1 : 1;
	if (s->round != t->round)
		return s->round < t->round ? -1 : 1;
	return cpa_pieces_by_begin(a, b, in->out);
}

static void sort_pieces(struct cpa_piece_reading *in)
{
	struct cpa_pieces *out = in->out;

	out->order = XNEWVEC(uint32_t, out->pieces + 1);
	for (size_t i = 0; i < out->pieces; i++)
		out->order[i] = (uint32_t)i;
	qsort_r(out->order, out->pieces, sizeof(*out->order), compare_pieces, in);
}

/* The pieces of the round of @stint, from *@at in the order on. */
static void take_pieces(const struct cpa_piece_reading *in, struct cpa_round *round, size_t *at)
{
	struct cpa_pieces *out = in->out;

	round->first = *at;
	for (; *at < out->pieces; ++*at) {
		const struct cpa_piece *piece = &out->piece[out->order[*at]];
		const struct cpa_stint *s = &in->stints->stint[piece->stint];

		if (s->team != round->stint->team || s->round != round->stint->round)
			break;
		round->tasks += piece->begins;
		out->unknown |= piece->at_once && round->threads == 1;
		out->index[out->order[*at]] = (uint32_t)(*at - round->first);
	}
	round->pieces = *at - round->first;
}

static void find_rounds(struct cpa_piece_reading *in)
{
	struct cpa_pieces *out = in->out;
	const struct cpa_stint **order = cpa_stints_by_round(in->stints);
	size_t at = 0;

	out->index = XCNEWVEC(uint32_t, out->pieces + 1);
	out->round = XCNEWVEC(struct cpa_round, in->stints->stints + 1);
	for (size_t i = 0, n; i < in->stints->stints; i += n) {
		struct cpa_round *round = &out->round[out->rounds++];

		n = cpa_stint_round(&order[i], in->stints->stints - i);
		round->stint = order[i];
		round->threads = (uint32_t)n;
		for (size_t k = 0; k < n; k++) {
			round->work += order[i + k]->work;
			if (order[i + k]->work > round->busiest)
				round->busiest = order[i + k]->work;
		}
		take_pieces(in, round, &at);
	}
	free(order);
}

static void read_nodes(struct cpa_piece_reading *in)
{
	in->nodes = in->file->dump->rows[CPA_TABLE_NODES] + 1;
	in->node = xcalloc(in->nodes, sizeof(*in->node));
	for (uint32_t i = 1; i < in->nodes; i++)
		if (!cpa_dump_row(in->file->dump, CPA_TABLE_NODES, i, &in->node[i],
				  sizeof(*in->node)))
			in->node[i] = (struct cpa_node){ 0 };
}

struct cpa_pieces *cpa_pieces_read(const struct cpa_journal_file *file,
				   const struct cpa_stints *stints)
{
	struct cpa_piece_reading in = { .file = file,
					.stints = stints,
					.out = XCNEW(struct cpa_pieces) };

	in.put_off = XCNEWVEC(bool, file->dump->rows[CPA_TABLE_COMPONENTS] + 1);
	read_nodes(&in);
	cpa_stint_finder_init(&in.finder, stints, file->strands);
	for (size_t i = 0; i < file->strands; i++)
		read_strand(&in, i);
	cpa_stint_finder_fini(&in.finder);
	cpa_pieces_link(&in);
	sort_pieces(&in);
	find_rounds(&in);
	cpa_map_fini(&in.piece_of);
	cpa_map_fini(&in.merge_of);
	free(in.node);
	free(in.put_off);
	free(in.frame);
	free(in.link);
	free(in.inlined);
	free(in.merge);
	return in.out;
}

void cpa_pieces_free(struct cpa_pieces *pieces)
{
	free(pieces->piece);
	free(pieces->later);
	free(pieces->order);
	free(pieces->index);
	free(pieces->round);
	free(pieces);
}
