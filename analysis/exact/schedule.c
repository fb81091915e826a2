/* SPDX-License-Identifier: MIT */
/* analysis/exact/schedule.c - what a round of an OpenMP team takes with so many threads */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/exact/pieces.h"

#define ALONE 0.95 /* of the work of a round: then it is one thread's, and nothing to divide */

/* Who has a thread. A piece ends at `at`; of those that end then, the first that began does first. */
struct running {
	double at;
	uint32_t piece;
};

struct schedule {
	const struct cpa_pieces *all;
	uint32_t *left; /* by piece of the round, in its order: pieces that it still waits for */
	struct running *heap;
	uint32_t *ready; /* a queue: each piece is in it at most once */
	uint32_t *joint; /* those that have ended, and have not been looked at */
	size_t heaped, first, last, joints, free, done;
	double now;
};

static bool is_before(const struct running *a, const struct running *b)
{
	return a->at != b->at ? a->at < b->at : a->piece < b->piece;
}

static void start(struct schedule *s, uint32_t piece)
{
	struct running r = { s->now + (double)s->all->piece[piece].work, piece };
	size_t i = s->heaped++;

	for (; i && is_before(&r, &s->heap[(i - 1) / 2]); i = (i - 1) / 2)
		s->heap[i] = s->heap[(i - 1) / 2];
	s->heap[i] = r;
	s->free--;
}

static uint32_t end_next(struct schedule *s)
{
	struct running top = s->heap[0], last = s->heap[--s->heaped];
	size_t i = 0;

	for (;;) {
		size_t child = 2 * i + 1;

		if (child + 1 < s->heaped && is_before(&s->heap[child + 1], &s->heap[child]))
			child++;
		if (child >= s->heaped || !is_before(&s->heap[child], &last))
			break;
		s->heap[i] = s->heap[child];
		i = child;
	}
	s->heap[i] = last;
	s->now = top.at;
	s->free++;
	return top.piece;
}

/* Nothing is left that @piece waits for, of which @last was the last. */
static void make_ready(struct schedule *s, uint32_t piece, uint32_t last)
{
	const struct cpa_piece *p = &s->all->piece[piece];

	if (p->joint)
		s->joint[s->joints++] = piece;
	else if (p->before != CPA_NO_PIECE && p->before == last)
		start(s, piece); /* the task goes on in the same thread */
	else
		s->ready[s->last++] = piece;
}

/* @piece has ended, and with it joints. */
static void release(struct schedule *s, uint32_t piece)
{
	for (;;) {
		const struct cpa_piece *p = &s->all->piece[piece];

		for (uint32_t i = 0; i < p->nexts; i++) {
			uint32_t later = s->all->later[p->next + i];

			if (!--s->left[s->all->index[later]])
				make_ready(s, later, piece);
		}
		s->done++;
		if (!s->joints)
			return;
		piece = s->joint[--s->joints];
	}
}

static void run(struct schedule *s)
{
	if (s->joints)
		release(s, s->joint[--s->joints]);
	do {
		while (s->free && s->first < s->last)
			start(s, s->ready[s->first++]);
		if (s->heaped)
			release(s, end_next(s));
	} while (s->heaped || s->first < s->last);
}

/* List scheduling of the round's pieces on @threads. */
static double schedule(const struct cpa_pieces *all, const struct cpa_round *round, size_t threads)
{
	size_t n = round->pieces;
	struct schedule s = { .all = all, .free = threads };
	double ticks;

	s.left = XNEWVEC(uint32_t, n + 1);
	s.heap = XNEWVEC(struct running, n + 1);
	s.ready = XNEWVEC(uint32_t, n + 1);
	s.joint = XNEWVEC(uint32_t, n + 1);
	for (size_t i = 0; i < n; i++) {
		uint32_t piece = all->order[round->first + i];

		s.left[i] = all->piece[piece].waits_for;
		if (!s.left[i])
			make_ready(&s, piece, CPA_NO_PIECE);
	}
	run(&s);
	/* A circle: the journal is damaged. */
	ticks = s.done < n ? (double)round->work : s.now;
	free(s.left);
	free(s.heap);
	free(s.ready);
	free(s.joint);
	return ticks;
}

double cpa_round_ticks(const struct cpa_pieces *pieces, const struct cpa_round *round,
		       uint32_t threads)
{
	double work = (double)round->work, busiest = (double)round->busiest, uneven;

	if (round->tasks)
		return schedule(pieces, round, threads ? threads : round->pieces + 1);
	if (threads == 1)
		return work;
	if (round->threads > 1 && busiest >= ALONE * work)
		return busiest;
	if (!threads)
		return 0;
	uneven = work > 0 ? busiest * round->threads / work : 1;
	return work * uneven / threads < work ? work * uneven / threads : work;
}
