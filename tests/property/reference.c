/* SPDX-License-Identifier: MIT */
/*
 * tests/property/reference.c - online paths equal the results of a search of the whole graph
 *
 * Random programs (generate.h) are run once through the online algebra (online.h) and once as an
 * explicit graph (pag.h). Length, slack, shares and kinds of time must be equal to the tick, at the
 * last event of every thread and at others. CPA_SEED=n repeats a run, CPA_HISTORY=n prints that
 * history and runs only its session, CPA_LONG=1 runs many more, and longer ones.
 */
#include <errno.h>

#include "tests/property/claims.h"
#include "tests/property/figures.h"
#include "tests/property/generate.h"
#include "tests/property/online.h"
#include "tests/property/pag.h"

#if defined(__SANITIZE_THREAD__)
#define SLOWER 25
#elif defined(__SANITIZE_ADDRESS__)
#define SLOWER 10
#else
#define SLOWER 1
#endif

enum claim {
	LENGTH,
	SLACK,
	SHARE,
	OBSERVED,
	KINDS,
	TILES,
	PROGRAM,
	MATCHED,
	NOTED,
	FIGURES,
	BOUNDED,
	CLAIMS
};

static const char *const claim_name[CLAIMS] = {
	[LENGTH] = "L is the longest path",
	[SLACK] = "S is what zeroing each component saves",
	[SHARE] = "H is the share of the longest path",
	[OBSERVED] = "O is the share of the observed path",
	[KINDS] = "each kind of observed time",
	[TILES] = "the kinds of observed time sum up to the clock",
	[PROGRAM] = "the join of all threads' last paths",
	[MATCHED] = "which waits a release explains",
	[NOTED] = "what the activities of an edge were noted for",
	[FIGURES] = "the figures of queues",
	[BOUNDED] = "nothing refused, all tokens and memory given back",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "histories" };

static struct {
	/* Counts of cases, to see that all of them occurred. */
	uint64_t op[OPS], contended, followed, remote, tied, unexplained, apart, unmatched, twice;
} run;

static struct sim sim;
static struct history history;
static struct online online;
static struct pag pag;
static struct counting counting;

static void expect(enum claim claim, int event, const char *what, unsigned n, uint64_t have,
		   uint64_t want)
{
	if (!claims_fail(&claims, claim, have == want))
		return;
	if (!claims.any)
		history_print(&history);
	claims.any = true;
	printf("# %s: seed %llu history %llu event %d %s %u: online %llu, reference %llu\n",
	       claim_name[claim], (unsigned long long)claims.seed,
	       (unsigned long long)claims.number, event, what, n, (unsigned long long)have,
	       (unsigned long long)want);
}

static void count_events(void)
{
	for (int i = 0; i < history.events; i++) {
		const struct event *e = &history.event[i];
		int pred = pag_longest_pred(&pag, i);

		run.op[e->op]++;
		run.contended += e->op != OP_START && e->now > e->arrived;
		run.followed += e->op != OP_START && e->latest >= 0 &&
				history.event[e->latest].now > e->arrived;
		run.unexplained += e->now > e->arrived && !e->matched && e->local >= 0;
		run.remote += e->local >= 0 && pred != e->local;
		run.apart += e->count > pag_inherent(&history, e) && e->latest >= 0 &&
			     history.event[e->latest].now > e->arrived;
		run.unmatched += e->op == OP_DEQUEUE && !e->matched;
		for (int k = 0; k < pag_inherent(&history, e); k++)
			run.tied += e->local >= 0 && history.pred[e->first + k] != pred &&
				    history.event[history.pred[e->first + k]].thread != e->thread &&
				    pag.node[history.pred[e->first + k]].longest ==
					    pag.node[i].longest;
	}
}

static void print_events(void)
{
	printf("# events:");
	for (int i = 0; i < OPS; i++)
		printf(" %s %llu", op_name[i], (unsigned long long)run.op[i]);
	printf("\n# of them: waited %llu, observed path changes over %llu, longest path changes over "
	       "%llu, ties %llu, unexplained waits %llu, observed path alone changes over %llu, "
	       "items unmatched %llu, twice %llu\n",
	       (unsigned long long)run.contended, (unsigned long long)run.followed,
	       (unsigned long long)run.remote, (unsigned long long)run.tied,
	       (unsigned long long)run.unexplained, (unsigned long long)run.apart,
	       (unsigned long long)run.unmatched, (unsigned long long)run.twice);
}

/* Compare a vector of an online path with the result of the last walk. */
static void compare_values(enum claim claim, enum cpa_vector v, int event,
			   const struct cpa_path *path)
{
	for (unsigned i = 0; i < pag.used; i++)
		expect(claim, event, "slot", pag.list[i], cpa_path_value(path, v, pag.list[i]),
		       pag.share[pag.list[i]]);
}

