/* SPDX-License-Identifier: MIT */
#include "analysis/exact/verify.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/input/path.h"
#include "analysis/exact/walk.h"

#define LISTED 8 /* differences of one kind that are listed */

/* Results computed during the run: for each row of the threads table, and for all. */
struct online {
	struct cpa_thread *row; /* [rows], by row - 1; key 0: no thread */
	uint64_t *len;		/* [rows]: the longer of the thread's paths */
	uint32_t rows;
	struct cpa_vector program;
	uint32_t longest; /* row of the thread with the program's path */
	bool sound;
};

struct verification {
	struct cpa_dump *dump;
	FILE *out;
	struct cpa_journal_file file;
	struct cpa_exact *exact;
	struct online online;
	bool differs;
	unsigned listed;
};

static void read_online(struct verification *v)
{
	struct online *o = &v->online;
	struct cpa_vector path, retired;

	o->rows = v->dump->rows[CPA_TABLE_THREADS];
	o->row = xcalloc(o->rows + 1, sizeof(*o->row));
	o->len = xcalloc(o->rows + 1, sizeof(*o->len));
	o->sound = true;
	cpa_vector_init(&o->program, v->file.slots);
	cpa_vector_init(&path, v->file.slots);
	cpa_vector_init(&retired, v->file.slots);
	for (uint32_t i = 1; i <= o->rows; i++) {
		struct cpa_thread *row = &o->row[i - 1];

		if (!cpa_dump_row(v->dump, CPA_TABLE_THREADS, i, row, sizeof(*row)))
			continue;
		o->sound &= cpa_vector_read(&path, v->dump, &row->path) &&
			    cpa_vector_read(&retired, v->dump, &row->retired);
		o->len[i - 1] = path.len > retired.len ? path.len : retired.len;
		if (o->len[i - 1] > o->program.len)
			o->longest = i;
		cpa_vector_join(&o->program, &path);
		cpa_vector_join(&o->program, &retired);
	}
	cpa_vector_fini(&path);
	cpa_vector_fini(&retired);
}

/* Compare one figure; report a difference. */
static void compare(struct verification *v, const char *what, uint32_t number, uint64_t online,
		    uint64_t journal)
{
	if (online == journal)
		return;
	v->differs = true;
	if (v->listed++ < LISTED)
		fprintf(v->out,
			"  DIFFERENT: %s %u: %llu ticks while it ran, %llu from the journal\n",
			what, number, (unsigned long long)online, (unsigned long long)journal);
}

/* Report that all figures @what were compared. */
static void conclude(struct verification *v, const char *what, uint32_t count)
{
	if (!v->listed)
		fprintf(v->out, "  equal: %s (%u)\n", what, count);
	else if (v->listed > LISTED)
		fprintf(v->out, "  DIFFERENT: %s: %u of %u\n", what, v->listed, count);
	v->listed = 0;
}

/* Why the journal cannot give the results of the run; NULL: it can. */
static const char *missing(const struct verification *v)
{
	const struct cpa_exact *x = v->exact;

	if (x->broken)
		return "some records are damaged";
	if (v->file.overwritten)
		return "the oldest events were overwritten (set a larger CPA_JOURNAL to keep more)";
	if (v->file.refused)
		return "events have no record: there was no space (set a larger CPA_JOURNAL), or a "
		       "handler or the end of a process left them unfinished";
	if (x->missing)
		return "releases that others depend on have no record";
	for (size_t i = 0; i < v->file.strands; i++)
		if (v->file.strand[i].dropped)
			return "the beginning of a thread is missing";
	return NULL;
}

/*
 * Whether the thread of @row stopped in the middle of an event, as those may that run on when the program ends. One
 * that has ended has no such excuse.
 */
static bool is_half(const struct cpa_thread *row)
{
	bool ended = row->end_ticks &&
		     (row->state == CPA_THREAD_EXITED || row->state == CPA_THREAD_DONE);

	return !ended && (row->writing % 2 || row->path.event == CPA_JOURNAL_PENDING);
}

/* Whether no thread stopped in the middle of an event. */
static bool events_are_whole(const struct verification *v)
{
	for (uint32_t i = 0; i < v->online.rows; i++)
		if (is_half(&v->online.row[i]))
			return false;
	return true;
}

