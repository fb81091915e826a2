/* SPDX-License-Identifier: MIT */
/* analysis/exact/schedule.c - what a round of an OpenMP team takes with so many threads */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/exact/pieces.h"

#define LOOKS 64   /* at ready tasks, and at those that made them */
#define ALONE 0.95 /* of the work of a round: then it is one thread's, and nothing to divide */

/* A thread. It works at one piece; those of tasks that wait in it are in a stack. */
struct worker {
	uint32_t piece;	  /* that it works at; CPA_NO_PIECE: none */
	uint32_t waiting; /* the piece behind the innermost wait; CPA_NO_PIECE: none */
	double ends;
};

/* Neighbours in the lists of pieces that can begin: of all, and of those with one parent. */
struct ready {
	uint32_t after[2], before[2];
};

enum { OF_ALL, OF_PARENT };

/* By piece of the round, in its order, unless it says otherwise. */
struct schedule {
	const struct cpa_pieces *all;
	uint32_t *left;	 /* pieces that it still waits for */
	uint32_t *below; /* of one that waits in a thread: the next one in the stack */
	struct ready *ready;
	uint32_t *first, *last; /* of the children of the task that it begins; [pieces]: of all */
	uint32_t *joint;	/* those that have ended, and have not been looked at */
	struct worker *worker;
	size_t pieces, workers, joints, done;
	double now;
};

static uint32_t at(const struct schedule *s, uint32_t piece)
{
	return s->all->index[piece];
}

/*
 * The place in first[] and last[] of a list that @piece is in; SIZE_MAX: it is in none of its
 * parent.
 */
static size_t list_of(const struct schedule *s, uint32_t piece, int which)
{
	uint32_t parent = s->all->piece[piece].parent;

	return which == OF_ALL ? s->pieces : parent == CPA_NO_PIECE ? SIZE_MAX : at(s, parent);
}

static void add_ready(struct schedule *s, uint32_t piece)
{
	for (int which = OF_ALL; which <= OF_PARENT; which++) {
		size_t list = list_of(s, piece, which);

		if (list == SIZE_MAX)
			continue;
		s->ready[at(s, piece)].after[which] = CPA_NO_PIECE;
		s->ready[at(s, piece)].before[which] = s->last[list];
		if (s->last[list] == CPA_NO_PIECE)
			s->first[list] = piece;
		else
			s->ready[at(s, s->last[list])].after[which] = piece;
		s->last[list] = piece;
	}
}

static void take_ready(struct schedule *s, uint32_t piece)
{
	const struct ready *r = &s->ready[at(s, piece)];

	for (int which = OF_ALL; which <= OF_PARENT; which++) {
		size_t list = list_of(s, piece, which);

		if (list == SIZE_MAX)
			continue;
		if (r->before[which] == CPA_NO_PIECE)
			s->first[list] = r->after[which];
		else
			s->ready[at(s, r->before[which])].after[which] = r->after[which];
		if (r->after[which] == CPA_NO_PIECE)
			s->last[list] = r->before[which];
		else
			s->ready[at(s, r->after[which])].before[which] = r->before[which];
	}
}

/* Nothing is left that @piece waits for. If its task has begun, its thread finds that out. */
static void make_ready(struct schedule *s, uint32_t piece)
{
	const struct cpa_piece *p = &s->all->piece[piece];

	if (p->joint)
		s->joint[s->joints++] = piece;
	else if (p->before == CPA_NO_PIECE)
		add_ready(s, piece);
}

/* @piece has ended, and with it joints. Return the next piece of its task; CPA_NO_PIECE: none. */
static uint32_t release(struct schedule *s, uint32_t piece)
{
	uint32_t next = CPA_NO_PIECE, ended = piece;

	for (;;) {
		const struct cpa_piece *p = &s->all->piece[piece];

		for (uint32_t i = 0; i < p->nexts; i++) {
			uint32_t later = s->all->later[p->next + i];

			if (s->all->piece[later].before == ended && piece == ended)
				next = later;
			if (!--s->left[at(s, later)])
				make_ready(s, later);
		}
		s->done++;
		if (!s->joints)
			return next;
		piece = s->joint[--s->joints];
	}
}

static void start(struct schedule *s, struct worker *w, uint32_t piece)
{
	w->piece = piece;
	w->ends = s->now + (double)s->all->piece[piece].work;
}

/*
 * A ready task that a descendant of @task made, among the first that are ready; CPA_NO_PIECE: none.
 */
static uint32_t find_descendant(const struct schedule *s, uint32_t task)
{
	uint32_t piece = s->first[s->pieces], above;

	for (unsigned i = 0; i < LOOKS && piece != CPA_NO_PIECE; i++) {
		above = s->all->piece[piece].parent;
		for (unsigned k = 0; k < LOOKS && above != CPA_NO_PIECE && above != task; k++)
			above = s->all->piece[above].parent;
		if (above == task)
			return piece;
		piece = s->ready[at(s, piece)].after[OF_ALL];
	}
	return CPA_NO_PIECE;
}

/*
 * A thread in a wait goes on behind it, or runs a child of the task that waits, or of its
 * descendants: with libgomp only if the wait is for them, as that of a taskgroup is.
 */