static void compare_walks(int i, const struct cpa_path *path)
{
	const struct event *e = &history.event[i];
	uint64_t sum = 0;

	expect(LENGTH, i, "L", 0, path->len, pag.node[i].longest);
	pag_walk_longest(&pag, i);
	compare_values(SHARE, CPA_H, i, path);
	pag_walk_observed(&pag, i);
	compare_values(OBSERVED, CPA_O, i, path);
	for (unsigned k = 0; k < TIME_KINDS; k++) {
		expect(KINDS, i, "kind", k, path->observed[k], pag.kind[k]);
		sum += path->observed[k];
	}
	/* The event behind an unexplained wait accounts for its time. */
	if (e->matched || e->now == e->arrived)
		expect(TILES, i, "sum", 0, sum, clock_on(&history, e->now));
	else
		expect(TILES, i, "sum", 0, sum,
		       clock_on(&history, e->op == OP_START ? e->now : e->arrived));
}

static void compare_slacks(const struct cpa_path *result)
{
	for (unsigned k = 0; k < pag.used; k++) {
		unsigned group = pag.list[k];
		uint64_t best = 0, longest = 0;

		pag_longest(&pag, group, pag.net);
		for (int i = 0; i < history.events; i++)
			if (history.event[i].check)
				expect(SLACK, i, "slot", group,
				       cpa_path_value(&online.snapshot[i], CPA_S, group),
				       pag.node[i].longest - pag.net[i]);
		for (int i = 0; i < THREADS; i++) {
			int last = history.last[i];

			if (last >= 0 && pag.net[last] > best)
				best = pag.net[last];
			if (last >= 0 && pag.node[last].longest > longest)
				longest = pag.node[last].longest;
		}
		expect(PROGRAM, -1, "slot", group, cpa_path_value(result, CPA_S, group),
		       longest - best);
		expect(PROGRAM, -1, "L", 0, result->len, longest);
	}
}

/* Slots of components that do not occur must be 0. */
static void compare_unused(int i, const struct cpa_path *path)
{
	for (uint32_t slot = 0; slot < cpa_header()->slots; slot++) {
		if (pag.listed[slot])
			continue;
		expect(SLACK, i, "unused slot", slot, cpa_path_value(path, CPA_S, slot), 0);
		expect(SHARE, i, "unused slot", slot, cpa_path_value(path, CPA_H, slot), 0);
		expect(OBSERVED, i, "unused slot", slot, cpa_path_value(path, CPA_O, slot), 0);
	}
}

/*
 * @role must have exactly the bits of the rows of @threads. Several threads may have used one row.
 */
static void compare_role(int i, const char *what, const uint64_t role[], unsigned threads)
{
	uint64_t want[CPA_ROLE_WORDS] = { 0 };

	for (unsigned k = 0; k < THREADS; k++)
		if (threads & 1u << k)
			want[online.thread[k].number % (64 * CPA_ROLE_WORDS) / 64] |=
				UINT64_C(1) << online.thread[k].number % 64;
	for (unsigned k = 0; k < CPA_ROLE_WORDS; k++)
		expect(FIGURES, i, what, k, role[k], want[k]);
}

static void compare_queue(int i, const struct figures *want)
{
	const struct cpa_queue *q = cpa_queue(online.queue[i]);
	uint64_t in_histogram = 0;

	for (unsigned b = 0; b < CPA_HISTOGRAM; b++)
		in_histogram += q->histogram[b];
	expect(FIGURES, i, "enqueued", 0, q->enqueued, want->enqueued);
	expect(FIGURES, i, "entered", 0, q->entered, want->entered);
	expect(FIGURES, i, "dequeued", 0, q->dequeued, want->dequeued);
	expect(FIGURES, i, "left", 0, q->left, want->left);
	expect(FIGURES, i, "waited", 0, q->waited, want->waited);
	expect(FIGURES, i, "histogram", 0, in_histogram, want->dequeued);
	expect(FIGURES, i, "depth", 0, q->depth, want->depth);
	expect(FIGURES, i, "max depth", 0, q->max_depth, want->max_depth);
	expect(FIGURES, i, "twice", 0, q->twice, want->twice);
	expect(FIGURES, i, "unmatched", 0, q->unmatched, want->unmatched);
	expect(FIGURES, i, "services", 0, q->services, want->services);
	expect(FIGURES, i, "service", 0, q->service, want->service);
	compare_role(i, "producers", q->producers, want->producers);
	compare_role(i, "consumers", q->consumers, want->consumers);
	run.twice += want->twice;
}

static void compare_figures(void)
{
	uint64_t items = 0;

	figures_count(&counting, &history);
	for (int i = 0; i < (int)history.objects; i++) {
		if (history.object[i].kind == QUEUE)
			compare_queue(i, &counting.queue[i]);
		items += counting.queue[i].depth;
	}
	expect(FIGURES, -1, "items", 0, cpa_header()->items, items);
}

/*
 * Compare the ticks noted for the edges, on any path; some edges share a slot. Edges outlive a
 * history.
 */
static void compare_noted(void)
{
	static uint64_t noted[GROUPS];

	memset(noted, 0, sizeof(noted));
	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_EDGES)->used; i++) {
		struct cpa_edge *edge = cpa_row(CPA_TABLE_EDGES, i);

		noted[edge->slot == CPA_EDGE_SLOTLESS ? 0 : edge->slot] += edge->noted;
		edge->noted = 0;
	}
	for (unsigned k = CPA_SLOT_FIRST; k < GROUPS; k++)
		expect(NOTED, -1, "slot", k, noted[k], pag.noted[k]);
}