/* In a run that was killed the journal may also be later than the rows. */
static bool same_events(const struct verification *v)
{
	uint64_t *events = xcalloc(v->online.rows + 1, sizeof(*events));
	bool same = true;

	for (size_t i = 0; i < v->file.strands; i++)
		if (v->file.strand[i].row && v->file.strand[i].row <= v->online.rows)
			events[v->file.strand[i].row - 1] += v->exact->strand[i].events;
	for (uint32_t i = 0; i < v->online.rows; i++)
		same &= events[i] == v->online.row[i].events;
	free(events);
	return same;
}

/*
 * Compare sums and path lengths of threads, by row: several threads may have used one row in turn. Rows of threads
 * that stopped in the middle of an event are left out; no other row depends on what has no record.
 */
static void compare_threads(struct verification *v, bool whole)
{
	const struct online *o = &v->online;
	struct cpa_exact_strand *sum = xcalloc(o->rows + 1, sizeof(*sum));
	uint32_t rows = 0;

	for (size_t i = 0; i < v->file.strands; i++) {
		const struct cpa_exact_strand *s = &v->exact->strand[i];
		struct cpa_exact_strand *to = &sum[v->file.strand[i].row - 1];

		if (!v->file.strand[i].row || v->file.strand[i].row > o->rows)
			continue;
		to->process += s->process;
		to->external += s->external;
		to->events += s->events;
		to->len = s->len > to->len ? s->len : to->len;
	}
	for (uint32_t i = 0; i < o->rows; i++) {
		if (is_half(&o->row[i]))
			continue;
		rows += o->row[i].key != 0;
		compare(v, "events of thread row", i + 1, o->row[i].events, sum[i].events);
		compare(v, "process time of thread row", i + 1, o->row[i].process, sum[i].process);
		compare(v, "external time of thread row", i + 1, o->row[i].external,
			sum[i].external);
		compare(v, "path length of thread row", i + 1, o->len[i], sum[i].len);
	}
	free(sum);
	if (whole)
		compare(v, "critical path", 0, o->program.len, v->exact->result[0]);
	conclude(v, "events, process and external time, path lengths of thread rows", rows);
}

static uint64_t at_most(uint64_t n, uint64_t most)
{
	return n < most ? n : most;
}

/* Compare what zeroing each slot saves, computing as many slots at a time as there are lanes. */
static void compare_savings(struct verification *v)
{
	struct cpa_exact *x = v->exact;
	uint64_t len = x->result[0];
	uint32_t slots = 0;

	for (uint32_t slot = 1; slot < v->file.slots;) {
		uint32_t of[CPA_LANES] = { 0 };

		memset(x->lane_of, 0, v->file.slots * sizeof(*x->lane_of));
		for (x->lanes = 1; slot < v->file.slots && x->lanes < CPA_LANES; slot++) {
			if (x->total[slot]) {
				of[x->lanes] = slot;
				x->lane_of[slot] = (uint8_t)x->lanes++;
			} else {
				compare(v, "saving of slot", slot, v->online.program.slack[slot],
					0);
			}
		}
		if (x->lanes > 1)
			cpa_exact_run(x);
		for (unsigned k = 1; k < x->lanes; k++)
			compare(v, "saving of slot", of[k], v->online.program.slack[of[k]],
				at_most(len - x->result[k], len));
		slots += x->lanes - 1;
	}
	conclude(v, "what zeroing saves, by component slot", slots);
}

static void add_shares(void *argument, const struct cpa_step *step)
{
	uint64_t *share = argument;

	for (size_t i = 0; i < step->charges; i++)
		share[step->charge[i].slot] += step->charge[i].ticks;
}

/* The strand with the program's path. Ties: the first, as in the join during the run. */
static size_t longest_strand(const struct verification *v)
{
	const struct cpa_thread *row = &v->online.row[v->online.longest - 1];
	const struct cpa_journal_file *f = &v->file;
	const struct cpa_strand *own = cpa_journal_strand(f, (uint32_t)row->key);

	if (own && row->path.len == v->online.program.len)
		return (size_t)(own - f->strand);
	for (size_t i = 0; i < f->strands; i++)
		if (f->strand[i].row == v->online.longest &&
		    v->exact->strand[i].len == v->online.program.len)
			return i;
	return v->exact->longest;
}