static void find_work(struct schedule *s, struct worker *w)
{
	uint32_t piece = w->waiting, task;

	if (piece == CPA_NO_PIECE) {
		piece = s->first[s->pieces];
	} else if (!s->left[at(s, piece)]) {
		w->waiting = s->below[at(s, piece)];
		start(s, w, piece);
		return;
	} else {
		bool deep = s->all->piece[piece].deep;

		task = s->all->piece[piece].begun_by;
		piece = s->first[at(s, task)];
		if (piece == CPA_NO_PIECE && deep)
			piece = find_descendant(s, task);
	}
	if (piece == CPA_NO_PIECE)
		return;
	take_ready(s, piece);
	start(s, w, piece);
}

/* The thread has done its piece. */
static void end_piece(struct schedule *s, struct worker *w)
{
	uint32_t next = release(s, w->piece);

	w->piece = CPA_NO_PIECE;
	if (next == CPA_NO_PIECE)
		return;
	s->below[at(s, next)] = w->waiting;
	w->waiting = next;
}

static struct worker *first_to_end(const struct schedule *s)
{
	struct worker *first = NULL;

	for (size_t i = 0; i < s->workers; i++) {
		struct worker *w = &s->worker[i];

		if (w->piece != CPA_NO_PIECE && (!first || w->ends < first->ends))
			first = w;
	}
	return first;
}

static void run(struct schedule *s)
{
	struct worker *w;

	if (s->joints)
		release(s, s->joint[--s->joints]);
	do {
		for (size_t i = 0; i < s->workers; i++)
			if (s->worker[i].piece == CPA_NO_PIECE)
				find_work(s, &s->worker[i]);
		w = first_to_end(s);
		/* All wait, for tasks that are no children of theirs. */
		if (!w && s->first[s->pieces] != CPA_NO_PIECE) {
			w = &s->worker[0];
			start(s, w, s->first[s->pieces]);
			take_ready(s, w->piece);
		}
		if (w) {
			s->now = w->ends;
			end_piece(s, w);
		}
	} while (w);
}

/* Let @threads, at least one, do the round's pieces. */
static double schedule(const struct cpa_pieces *all, const struct cpa_round *round, size_t threads)
{
	size_t n = round->pieces;
	struct schedule s = { .all = all, .pieces = n, .workers = threads };
	double ticks;

	s.left = XNEWVEC(uint32_t, n + 1);
	s.below = XNEWVEC(uint32_t, n + 1);
	s.ready = XNEWVEC(struct ready, n + 1);
	s.first = XNEWVEC(uint32_t, n + 1);
	s.last = XNEWVEC(uint32_t, n + 1);
	s.joint = XNEWVEC(uint32_t, n + 1);
	s.worker = XNEWVEC(struct worker, threads);
	for (size_t i = 0; i <= n; i++)
		s.first[i] = s.last[i] = CPA_NO_PIECE;
	for (size_t i = 0; i < threads; i++)
		s.worker[i] = (struct worker){ CPA_NO_PIECE, CPA_NO_PIECE, 0 };
	for (size_t i = 0; i < n; i++) {
		uint32_t piece = all->order[round->first + i];

		s.left[i] = all->piece[piece].waits_for;
		if (!s.left[i])
			make_ready(&s, piece);
	}
	run(&s);
	/* A circle: the journal is damaged. */
	ticks = s.done < n ? (double)round->work : s.now;
	free(s.left);
	free(s.below);
	free(s.ready);
	free(s.first);
	free(s.last);
	free(s.joint);
	free(s.worker);
	return ticks;
}

/* The longest chain of the round's pieces, in ticks. */
static double longest_chain(const struct cpa_pieces *all, const struct cpa_round *round)
{
	uint32_t *left = XNEWVEC(uint32_t, round->pieces + 1), *stack;
	double *begin = XCNEWVEC(double, round->pieces + 1), most = 0;
	size_t used = 0, done = 0;

	stack = XNEWVEC(uint32_t, round->pieces + 1);
	for (size_t i = 0; i < round->pieces; i++) {
		left[i] = all->piece[all->order[round->first + i]].waits_for;
		if (!left[i])
			stack[used++] = all->order[round->first + i];
	}
	for (; used; done++) {
		uint32_t piece = stack[--used];
		const struct cpa_piece *p = &all->piece[piece];
		double end = begin[all->index[piece]] + (double)p->work;

		most = end > most ? end : most;
		for (uint32_t i = 0; i < p->nexts; i++) {
			uint32_t later = all->later[p->next + i], at_later = all->index[later];

			if (end > begin[at_later])
				begin[at_later] = end;
			if (!--left[at_later])
				stack[used++] = later;
		}
	}
	free(left);
	free(begin);
	free(stack);
	return done < round->pieces ? (double)round->work : most;
}

double cpa_round_ticks(const struct cpa_pieces *pieces, const struct cpa_round *round,
		       uint32_t threads)
{
	double work = (double)round->work, busiest = (double)round->busiest, uneven;

	if (round->tasks)
		return threads ? schedule(pieces, round, threads) : longest_chain(pieces, round);
	if (threads == 1)
		return work;
	if (round->threads > 1 && busiest >= ALONE * work)
		return busiest;
	if (!threads)
		return 0;
	uneven = work > 0 ? busiest * round->threads / work : 1;
	return work * uneven / threads < work ? work * uneven / threads : work;
}
