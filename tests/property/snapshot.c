/* SPDX-License-Identifier: MIT */
/*
 * tests/property/snapshot.c - the result at a boundary equals that of the graph cut there
 *
 * Random programs (generate.h) are replayed through the online algebra, with boundaries only a few
 * events apart. Each sample of the series (shadow/graph/series.h) is kept when it is taken, in the
 * middle of the replay. Afterwards it must equal the result of a search of the graph that contains,
 * for each thread, exactly the events before the boundary. No event of such a cut may depend on one
 * outside; this is checked too. CPA_SEED=n repeats a run, CPA_LONG=1 runs more.
 */
#include <errno.h>

#include "shadow/graph/series.h"

#include "tests/property/claims.h"
#include "tests/property/generate.h"
#include "tests/property/online.h"
#include "tests/property/pag.h"

#define KEPT  64
#define SLOTS 256u

/* A sample, and the event that was being replayed when it was taken. */
struct kept {
	int at;
	uint64_t boundary, before, field[CPA_SERIES_FIELDS];
	uint64_t share[SLOTS], slack[SLOTS], total[SLOTS];
};

enum claim { FEASIBLE, LENGTH, SLACK, SHARE, OBSERVED, SUMS, MONOTONE, BOUNDED, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[FEASIBLE] = "no event before a boundary depends on one behind it",
	[LENGTH] = "L is the longest path before the boundary",
	[SLACK] = "S is what zeroing saves there",
	[SHARE] = "H is the share of the longest path there",
	[OBSERVED] = "the observed path is that of the thread with the latest event there",
	[SUMS] = "process, external and run-queue time are those of the same events",
	[MONOTONE] = "paths and sums grow from one boundary to the next, and sums bound the path",
	[BOUNDED] = "all memory given back",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "histories" };

static struct {
	uint64_t halfway; /* threads that waited at the boundary */
} run;

static struct sim sim;
static struct history history;
static struct online online;
static struct pag pag;
static struct kept kept[KEPT];
static unsigned cuts;

static void expect(enum claim claim, const struct kept *k, const char *what, unsigned n,
		   uint64_t have, uint64_t want)
{
	if (!claims_fail(&claims, claim, have == want))
		return;
	if (!claims.any)
		history_print(&history);
	claims.any = true;
	printf("# %s: seed %llu history %llu boundary %llu at event %d, %s %u: %llu, reference %llu\n",
	       claim_name[claim], (unsigned long long)claims.seed,
	       (unsigned long long)claims.number,
	       (unsigned long long)k->boundary * cpa_header()->period, k->at, what, n,
	       (unsigned long long)have, (unsigned long long)want);
}

static void keep(struct cpa_self *self, const struct cpa_cut *now, const struct cpa_cut *before)
{
	struct kept *k = &kept[cuts];

	(void)self;
	if (cuts == KEPT)
		return;
	cuts++;
	memset(k, 0, sizeof(*k));
	k->at = online.at;
	k->boundary = now->boundary;
	k->before = before->boundary;
	memcpy(k->field, now->field, sizeof(k->field));
	memcpy(k->share, now->share, now->slots * sizeof(*k->share));
	memcpy(k->slack, now->slack, now->slots * sizeof(*k->slack));
	memcpy(k->total, now->total, now->slots * sizeof(*k->total));
}

/*
 * Progress of a thread at the boundary. Some are late to execute an event before it, like a thread
 * switched out in the middle; such an event is not included.
 */
struct state {
	int last; /* last event; -1: not started */
	int half; /* event whose activity had ended but not its wait; -1: none */
};

static struct state state_of(const struct kept *k, int thread)
{
	uint64_t clock = k->boundary * cpa_header()->period;
	struct state s = { -1, -1 };

	for (int i = 0; i < history.events; i++) {
		const struct event *e = &history.event[i];

		if (e->thread != thread)
			continue;
		if (e->now < clock && i < k->at)
			s.last = i;
		else if (s.last >= 0 && s.half < 0 && e->local == s.last && e->arrived < clock &&
			 i <= k->at)
			s.half = i;
	}
	run.halfway += s.half >= 0;
	return s;
}

/*
 * Return the length of the longest path to @s when @group weighs nothing (0: all weigh); @to: by
 * event.
 */
static uint64_t length(const struct state *s, unsigned group, const uint64_t to[])
{
	const struct pag_node *n;

	if (s->half < 0)
		return s->last < 0 ? 0 : to[s->last];
	n = &pag.node[s->half];
	return to[s->last] + n->weight - (group ? pag_active(n, group) : 0);
}

static void check_feasible(const struct kept *k, const struct state state[])
{
	for (int t = 0; t < THREADS; t++) {
		for (int i = state[t].last; i >= 0; i = history.event[i].local) {
			const struct event *e = &history.event[i];

			for (int p = 0; p < e->count; p++) {
				int pred = history.pred[e->first + p];

				expect(FEASIBLE, k, "event", (unsigned)i,
				       pred > state[history.event[pred].thread].last, false);
			}
		}
	}
}

static void check_sums(const struct kept *k, const struct state state[])
{
	uint64_t process = 0, external = 0, runqueue = 0;

	for (int t = 0; t < THREADS; t++) {
		int i = state[t].half >= 0 ? state[t].half : state[t].last;

		for (; i >= 0; i = history.event[i].local) {
			process += history.event[i].activity.process;
			external += history.event[i].activity.external;
			runqueue += history.event[i].activity.runqueue;
		}
	}
	expect(SUMS, k, "process", 0, k->field[CPA_SERIES_PROCESS], process);
	expect(SUMS, k, "external", 0, k->field[CPA_SERIES_EXTERNAL], external);
	expect(SUMS, k, "run queue", 0, k->field[CPA_SERIES_RUNQUEUE], runqueue);
	expect(MONOTONE, k, "work below path", 0, process + external < k->field[CPA_SERIES_LEN],
	       false);
}

