/* SPDX-License-Identifier: MIT */
/* analysis/input/snapshot.c - read all threads of a session in one global state */
#include "analysis/input/snapshot.h"

#include <libiberty/libiberty.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRIES	    200u
#define PAUSE_NS    2000000L
#define STOPPED_NS  20000000L /* no change for so long means more than a switch between threads */
#define FIELD(name) offsetof(struct cpa_thread, name)

/* The values that tell in which of a row's copies the thread's state is. */
struct place {
	uint64_t key, period, first_period, checkpoint[2];
	uint32_t writing;
};

static void pause_for(long ns)
{
	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

/* Reads after this call come after the reads before it: x86 keeps loads in order. */
static void then(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

static uint64_t word(const struct cpa_snapshot *s, uint32_t row, size_t field)
{
	uint64_t value = 0;

	cpa_dump_field(s->dump, CPA_TABLE_THREADS, row, field, &value, sizeof(value));
	return value;
}

static uint32_t writing(const struct cpa_snapshot *s, uint32_t row)
{
	uint32_t value = 0;

	cpa_dump_field(s->dump, CPA_TABLE_THREADS, row, FIELD(writing), &value, sizeof(value));
	return value;
}

static struct place look(const struct cpa_snapshot *s, uint32_t row)
{
	struct place p = { .writing = writing(s, row) };

	then();
	p.key = word(s, row, FIELD(key));
	then();
	p.first_period = word(s, row, FIELD(first_period));
	p.period = word(s, row, FIELD(period));
	then();
	for (unsigned i = 0; i < 2; i++)
		p.checkpoint[i] = word(s, row, FIELD(checkpoint[i]));
	return p;
}

/* The latest boundary that any thread has passed. */
static uint64_t latest(const struct cpa_snapshot *s)
{
	uint64_t max = 0;

	for (uint32_t row = 1; row <= s->rows; row++) {
		uint64_t period = word(s, row, FIELD(period));

		max = period > max ? period : max;
	}
	return max;
}

static uint32_t rows_now(const struct cpa_snapshot *s)
{
	cpa_dump_grow(s->dump, CPA_TABLE_THREADS);
	return s->dump->rows[CPA_TABLE_THREADS];
}

static void first_look(struct cpa_snapshot *s)
{
	s->rows = rows_now(s);
	s->writing = xrealloc(s->writing, ((size_t)s->rows + 1) * sizeof(*s->writing));
	for (uint32_t row = 1; row <= s->rows; row++)
		s->writing[row - 1] = writing(s, row);
	then();
}

void cpa_snapshot_begin(struct cpa_snapshot *s, struct cpa_dump *dump)
{
	*s = (struct cpa_snapshot){
		.dump = dump,
		.rows = dump->rows[CPA_TABLE_THREADS],
		.raw = !dump->live || dump->header.copied,
	};
	s->passed = latest(s);
	first_look(s);
}

void cpa_snapshot_end(struct cpa_snapshot *s)
{
	free(s->writing);
}

void cpa_reading_init(struct cpa_reading *r, uint32_t slots)
{
	cpa_vector_init(&r->path, slots);
	cpa_vector_init(&r->retired, slots);
	r->total = xcalloc(slots, sizeof(*r->total));
}

void cpa_reading_fini(struct cpa_reading *r)
{
	cpa_vector_fini(&r->path);
	cpa_vector_fini(&r->retired);
	free(r->total);
}

static void read_edges(struct cpa_dump *dump, struct cpa_reading *r)
{
	r->edges = r->row.edges && cpa_dump_bytes(dump, r->row.edges, r->edge, sizeof(r->edge));
	if (r->row.edges && !r->edges && !dump->live)
		cpa_dump_skip(dump, CPA_TABLE_THREADS);
}

/* Read the data that the row refers to; @slots totals at @total. */
static void follow(struct cpa_dump *dump, struct cpa_reading *r, uint64_t total, uint64_t slots)
{
	r->sound = cpa_vector_read(&r->path, dump, &r->row.path) &&
		   cpa_vector_read(&r->retired, dump, &r->row.retired);
	read_edges(dump, r);
	r->totals = total == 0 ? 0 : slots < dump->header.slots ? slots : dump->header.slots;
	if (cpa_dump_bytes(dump, total, r->total, r->totals * sizeof(*r->total)))
		return;
	if (r->totals && !dump->live)
		cpa_dump_skip(dump, CPA_TABLE_THREADS);
	r->totals = 0;
}

static bool read_row(struct cpa_snapshot *s, uint32_t row, struct cpa_reading *r)
{
	if (!cpa_dump_row(s->dump, CPA_TABLE_THREADS, row, &r->row, sizeof(r->row)))
		return false;
	follow(s->dump, r, r->row.totals, r->row.totals_slots);
	return true;
}

/* Read the row; fail if its `writing` is no longer @before. */
static bool read_steady(struct cpa_snapshot *s, uint32_t row, struct cpa_reading *r,
			uint32_t before)
{
	bool used = read_row(s, row, r);

	then();
	if (writing(s, row) != before)
		s->failed = true;
	return used;
}

static bool read_checkpoint(struct cpa_snapshot *s, uint32_t row, const struct place *p,
			    struct cpa_reading *r)
{
	const size_t label = offsetof(struct cpa_checkpoint, label);
	struct cpa_checkpoint c;
	uint64_t now;

	for (unsigned i = 0; i < 2; i++) {
		if (!cpa_dump_bytes(s->dump, p->checkpoint[i] + label, &now, sizeof(now)))
			continue;
		then();
		if (!cpa_dump_bytes(s->dump, p->checkpoint[i], &c, sizeof(c)) ||
		    now < s->boundary || c.from >= s->boundary ||
		    !cpa_dump_row(s->dump, CPA_TABLE_THREADS, row, &r->row, sizeof(r->row)))
			continue;
		memcpy(&r->row.before, &c.sums, sizeof(c.sums));
		r->row.path = c.path;
		r->row.retired = c.retired;
		follow(s->dump, r, p->checkpoint[i] + offsetof(struct cpa_checkpoint, total),
		       c.slots);
		then();
		/*
		 * Edges are not part of the checkpoint: if the thread has ended, they may belong to
		 * another one.
		 */
		r->edges = r->edges && word(s, row, FIELD(edges)) == r->row.edges;
		if (cpa_dump_bytes(s->dump, p->checkpoint[i] + label, &now, sizeof(now)) &&
		    now == c.label && word(s, row, FIELD(checkpoint[i])) == p->checkpoint[i])
			return true;
	}
	s->failed = true;
	return false;
}

/* Read the row as the first look found it. */
static bool read_still(struct cpa_snapshot *s, uint32_t row, struct cpa_reading *r)
{
	s->torn += s->writing[row - 1] % 2;
	return read_steady(s, row, r, s->writing[row - 1]);
}

static bool read_at_boundary(struct cpa_snapshot *s, uint32_t row, struct cpa_reading *r)
{
	struct place p = look(s, row);

	if (p.key == 0 || p.first_period >= s->boundary)
		return false;
	if (p.period >= s->boundary)
		return read_checkpoint(s, row, &p, r);
	s->failed = p.writing % 2;
	return !s->failed && read_steady(s, row, r, p.writing);
}

bool cpa_snapshot_read(struct cpa_snapshot *s, uint32_t row, struct cpa_reading *r)
{
	uint64_t unsteady = s->dump->unsteady;
	bool used;

	if (s->failed)
		return false;
	if (s->raw) {
		used = read_row(s, row, r);
		s->torn += used && s->dump->header.copied && r->row.writing % 2;
		return used;
	}
	used = s->boundary ? read_at_boundary(s, row, r) : read_still(s, row, r);
	s->dump->unsteady = unsteady; /* counted here instead */
	return used;
}

static bool nothing_moved(const struct cpa_snapshot *s)
{
	if (rows_now(s) != s->rows)
		return false;
	for (uint32_t row = 1; row <= s->rows; row++)
		if (writing(s, row) != s->writing[row - 1])
			return false;
	return true;
}

bool cpa_snapshot_again(struct cpa_snapshot *s)
{
	uint64_t passed;

	if (!s->failed && !s->boundary && !s->raw) {
		if (s->torn)
			pause_for(STOPPED_NS);
		/* A new thread may have released something that another one has acquired. */
		s->failed = s->torn ? !nothing_moved(s) : rows_now(s) != s->rows;
	}
	if (!s->failed)
		return false;
	/*
	 * A boundary just passed must be in the past on all CPUs' clocks, see
	 * preload/clock/clock.h.
	 */
	pause_for(PAUSE_NS);
	passed = latest(s);
	s->boundary = passed > s->passed ? passed : 0;
	s->raw = ++s->tries == TRIES;
	s->dump->unsteady += s->raw;
	s->failed = false;
	s->torn = 0;
	first_look(s);
	return true;
}
