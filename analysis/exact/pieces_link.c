/* SPDX-License-Identifier: MIT */
/* analysis/exact/pieces_link.c - dependencies between pieces, by the names of what was released */
#include <stdlib.h>
#include <string.h>

#include "analysis/exact/pieces_state.h"

static bool same_round(const struct cpa_piece_reading *in, uint32_t a, uint32_t b)
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

static void add_pair(const struct cpa_piece_reading *in, struct pairs *pairs, uint32_t from,
		     uint32_t to)
{
	if (from == to || !same_round(in, from, to))
		return;
	pairs->pair = pieces_grown(pairs->pair, pairs->count, &pairs->room, sizeof(*pairs->pair));
	pairs->pair[pairs->count++] = (struct pair){ from, to };
}

/* The piece that ended with the release @name; of a merge its joint, if that is made. */
static uint32_t piece_named(const struct cpa_piece_reading *in, cpa_event_name name)
{
	uint64_t piece = cpa_map_get(&in->piece_of, name), merge;

	if (piece)
		return (uint32_t)piece - 1;
	merge = cpa_map_get(&in->merge_of, name);
	return merge ? in->merge[merge - 1].joint : CPA_NO_PIECE;
}

/* The merge @name without a joint; NULL: it has one, or is none. */
static struct merge *unmade(const struct cpa_piece_reading *in, cpa_event_name name)
{
	uint64_t merge = cpa_map_get(&in->merge_of, name);

	return !merge || cpa_map_get(&in->piece_of, name) || in->merge[merge - 1].made ?
		       NULL :
		       &in->merge[merge - 1];
}

static bool is_later(const struct cpa_piece_reading *in, uint32_t a, uint32_t b)
{
	const struct cpa_stint *x = &in->stints->stint[in->out->piece[a].stint];
	const struct cpa_stint *y = &in->stints->stint[in->out->piece[b].stint];

	return x->team == y->team ? x->round > y->round : x->arrived > y->arrived;
}

/* A joint depends on what was merged, of the later round: that of an earlier one is over then. */
static void make_joint(struct cpa_piece_reading *in, struct pairs *pairs, struct merge *m)
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
	out->piece = pieces_grown(out->piece, out->pieces, &in->room, sizeof(*out->piece));
	out->piece[out->pieces] = (struct cpa_piece){ .before = CPA_NO_PIECE,
						      .begun_by = (uint32_t)out->pieces,
						      .parent = CPA_NO_PIECE,
						      .stint = out->piece[one].stint,
						      .joint = true };
	m->joint = (uint32_t)out->pieces++;
	add_pair(in, pairs, one, m->joint);
	if (other != CPA_NO_PIECE)
		add_pair(in, pairs, other, m->joint);
}