static uint64_t longest(const struct state state[], unsigned group, const uint64_t to[], int *who)
{
	uint64_t best = 0;

	*who = -1;
	for (int t = 0; t < THREADS; t++) {
		uint64_t len = length(&state[t], group, to);

		/* -2: several threads. */
		*who = len > best ? t : len == best && *who != -1 ? -2 : *who;
		best = len > best ? len : best;
	}
	return best;
}

static void check_share(const struct kept *k, const struct state *s)
{
	pag_walk_longest(&pag, s->last);
	if (s->half >= 0)
		pag_walk_activity(&pag, s->half, false);
	for (unsigned i = 0; i < pag.used; i++)
		expect(SHARE, k, "slot", pag.list[i], k->share[pag.list[i]],
		       pag.share[pag.list[i]]);
}

static uint64_t stamp(const struct state *s)
{
	if (s->half >= 0)
		return history.event[s->half].arrived;
	return s->last < 0 ? 0 : history.event[s->last].now;
}

static void check_observed(const struct kept *k, const struct state state[])
{
	const struct state *latest = &state[0];
	bool tie = false;

	for (int t = 1; t < THREADS; t++) {
		if (stamp(&state[t]) >= stamp(latest))
			tie = stamp(&state[t]) == stamp(latest);
		if (stamp(&state[t]) > stamp(latest))
			latest = &state[t];
	}
	if (tie || latest->last < 0)
		return;
	expect(OBSERVED, k, "clock", 0, k->field[CPA_SERIES_RELEASED], stamp(latest));
	pag_walk_observed(&pag, latest->last);
	if (latest->half >= 0)
		pag_walk_activity(&pag, latest->half, true);
	for (unsigned i = 0; i < TIME_KINDS; i++)
		expect(OBSERVED, k, "kind", i, k->field[CPA_SERIES_OBSERVED + i], pag.kind[i]);
}

static void compare(const struct kept *k, uint64_t *whole)
{
	struct state state[THREADS];
	uint64_t len;
	int who, any;

	for (int t = 0; t < THREADS; t++)
		state[t] = state_of(k, t);
	check_feasible(k, state);
	check_sums(k, state);
	for (int i = 0; i < history.events; i++)
		whole[i] = pag.node[i].longest;
	len = longest(state, 0, whole, &who);
	expect(LENGTH, k, "L", 0, k->field[CPA_SERIES_LEN], len);
	check_observed(k, state);
	if (who >= 0)
		check_share(k, &state[who]);
	for (unsigned i = 0; i < pag.used; i++) {
		pag_longest(&pag, pag.list[i], pag.net);
		expect(SLACK, k, "slot", pag.list[i], k->slack[pag.list[i]],
		       len - longest(state, pag.list[i], pag.net, &any));
	}
}

static void compare_order(void)
{
	for (unsigned i = 1; i < cuts; i++) {
		expect(MONOTONE, &kept[i], "before", 0, kept[i].before, kept[i - 1].boundary);
		expect(MONOTONE, &kept[i], "L", 0,
		       kept[i].field[CPA_SERIES_LEN] < kept[i - 1].field[CPA_SERIES_LEN], false);
		for (unsigned f = CPA_SERIES_BEFORE; f < CPA_SERIES_FIELDS; f++)
			expect(MONOTONE, &kept[i], "field", f,
			       kept[i].field[f] < kept[i - 1].field[f], false);
		for (unsigned slot = 0; slot < SLOTS; slot++)
			expect(MONOTONE, &kept[i], "total", slot,
			       kept[i].total[slot] < kept[i - 1].total[slot], false);
	}
}

/* Return a power of two that gives the history between a few and some dozen boundaries. */
static uint64_t period_of(struct rnd *r)
{
	uint64_t span = history.event[history.events - 1].now - start_clock, period = 1;

	while (period < span >> (2 + rnd_below(r, 4)))
		period *= 2;
	return period;
}

static void test_one(struct rnd r, int events)
{
	uint64_t *whole;
	int ret = online_session(&online, UINT64_C(64) << 20, SLOTS);

	if (ret) {
		printf("# no session: %s\n", strerror(-ret));
		claims.failed[BOUNDED] = claims.any = true;
		return;
	}
	history.sampling = rnd_percent(&r, 60) ? SAMPLED : SPARSE;
	generate(&sim, &history, r, events / 3 + (int)rnd_below(&r, (uint64_t)events * 2 / 3),
		 false);
	cpa_header()->period = period_of(&r);
	cpa_series_init(start_clock);
	cuts = 0;
	online_run(&online, &history, (unsigned)rnd_below(&r, FUNCTIONS));
	memcpy(pag.group, online.slot,
	       (size_t)(C_ACTIVITY + history.activities) * sizeof(*pag.group));
	pag_build(&pag, &history, online.id, cpa_header()->note);
	whole = malloc((size_t)history.events * sizeof(*whole));
	for (unsigned i = 0; i < cuts && whole; i++)
		compare(&kept[i], whole);
	compare_order();
	free(whole);
	online_finish(&online);
	expect(BOUNDED, &kept[0], "heap bytes", 0, online_session_end(&online), 0);
}

int main(void)
{
	bool more = claims_long();
	uint64_t histories = more ? 4000 : 600;

	claims_begin(&claims);
	cpa_series_hook = keep;
	for (; claims.number < histories && !claims.any; claims.number++)
		test_one(rnd_sequence(claims.seed, claims.number), claims.number % 20 ? 80 : 600);
	printf("# threads in a wait at a boundary: %llu\n", (unsigned long long)run.halfway);
	return claims_end(&claims);
}
