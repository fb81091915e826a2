/* SPDX-License-Identifier: MIT */
/*
 * tests/property/journal.c - paths rebuilt from a journal equal those computed online
 *
 * Random programs (generate.h) are replayed through the online algebra (online.h) with a journal.
 * If the journal has room for all records, the path to each event, walked back through the records,
 * and the savings by zeroing must equal the online paths to the tick; tests/property/reference.c
 * compares those with a search of the graph. If it has not, each record left must match its event,
 * the others must be counted, and the rebuild must terminate; in half of these runs event numbers
 * pass 2^32. CPA_SEED=n repeats a run, CPA_LONG=1 runs more.
 */
#include <errno.h>

#include "analysis/exact/history.h"
#include "analysis/exact/walk.h"
#include "tests/property/claims.h"
#include "tests/property/generate.h"
#include "tests/property/online.h"

#define SLOTS 128u

enum claim { WHOLE, LENGTH, SHARE, SLACK, RECORDS, FOUND, COUNTED, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[WHOLE] = "nothing is missing where there is room for all",
	[LENGTH] = "L is the length of the path walked back",
	[SHARE] = "H is what is found on it",
	[SLACK] = "S is what zeroing saves in the rebuild",
	[RECORDS] = "a record has the figures of its event",
	[FOUND] = "an event is found by its number, also when numbers began anew",
	[COUNTED] = "events are there, or counted as overwritten or refused",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "histories" };

static struct {
	uint64_t events, overwritten, refused, unknown, bytes, wrapped;
} run;

static struct sim sim;
static struct history history;
static struct online online;

static void expect(enum claim claim, int event, const char *what, unsigned n, uint64_t have,
		   uint64_t want)
{
	if (!claims_fail(&claims, claim, have == want))
		return;
	if (!claims.any)
		history_print(&history);
	claims.any = true;
	printf("# %s: seed %llu history %llu event %d %s %u: journal %llu, online %llu\n",
	       claim_name[claim], (unsigned long long)claims.seed,
	       (unsigned long long)claims.number, event, what, n, (unsigned long long)have,
	       (unsigned long long)want);
}

static void add_shares(void *argument, const struct cpa_step *step)
{
	uint64_t *share = argument;

	for (size_t i = 0; i < step->charges; i++)
		share[step->charge[i].slot] += step->charge[i].ticks;
}

static void compare_walk(struct cpa_exact *x, int i)
{
	const struct cpa_path *path = &online.snapshot[i];
	const struct cpa_strand *s = cpa_journal_strand(x->file, cpa_event_thread(path->event));
	uint64_t share[SLOTS] = { 0 };

	expect(WHOLE, i, "strand", cpa_event_thread(path->event), s != NULL, 1);
	if (!s)
		return;
	expect(LENGTH, i, "L", 0,
	       cpa_walk(x, (size_t)(s - x->file->strand), (uint32_t)path->event, add_shares, share),
	       path->len);
	for (uint32_t slot = 1; slot < SLOTS; slot++)
		expect(SHARE, i, "slot", slot, share[slot], cpa_path_value(path, CPA_H, slot));
}

static void compare_savings(struct cpa_exact *x)
{
	struct cpa_path result = { 0 };

	for (int i = 0; i < THREADS; i++)
		if (history.last[i] >= 0)
			cpa_path_join(&online.observer, &result, &online.snapshot[history.last[i]],
				      false);
	for (uint32_t first = 1; first < SLOTS; first += CPA_LANES - 1) {
		memset(x->lane_of, 0, SLOTS * sizeof(*x->lane_of));
		for (x->lanes = 1; x->lanes < CPA_LANES; x->lanes++)
			if (first + x->lanes - 1 < SLOTS)
				x->lane_of[first + x->lanes - 1] = (uint8_t)x->lanes;
		cpa_exact_run(x);
		expect(SLACK, -1, "L", 0, x->result[0], result.len);
		for (unsigned k = 1; k < CPA_LANES && first + k - 1 < SLOTS; k++)
			expect(SLACK, -1, "slot", first + k - 1, x->result[0] - x->result[k],
			       cpa_path_value(&result, CPA_S, first + k - 1));
	}
	cpa_path_clear(&online.observer, &result);
}