/*
 * The program notes only some of the short activities of an edge (shadow/graph/summary.h). Whether
 * the edge's share from these is close to the exact share. The bound is so wide that chance alone
 * never exceeds it in practice.
 */
static bool is_about(const struct verification *v, uint64_t online, uint64_t journal)
{
	double note = (double)v->file.dump->header.note_most,
	       off = (double)online - (double)journal;

	return off * off <= 64 * note * ((double)journal + 4 * note);
}

/* Whether each slot belongs to an edge of the activity graph. The caller frees the result. */
static bool *edge_slots(const struct verification *v)
{
	bool *is = xcalloc(v->file.slots, sizeof(*is));

	for (uint32_t i = 1; i < v->file.edges; i++)
		is[v->file.edge[i].slot] = true;
	return is;
}

static void compare_shares(struct verification *v)
{
	uint64_t *share = xcalloc(v->file.slots, sizeof(*share));
	bool *noted = edge_slots(v);
	size_t strand;
	uint64_t len;
	uint32_t slots = 0;

	if (!v->online.longest || !v->file.strands) {
		free(share);
		free(noted);
		return;
	}
	strand = longest_strand(v);
	len = cpa_walk(v->exact, strand, v->exact->strand[strand].last, add_shares, share);
	compare(v, "length of the path walked back,", 0, v->online.program.len, len);
	for (uint32_t slot = 1; slot < v->file.slots; slot++) {
		uint64_t online = v->online.program.share[slot], exact = at_most(share[slot], len);

		slots += share[slot] != 0;
		if (!noted[slot] || !is_about(v, online, exact))
			compare(v, "share of slot", slot, online, exact);
	}
	conclude(v, "shares of the critical path, by component slot", slots);
	free(share);
	free(noted);
}

static void compare_all(struct verification *v)
{
	const char *why = missing(v);
	bool running, whole;

	if (why) {
		fprintf(v->out,
			"  not compared: path lengths, shares and savings: %s; events overwritten: "
			"%llu, without a record: %llu, releases without one: %llu\n",
			why, (unsigned long long)v->file.overwritten,
			(unsigned long long)v->file.refused, (unsigned long long)v->exact->missing);
		return;
	}
	if (!v->online.sound) {
		fprintf(v->out, "  not compared: the paths of the session are damaged\n");
		return;
	}
	running = v->dump->header.state == CPA_RUNNING;
	whole = events_are_whole(v);
	if (running && (!whole || !same_events(v))) {
		fprintf(v->out,
			"  not compared: the run has not finished, and threads were in the middle "
			"of an event\n");
		return;
	}
	compare_threads(v, whole);
	if (!whole) {
		fprintf(v->out,
			"  not compared: the critical path, shares and savings: the run has ended, and "
			"threads were in the middle of an event\n");
		return;
	}
	if (v->dump->header.diag[CPA_DIAG_VERSIONS_REFUSED]) {
		fprintf(v->out,
			"  not compared: shares and savings: during the run there was no memory "
			"for all paths, so its figures are only bounds\n");
		return;
	}
	compare_shares(v);
	compare_savings(v);
}

int cpa_verify(struct cpa_dump *dump, FILE *out, char **error)
{
	struct verification v = { .dump = dump, .out = out };

	if (!cpa_journal_open(&v.file, dump, error)) {
		if (!*error &&
		    asprintf(error, "%s: it has no journal to compare with (cpa run --journal)",
			     dump->file) < 0)
			xmalloc_failed(100);
		return -1;
	}
	v.exact = cpa_exact_new(&v.file);
	cpa_exact_run(v.exact);
	read_online(&v);
	fprintf(out, "%s: %zu threads, %llu events in %llu bytes of journal, path of %llu ticks\n",
		dump->file, v.file.strands, (unsigned long long)v.exact->events,
		(unsigned long long)v.file.size, (unsigned long long)v.exact->result[0]);
	compare_all(&v);
	cpa_vector_fini(&v.online.program);
	free(v.online.row);
	free(v.online.len);
	cpa_exact_free(v.exact);
	cpa_journal_close(&v.file);
	return v.differs;
}