static void compare(void)
{
	struct cpa_path result = { 0 };

	memcpy(pag.group, online.slot,
	       (size_t)(C_ACTIVITY + history.activities) * sizeof(*pag.group));
	pag_build(&pag, &history, online.id, cpa_header()->note);
	count_events();
	for (int i = 0; i < history.events; i++)
		if (history.event[i].check)
			compare_walks(i, &online.snapshot[i]);
	for (int i = 0; i < THREADS; i++)
		if (history.last[i] >= 0)
			cpa_path_join(&online.observer, &result, &online.snapshot[history.last[i]],
				      false);
	compare_slacks(&result);
	if (claims.number % 16 == 0)
		compare_unused(history.last[0], &online.snapshot[history.last[0]]);
	cpa_path_clear(&online.observer, &result);
	compare_figures();
	compare_noted();
	expect(MATCHED, -1, "wakes", 0, online.wrong_wakes, 0);
	expect(MATCHED, -1, "matches", 0, online.wrong_matches, 0);
}

/* All tokens are free: all of them can be taken without a new row. */
static void check_session(void)
{
	static const enum cpa_diagnostic refused[] = {
		CPA_DIAG_EDGES_REFUSED,	 CPA_DIAG_THREADS_REFUSED, CPA_DIAG_VERSIONS_REFUSED,
		CPA_DIAG_TOKENS_REFUSED, CPA_DIAG_FOREIGN_UNLOCKS, CPA_DIAG_ITEMS_REFUSED
	};
	uint32_t tokens = cpa_table(CPA_TABLE_TOKENS)->used;

	for (uint32_t i = 0; i < tokens; i++)
		cpa_token_new(&online.observer, NULL);
	expect(BOUNDED, -1, "tokens", 0, cpa_table(CPA_TABLE_TOKENS)->used, tokens);
	for (unsigned i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		expect(BOUNDED, -1, "diagnostic", refused[i], cpa_header()->diag[refused[i]], 0);
	online.observer.free_tokens = NULL;
	online.observer.free_token_count = 0;
}

/*
 * Test @histories of up to @events events, @per_session in each session; in several @parts or one.
 */
static void test(uint64_t histories, int events, unsigned per_session, bool parts)
{
	static const uint32_t slots[] = { 2, 8, 16, 40, 64, 100, 256, 256, 512 };
	static const uint32_t note[] = { 0, 64, 1024, CPA_NOTE };
	const char *only = getenv("CPA_HISTORY");
	uint64_t print = only ? strtoull(only, NULL, 0) : UINT64_MAX;

	for (uint64_t n = 0; n < histories && !claims.any; n++, claims.number++) {
		struct rnd r = rnd_sequence(claims.seed, claims.number);

		if (only && n % per_session == 0 && print - claims.number >= per_session) {
			n += per_session - 1;
			claims.number += per_session - 1;
			continue;
		}
		if (n % per_session == 0) {
			uint32_t of = slots[rnd_below(&r, sizeof(slots) / sizeof(*slots))];
			int ret = online_session(&online, UINT64_C(64) << 20, of);

			if (ret) {
				printf("# no session: %s\n", strerror(-ret));
				claims.failed[BOUNDED] = claims.any = true;
				return;
			}
			cpa_header()->note = note[rnd_below(&r, sizeof(note) / sizeof(*note))];
			history.sampling = rnd_percent(&r, 60) ? SAMPLED :
					   rnd_percent(&r, 70) ? SPARSE :
								 UNSAMPLED;
			/* A function without a slot is not remembered as the latest. */
			if (of == slots[0] && history.sampling == SPARSE)
				history.sampling = UNSAMPLED;
		}
		generate(&sim, &history, r,
			 events / 3 + (int)rnd_below(&r, (uint64_t)events * 2 / 3), parts);
		online_run(&online, &history, (unsigned)rnd_below(&r, FUNCTIONS));
		if (claims.number == print)
			history_print(&history);
		compare();
		online_finish(&online);
		expect(BOUNDED, -1, "items", 0, cpa_header()->items, 0);
		if (n % per_session == per_session - 1 || n == histories - 1 || claims.any) {
			check_session();
			expect(BOUNDED, -1, "heap bytes", 0, online_session_end(&online), 0);
		}
	}
}

int main(void)
{
	bool more = claims_long();

	claims_begin(&claims);
	/* Clocks are unsigned: with every other seed those of huge times pass 2^63. */
	if (claims.seed % 2)
		start_clock = (UINT64_C(1) << 63) - (UINT64_C(1) << 53);
	test((more ? 2000000 : 150000) / SLOWER, 60, more ? 2000 : 400, false);
	test((more ? 10000 : 300) / SLOWER, 1000, 20, false);
	/* Thread rows are not used again, so the order in which they are found is known. */
	test((more ? 400000 : 30000) / SLOWER, 80, 150, true);
	test((more ? 4000 : 150) / SLOWER, 1000, 20, true);
	print_events();
	return claims_end(&claims);
}
