/* SPDX-License-Identifier: MIT */
/* analysis/exact/pieces.c - read the pieces of tasks from a journal */
#include "analysis/exact/pieces.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/values.h"

/* A task that a thread runs, or what it does outside all tasks. */
struct frame {
	uint32_t piece; /* CPA_NO_PIECE: none yet */
	uint32_t class; /* component row of the task's kind */
	bool task;
	bool split; /* its next activity begins a piece */
	bool waits; /* its last event began a wait */
};

/* A dependency, of which the release is known by name. */
struct link {
	uint32_t piece;
	cpa_event_name on;
};

/* The maker went on behind a task that it ran at once. */
struct inlined {
	uint32_t piece, on, class;
};

struct merge {
	cpa_event_name cause[2];
	uint32_t joint; /* CPA_NO_PIECE: not made, or of no pieces */
	bool made;
};

struct reading {
	const struct cpa_journal_file *file;
	const struct cpa_stints *stints;
	struct cpa_stint_finder finder;
	struct cpa_pieces *out;
	size_t room, link_room, links, inlines, inline_room, merges, merge_room;
	struct link *link;
	struct inlined *inlined;
	struct merge *merge;
	struct cpa_map piece_of; /* by name of a release: piece + 1 */
	struct cpa_map merge_of; /* by name of a merge: its number + 1 */
	struct cpa_node *node;	 /* by row */
	uint32_t nodes;
	bool *put_off; /* by component row: tasks of the kind were run by others, or later */
	/* Of the strand that is read: */
	uint32_t strand;
	struct frame *frame; /* [0]: no task */
	size_t frames, frame_room;
	uint32_t stint; /* of the piece outside all tasks */
	cpa_event_name cause[2];
	unsigned causes;
	uint32_t done;	/* piece of the last event */
	uint32_t ended; /* class of the task that the last event ended; 0: none */
	uint64_t clock;
};

static void *grown(void *p, size_t used, size_t *room, size_t size)
{
	if (used < *room)
		return p;
	*room = *room ? 2 * *room : 256;
	return xrealloc(p, *room * size);
}

static struct cpa_node node_of(const struct reading *in, uint32_t row)
{
	return row < in->nodes ? in->node[row] : (struct cpa_node){ 0 };
}

static struct frame *top(const struct reading *in)
{
	return &in->frame[in->frames - 1];
}

static void push(struct reading *in, struct frame frame)
{
	in->frame = grown(in->frame, in->frames, &in->frame_room, sizeof(*in->frame));
	in->frame[in->frames++] = frame;
}

/* A piece of the thread's task begins, behind @before. */
static uint32_t add_piece(struct reading *in, uint32_t before)
{
	struct cpa_pieces *out = in->out;
	const struct frame *f = top(in);

	out->piece = grown(out->piece, out->pieces, &in->room, sizeof(*out->piece));
	out->piece[out->pieces] = (struct cpa_piece){ .begun = in->clock,
						      .before = before,
						      .stint = in->stint,
						      .task = f->task,
						      .begins = f->task && before == CPA_NO_PIECE };
	return (uint32_t)out->pieces++;
}

static void add_causes(struct reading *in, uint32_t piece)
{
	for (unsigned i = 0; i < in->causes; i++) {
		in->link = grown(in->link, in->links, &in->link_room, sizeof(*in->link));
		in->link[in->links++] = (struct link){ piece, in->cause[i] };
	}
}

static void add_inlined(struct reading *in, uint32_t piece)
{
	in->inlined = grown(in->inlined, in->inlines, &in->inline_room, sizeof(*in->inlined));
	in->inlined[in->inlines++] = (struct inlined){ piece, in->done, in->ended };
}

/* Whether the thread that starts a task made it by its last event, and goes on behind it. */
static void start_task(struct reading *in, uint32_t class)
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
static void find_stint(struct reading *in, uint32_t number)
{
	const struct cpa_stints_at *at = cpa_stints_of(&in->finder, in->strand, number);
	uint32_t stint = at->open ? (uint32_t)at->stint[at->open - 1] : CPA_NO_PIECE;

	in->out->nested |= at->open > 1;
	if (in->frames == 1 && stint != in->stint)
		in->frame[0] = (struct frame){ .piece = CPA_NO_PIECE };
	in->stint = stint;
}

/* An activity begins at an event of kind @from. */
static void begin_activity(struct reading *in, struct cpa_node from, uint32_t number)
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

static void end_activity(struct reading *in, const struct cpa_entry *e)
{
	struct cpa_node to = node_of(in, e->node);

	in->ended = 0;
	in->done = top(in)->piece;
	switch (to.kind) {
	case CPA_EV_TASK:
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
	case CPA_EV_TASK_WAIT:
	case CPA_EV_TEAM_ARRIVE:
	case CPA_EV_PART_END:
		top(in)->waits = true;
		break;
	default:
		break;
	}
}

