/* SPDX-License-Identifier: MIT */
#include "shadow/arch/arch.h"
#include "shadow/graph/cut.h"

#include <string.h>

#include "shadow/graph/checkpoint.h"
#include "shadow/store/heap.h"
#include "shadow/store/table.h"
#include "shadow/store/unseen.h"

/* attempts to read a row; an event that changes it has been in progress for a period already */
#define TRIES 256

/* Source of a thread's state, and the values that prove it did not change meanwhile (C3). */
struct source {
	const struct cpa_thread *row;
	unsigned index;				 /* of the checkpoint in the row */
	const struct cpa_checkpoint *checkpoint; /* NULL: the row itself */
	uint64_t offset;			 /* offset of the checkpoint */
	uint64_t word;				 /* label of the checkpoint, or row->writing */
	const void *sums, *path, *retired, *total;
};

/*
 * Copy of a thread's state, with two expanded paths: the thread's own, and that of earlier threads
 * in the row.
 */
struct state {
	uint32_t slots, totals;
	struct cpa_sums sums;
	uint64_t bytes[2];
	struct cpa_path path[2];
	uint64_t *slack[2], *share[2], *total; /* [slots] each */
};

CPA_UNSEEN static uint64_t load(const void *word)
{
	/* Relaxed: steady() detects a mix of old and new words. */
	return __atomic_load_n((const uint64_t *)word, __ATOMIC_RELAXED);
}

static bool steady(const struct source *s)
{
	/* Earlier loads are not delayed beyond this point: x86 keeps loads in order. */
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!s->checkpoint)
		return __atomic_load_n(&s->row->writing, __ATOMIC_RELAXED) == s->word;
	return load(&s->row->checkpoint[s->index]) == s->offset &&
	       load(&s->checkpoint->label) == s->word;
}

CPA_UNSEEN static bool find_checkpoint(struct source *s, uint64_t boundary)
{
	for (s->index = 0; s->index < 2; s->index++) {
		const struct cpa_checkpoint *c;

		/* ACQUIRE: its label is set. Pairs with older() in checkpoint.c. */
		s->offset = __atomic_load_n(&s->row->checkpoint[s->index], __ATOMIC_ACQUIRE);
		if (!s->offset)
			continue;
		s->checkpoint = c = cpa_at(s->offset);
		/*
		 * ACQUIRE: a labelled checkpoint is complete. Pairs with set_label() in
		 * checkpoint.c.
		 */
		s->word = __atomic_load_n(&c->label, __ATOMIC_ACQUIRE);
		if (s->word < boundary || load(&c->from) >= boundary)
			continue;
		s->sums = &c->sums;
		s->path = &c->path;
		s->retired = &c->retired;
		s->total = c->total;
		return true;
	}
	return false;
}

enum found { ABSENT, FOUND, CHANGING, OVER };

CPA_UNSEEN static enum found find(struct source *s, const struct cpa_thread *row, uint64_t boundary)
{
	*s = (struct source){ .row = row };
	/*
	 * ACQUIRE, both: the row is as its writer left it, and its first period is set. Pair with
	 * cpa_written().
	 */
	s->word = __atomic_load_n(&row->writing, __ATOMIC_ACQUIRE);
	if (!__atomic_load_n(&row->key, __ATOMIC_ACQUIRE) || load(&row->first_period) >= boundary)
		return ABSENT;
	/* ACQUIRE: the checkpoint of the period is visible. Pairs with cpa_checkpoint_pass(). */
	if (__atomic_load_n(&row->period, __ATOMIC_ACQUIRE) >= boundary)
		return find_checkpoint(s, boundary) ? FOUND : OVER;
	if (s->word % 2)
		return CHANGING;
	s->sums = &row->before;
	s->path = &row->path;
	s->retired = &row->retired;
	s->total = row->totals ? cpa_at(row->totals) : NULL;
	return FOUND;
}

/*
 * Expand S and H of path @i. The version may have been reused meanwhile; steady() then detects it.
 */
static void spread(struct state *t, unsigned i)
{
	const struct cpa_path *p = &t->path[i];
	const struct cpa_version *v = p->version ? cpa_at(p->version) : NULL;
	struct cpa_version head = { .slots = 0 };
	uint32_t n;

	if (v)
		cpa_unseen_copy(&head, v, sizeof(head));
	if (head.slots > cpa_header()->slots + CPA_VERSION_BLOCK)
		head.slots = 0;
	n = head.slots < t->slots ? head.slots : t->slots;
	memset(t->slack[i], 0, t->slots * sizeof(uint64_t));
	memset(t->share[i], 0, t->slots * sizeof(uint64_t));
	if (n) {
		cpa_unseen_copy(t->slack[i], v->value, n * sizeof(uint64_t));
		cpa_unseen_copy(t->share[i], v->value + head.slots, n * sizeof(uint64_t));
	}
	for (int k = 0; k < (int)CPA_PATH_DELTAS && p->delta[k].slot; k++) {
		if (p->delta[k].slot >= t->slots)
			continue;
		t->slack[i][p->delta[k].slot] += (uint64_t)(int64_t)p->delta[k].s;
		t->share[i][p->delta[k].slot] += (uint64_t)(int64_t)p->delta[k].h;
	}
}