/* The piece that ended with the release @name, or the joint of those that were merged into it. */
static uint32_t find_piece(struct cpa_piece_reading *in, struct pairs *pairs, cpa_event_name name)
{
	size_t room = 0, used = 1;
	cpa_event_name *stack = pieces_grown(NULL, 0, &room, sizeof(*stack));

	stack[0] = name;
	while (used) {
		struct merge *m = unmade(in, stack[used - 1]);
		bool deeper = false;

		/* In a damaged journal merges may be a circle. */
		for (unsigned i = 0; m && i < 2 && used <= in->merges; i++) {
			if (!unmade(in, m->cause[i]))
				continue;
			stack = pieces_grown(stack, used, &room, sizeof(*stack));
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

int cpa_pieces_by_begin(const void *a, const void *b, void *pieces)
{
	const struct cpa_pieces *all = pieces;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t s = all->piece[x].begun, t = all->piece[y].begun;

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
	for (size_t i = 0; i < out->pieces; i++)
		if (out->piece[i].nexts > 1)
			qsort_r(&out->later[out->piece[i].next], out->piece[i].nexts,
				sizeof(*out->later), cpa_pieces_by_begin, out);
}

/* Note which task made the one that @link begins: the creation was merged last, if at all. */
static void find_parent(struct cpa_piece_reading *in, const struct link *link)
{
	struct cpa_piece *piece = &in->out->piece[link->piece];
	uint64_t merge = cpa_map_get(&in->merge_of, link->on);
	const cpa_event_name names[] = { link->on, merge ? in->merge[merge - 1].cause[0] : 0,
					 merge ? in->merge[merge - 1].cause[1] : 0 };

	for (size_t i = 0; piece->begins && i < ARRAY_SIZE(names); i++) {
		uint64_t maker = cpa_map_get(&in->piece_of, names[i]);

		if (maker && in->out->piece[maker - 1].makes &&
		    same_round(in, (uint32_t)maker - 1, link->piece))
			piece->parent = in->out->piece[maker - 1].begun_by;
	}
}

#define LOOKS 256u /* at tasks that a wait is for: then they are all children */

/*
 * Whether the wait that ends with @link is also for tasks that children made, as that of a
 * taskgroup is.
 */
static bool is_deep(const struct cpa_piece_reading *in, const struct link *link)
{
	cpa_event_name stack[LOOKS];
	unsigned used = 0;

	stack[used++] = link->on;
	for (unsigned looks = 0; used && looks < LOOKS; looks++) {
		cpa_event_name name = stack[--used];
		uint64_t ended = cpa_map_get(&in->piece_of, name);
		uint64_t merge = ended ? 0 : cpa_map_get(&in->merge_of, name);
		const struct cpa_piece *task =
			ended ? &in->out->piece[in->out->piece[ended - 1].begun_by] : NULL;

		if (task && task->task && task->parent != in->out->piece[link->piece].begun_by)
			return true;
		for (unsigned i = 0; merge && i < 2 && used < LOOKS; i++)
			stack[used++] = in->merge[merge - 1].cause[i];
	}
	return false;
}

/*
 * Whether libomp runs the tasks: in any wait a thread then runs what descendants of the waiting
 * task made.
 */
static bool has_libomp(const struct cpa_piece_reading *in)
{
	struct cpa_module row;

	for (uint32_t i = 1; i <= in->file->dump->rows[CPA_TABLE_MODULES]; i++) {
		char path[sizeof(row.path) + 1] = "";

		if (!cpa_dump_row(in->file->dump, CPA_TABLE_MODULES, i, &row, sizeof(row)))
			continue;
		memcpy(path, row.path, sizeof(row.path));
		if (strstr(path, "/libomp.so") || strstr(path, "/libomp-") ||
		    strstr(path, "/libiomp5.so"))
			return true;
	}
	return false;
}

void cpa_pieces_link(struct cpa_piece_reading *in)
{
	bool libomp = has_libomp(in);
	struct cpa_pieces *out = in->out;
	struct pairs pairs = { 0 };

	for (size_t i = 0; i < out->pieces; i++)
		if (out->piece[i].before != CPA_NO_PIECE)
			add_pair(in, &pairs, out->piece[i].before, (uint32_t)i);
	for (size_t i = 0; i < in->links; i++) {
		uint32_t on = find_piece(in, &pairs, in->link[i].on);

		find_parent(in, &in->link[i]);
		if (on != CPA_NO_PIECE)
			add_pair(in, &pairs, on, in->link[i].piece);
	}
	for (size_t i = 0; i < in->inlines; i++) {
		const struct inlined *at_once = &in->inlined[i];

		if (at_once->on == CPA_NO_PIECE || in->put_off[at_once->class])
			continue;
		add_pair(in, &pairs, at_once->on, at_once->piece);
		out->piece[at_once->piece].at_once = true;
	}
	for (size_t i = 0; i < in->links; i++)
		if (!out->piece[in->link[i].piece].begins)
			out->piece[in->link[i].piece].deep |= libomp || is_deep(in, &in->link[i]);
	index_pairs(out, &pairs);
	free(pairs.pair);
}