/*
 * Return the number of activities: each event ends one, except those that begin a part of the run.
 */
static uint64_t activities(void)
{
	uint64_t n = 0;

	for (int i = 0; i < history.events; i++)
		n += history.event[i].op != OP_RESTART;
	return n;
}

/* The journal is complete. */
static void compare_whole(struct cpa_journal_file *file)
{
	struct cpa_exact *x = cpa_exact_new(file);

	cpa_exact_run(x);
	expect(WHOLE, -1, "missing", 0, x->missing, 0);
	expect(WHOLE, -1, "broken", 0, x->broken, 0);
	expect(WHOLE, -1, "events", 0, x->events, activities());
	for (int i = 0; i < history.events && !claims.any; i++)
		if (history.event[i].check)
			compare_walk(x, i);
	compare_savings(x);
	run.events += x->events;
	run.bytes += file->size;
	cpa_exact_free(x);
}

/* Return the event of the history that became @name; -1: none. */
static int event_of(cpa_event_name name)
{
	for (int i = 0; i < history.events; i++)
		if (history.event[i].check && online.snapshot[i].event == name)
			return i;
	return -1;
}

/* Each event of the run is found by its number. */
static void compare_found(struct cpa_dump *dump)
{
	char *error = NULL;
	struct cpa_run *all = cpa_run_read(dump, &error);

	expect(FOUND, -1, error ? error : "a run", 0, all != NULL, 1);
	free(error);
	for (size_t i = 0; all && i < all->threads; i++) {
		const struct cpa_run_thread *t = &all->thread[i];

		for (size_t k = 0; k < t->events; k++)
			expect(FOUND, -1, "event", t->event[k].number,
			       cpa_run_event(all, t->thread.id, t->event[k].number) == &t->event[k],
			       1);
	}
	cpa_run_free(all);
}

/* The record of what the event @i of the history waited for. */
static void compare_wait(int i, const struct cpa_entry *e)
{
	const struct event *event = &history.event[i];

	if (e->flags & CPA_ACQUIRE_WAITED)
		expect(RECORDS, i, "ready", 0, e->ready, ready_of(event));
}

/* Only some blocks are left: their contents must be right. */
static void compare_rest(struct cpa_journal_file *file, uint64_t blocks)
{
	struct cpa_exact *x = cpa_exact_new(file);
	struct cpa_cursor *c = malloc(sizeof(*c));
	struct cpa_entry e;

	for (size_t s = 0; c && s < file->strands; s++) {
		cpa_cursor_init(c, file, &file->strand[s], 0, file->strand[s].leaves);
		while (cpa_cursor_next(c, &e)) {
			int i = event_of(cpa_event_of(file->strand[s].id, e.number));

			if (e.kind == CPA_ENTRY_ACQUIRE && i >= 0)
				compare_wait(i, &e);
			if (e.kind != CPA_ENTRY_EVENT || i < 0 || history.event[i].op == OP_RESTART)
				continue;
			expect(RECORDS, i, "process", 0, e.process,
			       history.event[i].activity.process);
			expect(RECORDS, i, "external", 0, e.external,
			       history.event[i].activity.external);
			expect(RECORDS, i, "clock", 0, e.clock,
			       history.event[i].op == OP_START ? history.event[i].now :
								 history.event[i].arrived);
		}
		expect(RECORDS, -1, "broken", 0, c->broken, 0);
		cpa_cursor_fini(c);
	}
	free(c);
	cpa_exact_run(x);
	expect(COUNTED, -1, "broken", 0, x->broken, 0);
	expect(COUNTED, -1, "blocks", 0, file->leaves <= blocks, 1);
	if (x->events < activities())
		expect(COUNTED, -1, "any lost", 0, file->overwritten + file->refused > 0, 1);
	run.overwritten += file->overwritten;
	run.refused += file->refused;
	run.unknown += x->missing;
	cpa_exact_free(x);
}