static void read_event(struct reading *in, const struct cpa_entry *e)
{
	/* A wait that nobody explains becomes an event of external time: part of the last operation. */
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

static void read_release(struct reading *in, const struct cpa_entry *e)
{
	if (in->done != CPA_NO_PIECE)
		cpa_map_set(&in->piece_of, cpa_event_of(in->file->strand[in->strand].id, e->number),
			    (uint64_t)in->done + 1);
}

static void read_merge(struct reading *in, const struct cpa_entry *e)
{
	in->merge = grown(in->merge, in->merges, &in->merge_room, sizeof(*in->merge));
	in->merge[in->merges++] =
		(struct merge){ .cause = { e->cause[0], e->cause[1] }, .joint = CPA_NO_PIECE };
	cpa_map_set(&in->merge_of, cpa_event_of(in->file->strand[in->strand].id, e->number),
		    in->merges);
}

static void read_strand(struct reading *in, size_t which)
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

static bool same_round(const struct reading *in, uint32_t a, uint32_t b)
{
	const struct cpa_stint *x = &in->stints->stint[in->out->piece[a].stint];
	const struct cpa_stint *y = &in->stints->stint[in->out->piece[b].stint];

	return x->team == y->team && x->round == y->round;
}

/* Dependencies between pieces of a round, collected before they are sorted. */
struct pairs {
	struct pair {
		uint32_t from, to;
	} * pair;
	size_t count, room;
};

static void add_pair(const struct reading *in, struct pairs *pairs, uint32_t from, uint32_t to)
{
	if (from == to || !same_round(in, from, to))
		return;
	pairs->pair = grown(pairs->pair, pairs->count, &pairs->room, sizeof(*pairs->pair));
	pairs->pair[pairs->count++] = (struct pair){ from, to };
}

/* The piece that ended with the release @name; of a merge its joint, if that is made. */
static uint32_t piece_named(const struct reading *in, cpa_event_name name)
{
	uint64_t piece = cpa_map_get(&in->piece_of, name), merge;

	if (piece)
		return (uint32_t)piece - 1;
	merge = cpa_map_get(&in->merge_of, name);
	return merge ? in->merge[merge - 1].joint : CPA_NO_PIECE;
}

/* The merge @name without a joint; NULL: it has one, or is none. */
static struct merge *unmade(const struct reading *in, cpa_event_name name)
{
	uint64_t merge = cpa_map_get(&in->merge_of, name);

	return !merge || cpa_map_get(&in->piece_of, name) || in->merge[merge - 1].made ?
		       NULL :
		       &in->merge[merge - 1];
}

static bool is_later(const struct reading *in, uint32_t a, uint32_t b)
{
	const struct cpa_stint *x = &in->stints->stint[in->out->piece[a].stint];
	const struct cpa_stint *y = &in->stints->stint[in->out->piece[b].stint];

	return x->team == y->team ? x->round > y->round : x->arrived > y->arrived;
}

/* A joint depends on what was merged, of the later round: that of an earlier one is over then. */
static void make_joint(struct reading *in, struct pairs *pairs, struct merge *m)
{
	uint32_t one = piece_named(in, m->cause[0]), other = piece_named(in, m->cause[1]);
	struct cpa_pieces *out = in->out;

	m->made = true;
	if (one == CPA_NO_PIECE || (other != CPA_NO_PIECE && is_later(in, other, one))) {
		uint32_t swapped = one;

		one = other;
		other = swapped;
	}
	if (one == CPA_NO_PIECE)
		return;
	out->piece = grown(out->piece, out->pieces, &in->room, sizeof(*out->piece));
	out->piece[out->pieces] = (struct cpa_piece){ .before = CPA_NO_PIECE,
						      .stint = out->piece[one].stint,
						      .joint = true };
	m->joint = (uint32_t)out->pieces++;
	add_pair(in, pairs, one, m->joint);
	if (other != CPA_NO_PIECE)
		add_pair(in, pairs, other, m->joint);
}

/* The piece that ended with the release @name, or the joint of those that were merged into it. */
static uint32_t find_piece(struct reading *in, struct pairs *pairs, cpa_event_name name)
{
	size_t room = 0, used = 1;
	cpa_event_name *stack = grown(NULL, 0, &room, sizeof(*stack));

	stack[0] = name;
	while (used) {
		struct merge *m = unmade(in, stack[used - 1]);
		bool deeper = false;

		/* In a damaged journal merges may be a circle. */
		for (unsigned i = 0; m && i < 2 && used <= in->merges; i++) {
			if (!unmade(in, m->cause[i]))
				continue;
			stack = grown(stack, used, &room, sizeof(*stack));
			stack[used++] = m->cause[i];
			deeper = true;
			break;
		}
		if (deeper)
			continue;
		if (m)
			make_joint(in, pairs, m);
		used--;
	}
	free(stack);
	return piece_named(in, name);
}

static const struct cpa_stints *sorted_stints; /* for qsort() */
static const struct cpa_piece *sorted_pieces;

static int compare_begins(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t s = sorted_pieces[x].begun, t = sorted_pieces[y].begun;

	return s != t ? (s < t ? -1 : 1) : x < y ? -1 : x > y;
}

/* A list of the pieces that depend on each one. */
static void index_pairs(struct cpa_pieces *out, const struct pairs *pairs)
{
	uint32_t sum = 0;

	out->later = XNEWVEC(uint32_t, pairs->count + 1);
	for (size_t i = 0; i < pairs->count; i++)
		out->piece[pairs->pair[i].from].nexts++;
	for (size_t i = 0; i < out->pieces; i++) {
		out->piece[i].next = sum;
		sum += out->piece[i].nexts;
		out->piece[i].nexts = 0;
	}
	for (size_t i = 0; i < pairs->count; i++) {
		struct cpa_piece *from = &out->piece[pairs->pair[i].from];

		out->later[from->next + from->nexts++] = pairs->pair[i].to;
		out->piece[pairs->pair[i].to].waits_for++;
	}
	sorted_pieces = out->piece;
	for (size_t i = 0; i < out->pieces; i++)
		if (out->piece[i].nexts > 1)
			qsort(&out->later[out->piece[i].next], out->piece[i].nexts,
			      sizeof(*out->later), compare_begins);
}

static void link_pieces(struct reading *in)
{
	struct cpa_pieces *out = in->out;
	struct pairs pairs = { 0 };

	for (size_t i = 0; i < out->pieces; i++)
		if (out->piece[i].before != CPA_NO_PIECE)
			add_pair(in, &pairs, out->piece[i].before, (uint32_t)i);
	for (size_t i = 0; i < in->links; i++) {
		uint32_t on = find_piece(in, &pairs, in->link[i].on);

		if (on != CPA_NO_PIECE)
			add_pair(in, &pairs, on, in->link[i].piece);
	}
	for (size_t i = 0; i < in->inlines; i++)
		if (in->inlined[i].on != CPA_NO_PIECE && !in->put_off[in->inlined[i].class])
			add_pair(in, &pairs, in->inlined[i].on, in->inlined[i].piece);
	index_pairs(out, &pairs);
	free(pairs.pair);
}

static int compare_pieces(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct cpa_stint *s = &sorted_stints->stint[sorted_pieces[x].stint];
	const struct cpa_stint *t = &sorted_stints->stint[sorted_pieces[y].stint];

	if (s->team != t->team)
		return s->team < t->team ? -1 : 1;
	if (s->round != t->round)
		return s->round < t->round ? -1 : 1;
	return compare_begins(a, b);
}

static void sort_pieces(struct reading *in)
{
	struct cpa_pieces *out = in->out;

	out->order = XNEWVEC(uint32_t, out->pieces + 1);
	for (size_t i = 0; i < out->pieces; i++)
		out->order[i] = (uint32_t)i;
	sorted_stints = in->stints;
	sorted_pieces = out->piece;
	qsort(out->order, out->pieces, sizeof(*out->order), compare_pieces);
}

/* The pieces of the round of @stint, from *@at in the order on. */
static void take_pieces(const struct reading *in, struct cpa_round *round, size_t *at)
{
	struct cpa_pieces *out = in->out;

	round->first = *at;
	for (; *at < out->pieces; ++*at) {
		const struct cpa_piece *piece = &out->piece[out->order[*at]];
		const struct cpa_stint *s = &in->stints->stint[piece->stint];

		if (s->team != round->stint->team || s->round != round->stint->round)
			break;
		round->tasks += piece->begins;
		out->index[out->order[*at]] = (uint32_t)(*at - round->first);
	}
	round->pieces = *at - round->first;
}

static void find_rounds(struct reading *in)
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

static void read_nodes(struct reading *in)
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
	struct reading in = { .file = file, .stints = stints, .out = XCNEW(struct cpa_pieces) };

	in.put_off = XCNEWVEC(bool, file->dump->rows[CPA_TABLE_COMPONENTS] + 1);
	read_nodes(&in);
	cpa_stint_finder_init(&in.finder, stints, file->strands);
	for (size_t i = 0; i < file->strands; i++)
		read_strand(&in, i);
	cpa_stint_finder_fini(&in.finder);
	link_pieces(&in);
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