/* Copy the state at @s. Return false if it changed meanwhile. */
static bool take(struct state *t, const struct source *s)
{
	uint64_t slots[2] = { 0 };

	cpa_unseen_copy(&t->sums, s->sums, sizeof(t->sums));
	cpa_unseen_copy(t->bytes, &s->row->bytes_read, sizeof(t->bytes));
	cpa_unseen_copy(&t->path[0], s->path, sizeof(t->path[0]));
	cpa_unseen_copy(&t->path[1], s->retired, sizeof(t->path[1]));
	if (s->checkpoint)
		cpa_unseen_copy(slots, &s->checkpoint->slots, sizeof(slots[0]));
	else
		cpa_unseen_copy(slots, &s->row->totals_slots, sizeof(slots[0]));
	/*
	 * The versions of the paths and the length of `total` are valid only if the state is
	 * steady.
	 */
	if (!steady(s))
		return false;
	t->totals = s->total ? (uint32_t)slots[0] : 0;
	t->totals = t->totals < t->slots ? t->totals : t->slots;
	cpa_unseen_copy(t->total, s->total, t->totals * sizeof(uint64_t));
	spread(t, 0);
	spread(t, 1);
	return steady(s);
}

/* As cpa_path_join(), for S and H only. */
static void join(struct cpa_cut *cut, const struct state *t, unsigned i)
{
	uint64_t len = t->path[i].len, *mine = &cut->field[CPA_SERIES_LEN];
	bool longer = len > *mine;
	uint64_t distance = longer ? len - *mine : *mine - len;

	for (uint32_t c = 0; c < cut->slots; c++) {
		uint64_t winner = longer ? t->slack[i][c] : cut->slack[c];
		uint64_t loser = (longer ? cut->slack[c] : t->slack[i][c]) + distance;

		cut->slack[c] = winner < loser ? winner : loser;
	}
	if (!longer)
		return;
	memcpy(cut->share, t->share[i], cut->slots * sizeof(uint64_t));
	*mine = len;
}

static void add(struct cpa_cut *cut, const struct state *t, struct cpa_thread_point *point)
{
	const uint64_t *sums = &t->sums.before;

	*point = (struct cpa_thread_point){
		.released = t->path[0].released,
		.process = t->sums.process,
		.external = t->sums.external,
		.runqueue = t->sums.runqueue,
		.wait = t->sums.wait,
		.probe = t->sums.probe,
		.events = t->sums.events,
		.bytes = t->bytes[0] + t->bytes[1],
	};
	join(cut, t, 0);
	join(cut, t, 1);
	for (unsigned i = 0; i < sizeof(t->sums) / sizeof(*sums); i++)
		cut->field[CPA_SERIES_BEFORE + i] += sums[i];
	for (uint32_t c = 0; c < t->totals; c++)
		cut->total[c] += t->total[c];
	/* The observed path is that of the thread with the latest event. */
	if (t->path[0].released <= cut->field[CPA_SERIES_RELEASED])
		return;
	cut->field[CPA_SERIES_RELEASED] = t->path[0].released;
	memcpy(&cut->field[CPA_SERIES_OBSERVED], t->path[0].observed, sizeof(t->path[0].observed));
}

static enum found read_thread(struct state *t, const struct cpa_thread *row, uint64_t boundary)
{
	enum found found = CHANGING;
	struct source s;

	for (unsigned i = 0; i < TRIES && found == CHANGING; i++) {
		found = find(&s, row, boundary);
		if (found == FOUND && !take(t, &s))
			found = CHANGING;
		if (found == CHANGING)
			cpa_arch_pause();
	}
	return found;
}

bool cpa_cut_read(struct cpa_cut *cut, uint64_t boundary)
{
	/* Relaxed: a row handed out later has a later first period. */
	uint32_t rows = __atomic_load_n(&cpa_table(CPA_TABLE_THREADS)->used, __ATOMIC_RELAXED);
	uint64_t *arrays = cpa_heap_alloc((size_t)5 * cut->slots * sizeof(*arrays));
	struct state *t = cpa_heap_alloc(sizeof(*t));
	enum found found = ABSENT;

	cut->boundary = boundary;
	cut->rows = rows;
	cut->point = cpa_heap_alloc((rows + 1) * sizeof(*cut->point));
	for (unsigned i = 0; i < 2 && arrays && t; i++) {
		t->slack[i] = arrays + i * cut->slots;
		t->share[i] = arrays + (2 + i) * cut->slots;
	}
	for (uint32_t i = 1; i <= rows && arrays && t && cut->point && found <= FOUND; i++) {
		t->slots = cut->slots;
		t->total = arrays + 4 * (size_t)cut->slots;
		found = read_thread(t, cpa_row(CPA_TABLE_THREADS, i), boundary);
		if (found == FOUND)
			add(cut, t, &cut->point[i - 1]);
	}
	if (arrays)
		cpa_heap_free(arrays);
	if (t)
		cpa_heap_free(t);
	return arrays && t && cut->point && found <= FOUND;
}

bool cpa_cut_init(struct cpa_cut *cut, uint32_t slots)
{
	*cut = (struct cpa_cut){ .slots = slots };
	cut->share = cpa_heap_alloc(3 * (size_t)slots * sizeof(*cut->share));
	cut->slack = cut->share + slots;
	cut->total = cut->share + 2 * (size_t)slots;
	return cut->share;
}

void cpa_cut_free(struct cpa_cut *cut)
{
	if (cut->share)
		cpa_heap_free(cut->share);
	if (cut->point)
		cpa_heap_free(cut->point);
	cut->share = NULL;
	cut->point = NULL;
}