static bool open_journal(struct cpa_dump *dump, struct cpa_journal_file *file)
{
	char *error = NULL;
	static char name[] = "session";

	*dump = (struct cpa_dump){ .file = name,
				   .base = (const unsigned char *)cpa_base,
				   .size = cpa_header()->reserved };
	if (cpa_dump_again(dump, &error) == 0 && cpa_journal_open(file, dump, &error))
		return true;
	printf("# no journal: %s\n", error ? error : "none");
	free(error);
	claims.any = claims.failed[WHOLE] = true;
	return false;
}

/*
 * The journal also records the path's share of edges: each activity is noted. Return false: no
 * space.
 */
static bool begin_session(void)
{
	if (online_session(&online, UINT64_C(64) << 20, SLOTS))
		return false;
	cpa_header()->note = 0;
	return true;
}

/*
 * Test @histories of up to @events events, @per_session in each session, with @blocks or as many as
 * needed.
 */
static void test(uint64_t histories, int events, unsigned per_session, unsigned blocks, bool parts)
{
	struct cpa_journal_file file;
	struct cpa_dump dump;

	for (uint64_t n = 0; n < histories && !claims.any; n++, claims.number++) {
		struct rnd r = rnd_sequence(claims.seed, claims.number);

		if (n % per_session == 0 && !begin_session()) {
			printf("# no session\n");
			claims.any = claims.failed[WHOLE] = true;
			return;
		}
		history.sampling = rnd_percent(&r, 60) ? SAMPLED : SPARSE;
		if (!cpa_journal_init((uint64_t)(blocks ? blocks : 64) * CPA_JOURNAL_BLOCK))
			claims.any = claims.failed[WHOLE] = true;
		generate(&sim, &history, r,
			 events / 3 + (int)rnd_below(&r, (uint64_t)events * 2 / 3), parts);
		for (int i = 0; i < history.events; i++)
			history.event[i].check |= events < 100 || blocks;
		/* After 2^32 events of a thread the numbers start again. */
		online.first_event = blocks && rnd_percent(&r, 50) ?
					     UINT32_MAX - (uint32_t)rnd_below(&r, 300) :
					     0;
		run.wrapped += online.first_event != 0;
		online_run(&online, &history, (unsigned)rnd_below(&r, FUNCTIONS));
		if (open_journal(&dump, &file)) {
			if (blocks)
				compare_rest(&file, blocks);
			else
				compare_whole(&file);
			cpa_journal_close(&file);
			if (blocks)
				compare_found(&dump);
		}
		online_finish(&online);
		if (n % per_session == per_session - 1 || n == histories - 1 || claims.any)
			expect(COUNTED, -1, "heap bytes", 0, online_session_end(&online), 0);
	}
}

int main(void)
{
	unsigned times = claims_long() ? 20 : 1;

	claims_begin(&claims);
	test(6000 * times, 60, 20, 0, false);
	test(100 * times, 1000, 5, 0, false);
	test(1200 * times, 60, 20, 0, true);
	test(150 * times, 3000, 5, 6, false);
	test(150 * times, 3000, 5, 3, true);
	printf("# %llu events in %llu bytes of blocks; with few blocks overwritten %llu, refused %llu, "
	       "releases not found %llu; numbers that pass 2^32 in %llu histories\n",
	       (unsigned long long)run.events, (unsigned long long)run.bytes,
	       (unsigned long long)run.overwritten, (unsigned long long)run.refused,
	       (unsigned long long)run.unknown, (unsigned long long)run.wrapped);
	return claims_end(&claims);
}
