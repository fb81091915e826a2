/* SPDX-License-Identifier: MIT */
/*
 * tests/property/search.c - the search for the top components against vectors of all components
 *
 * A few threads do random activities in random functions, locks and regions, many more than there
 * are slots; sometimes one joins the path of another. A few components are planted: in one phase
 * they have a large part of each interval, in the next phase others have. The reference keeps L, H,
 * and the length without each component, with a slot for each of them.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "shadow/graph/activity.h"
#include "shadow/graph/search.h"
#include "tests/property/claims.h"
#include "tests/property/random.h"
#include "tests/unit/shadow_session.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 8u
#else
#define SLOWER 1u
#endif

#define LEAST	600u
#define MOST	3000u
#define THREADS 4u
#define HELD	3u
#define PLANTED 4u
#define PHASES	3u
#define STEPS	60u /* steps in a phase */

enum claim { LENGTH, BOUNDS, SAVINGS, ALONE, NAMED, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[LENGTH] = "L is what it was",
	[BOUNDS] = "the share of a component lies within the stated bounds",
	[SAVINGS] = "what zeroing it saves as well",
	[ALONE] = "who is said to be alone in a slot is",
	[NAMED] = "what has 1/m of each interval is named in time",
};

/* Present path of a thread, by component. */
struct reference {
	uint64_t len, share[MOST], without[MOST];
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

static struct {
	uint64_t named, waits, again, late;
} run;

static struct cpa_self thread[THREADS];
static struct reference truth[THREADS], before;
static uint32_t row[MOST];
static uint32_t kept[THREADS]; /* component that a thread holds across activities, + 1; 0: none */
/* consecutive steps in which it had 1/m while no set waited for a slot */
static unsigned heavy_for[MOST];
static uint32_t count, threads, planted;
static uint64_t steps, waited;

static void expect(enum claim claim, bool holds, uint32_t component, uint64_t got, uint64_t want)
{
	if (!claims_fail(&claims, claim, holds))
		return;
	if (!claims.any)
		printf("# %s: seed %llu run %llu step %llu component %u: %llu, %llu\n",
		       claim_name[claim], (unsigned long long)claims.seed,
		       (unsigned long long)claims.number, (unsigned long long)steps, component,
		       (unsigned long long)got, (unsigned long long)want);
	claims.any = true;
}

static enum cpa_component_kind kind_of(uint32_t component)
{
	static const enum cpa_component_kind kind[] = { CPA_FUNCTION, CPA_LOCK, CPA_REGION };

	return kind[component % 3];
}

static void make_component(uint32_t component)
{
	struct cpa_component_name name = { .kind = kind_of(component),
					   .address = 0x1000 + 16 * component };

	/* Functions that are divided by their callers: all parts of 64 in a row have one address. */
	if (name.kind == CPA_FUNCTION && component % 2) {
		name.by = CPA_BY_CALLERS;
		name.address = 0x1000 + 16 * (component / 64 * 64);
		name.context = component;
	}
	row[component] = cpa_component_intern(&name);
}

/* Choose a component planted in @phase, or any; its kind is @kind. */
static uint32_t choose(struct rnd *r, enum cpa_component_kind kind, unsigned phase)
{
	uint32_t component = (uint32_t)rnd_below(r, count / 3) * 3;

	if (rnd_percent(r, 60)) /* from the second half, which find no slots */
		component =
			count / 6 * 3 + 21 * (phase * PLANTED + (uint32_t)rnd_below(r, planted));
	while (kind_of(component) != kind)
		component++;
	return component;
}

static void advance_truth(struct reference *path, uint64_t process, uint64_t external,
			  const uint32_t active[], unsigned n)
{
	for (uint32_t c = 0; c < count; c++)
		path->without[c] += process + external;
	for (unsigned i = 0; i < n; i++) {
		/* A function has no external time. */
		uint64_t ticks = kind_of(active[i]) == CPA_FUNCTION ? process : process + external;

		path->share[active[i]] += ticks;
		path->without[active[i]] -= ticks;
	}
	path->len += process + external;
}

static void hold(struct cpa_self *self, uint32_t component)
{
	cpa_hold(self, row[component], cpa_component(row[component])->first);
}

/* Sometimes begin or end a section that spans activities. */
static void keep(struct rnd *r, uint32_t t, unsigned phase)
{
	if (!rnd_percent(r, 5))
		return;
	if (kept[t]) {
		cpa_unhold(&thread[t], row[kept[t] - 1]);
		kept[t] = 0;
	} else {
		kept[t] = choose(r, CPA_REGION, phase) + 1;
		hold(&thread[t], kept[t] - 1);
	}
}

/* Add @component to the @n in @active. Return their number. */
static unsigned add_active(uint32_t active[], unsigned n, uint32_t component)
{
	for (unsigned i = 0; i < n; i++)
		if (active[i] == component)
			return n;
	active[n] = component;
	return n + 1;
}

static void do_activity(struct rnd *r, uint32_t t, unsigned phase)
{
	struct cpa_self *self = &thread[t];
	struct cpa_sampled sample = { .count = 1 };
	struct cpa_span span = { .process = 1 + rnd_below(r, 1000),
				 .external = rnd_percent(r, 20) ? rnd_below(r, 500) : 0,
				 .sampled = 1,
				 .sample = &sample };
	uint32_t active[2 + HELD], nested[HELD], n;
	unsigned held = (unsigned)rnd_below(r, HELD + 1);

	assert(self->row);
	keep(r, t, phase);
	active[0] = choose(r, CPA_FUNCTION, phase);
	n = kept[t] ? add_active(active, 1, kept[t] - 1) : 1;
	sample.function = cpa_function_id(row[active[0]]);
	for (unsigned i = 0; i < held; i++) {
		nested[i] = choose(r, rnd_percent(r, 50) ? CPA_LOCK : CPA_REGION, phase);
		hold(self, nested[i]);
		n = add_active(active, n, nested[i]);
	}
	cpa_activity_end(self, &span, 0);
	/* Not always the latest first. */
	for (unsigned i = 0; i < held; i++)
		cpa_unhold(self, row[nested[(i + t) % held]]);
	advance_truth(&truth[t], span.process, span.external, active, n);
}

static void join(uint32_t local, uint32_t remote)
{
	struct reference *l = &truth[local];
	const struct reference *r = &truth[remote];

	if (local == remote)
		return;
	cpa_path_join(&thread[local], &thread[local].row->path, &thread[remote].row->path, false);
	for (uint32_t c = 0; c < count; c++)
		if (r->without[c] > l->without[c])
			l->without[c] = r->without[c];
	if (r->len > l->len) {
		l->len = r->len;
		memcpy(l->share, r->share, sizeof(l->share));
	}
}

static const struct cpa_base *base_of(uint32_t slot)
{
	static const struct cpa_base none;

	for (uint32_t i = 1; i <= cpa_table(CPA_TABLE_BASES)->used; i++) {
		const struct cpa_base *base = cpa_row(CPA_TABLE_BASES, i);

		if (base->key == slot)
			return base;
	}
	return &none;
}

/* Compare the report on @component for the path of @t. */
static void compare(uint32_t t, uint32_t component, const uint32_t users[])
{
	const struct cpa_component *c = cpa_component(row[component]);
	const struct cpa_path *path = &thread[t].row->path;
	const struct cpa_base *base = base_of(c->slot);
	uint64_t share = cpa_path_value(path, CPA_H, c->slot), earlier = 0;
	uint64_t slack = cpa_path_value(path, CPA_S, c->slot);
	uint64_t saved = truth[t].len - truth[t].without[component];
	uint64_t is = truth[t].share[component];

	for (uint32_t i = 0; i < c->earlier_count && i < CPA_EARLIER; i++)
		if (c->earlier[i] != c->slot)
			earlier += cpa_path_value(path, CPA_H, c->earlier[i]);
	if (c->earlier_count > CPA_EARLIER)
		earlier = path->len;
	expect(BOUNDS, is <= share + earlier, component, is, share + earlier);
	expect(SAVINGS, saved <= share + earlier, component, saved, share + earlier);
	if (c->shared)
		return;
	expect(ALONE, users[c->slot] == 1, component, users[c->slot], 1);
	expect(BOUNDS, share <= is + base->most, component, share, is + base->most);
	expect(SAVINGS, slack <= saved + base->most, component, slack, saved + base->most);
	if (!c->since) {
		expect(BOUNDS, share == is, component, share, is);
		expect(SAVINGS, slack == saved, component, slack, saved);
	}
}

static uint32_t longest(void)
{
	uint32_t best = 0;

	for (uint32_t t = 1; t < threads; t++)
		if (truth[t].len > truth[best].len)
			best = t;
	return best;
}

static unsigned log2_up(uint32_t n)
{
	unsigned bits = 0;

	while (n > 1u << bits)
		bits++;
	return bits;
}

/*
 * A component with 1/m of each of the last @most intervals has a slot of its own, and had in the
 * last interval.
 */
static void compare_named(uint32_t t, unsigned most)
{
	uint64_t grown = truth[t].len - before.len, all = cpa_header()->diag[CPA_DIAG_SEARCH_WAITS];
	bool waits = all != waited;

	waited = all;
	for (uint32_t i = 0; i < count; i++) {
		const struct cpa_component *c = cpa_component(row[i]);
		uint64_t part = truth[t].share[i] > before.share[i] ?
					truth[t].share[i] - before.share[i] :
					0;

		heavy_for[i] = part * cpa_component_top() >= grown && !waits ? heavy_for[i] + 1 : 0;
		if (heavy_for[i] > most)
			expect(NAMED, !c->shared, i, heavy_for[i], most);
		if (heavy_for[i] > 1 && c->shared && heavy_for[i] > run.late)
			run.late = heavy_for[i];
		run.named += c->since && !c->shared;
	}
	before = truth[t];
}

static void step(unsigned most)
{
	static uint64_t values[3][CPA_MOST_SLOTS + 8];
	static uint32_t users[CPA_MOST_SLOTS];
	uint32_t t = longest(), slots = cpa_header()->slots;
	const struct cpa_path *path = &thread[t].row->path;
	struct cpa_search_view view = { .now = ++steps,
					.len = path->len,
					.slack = values[CPA_S],
					.share = values[CPA_H],
					.observed = values[CPA_O] };

	expect(LENGTH, path->len == truth[t].len, 0, path->len, truth[t].len);
	if (path->len <= before.len)
		return;
	for (enum cpa_vector v = CPA_S; v <= CPA_O; v++)
		cpa_path_read(path, v, values[v], (slots + 7) & ~7u);
	cpa_search_step(&view);
	memset(users, 0, sizeof(users));
	for (uint32_t c = 0; c < count; c++)
		users[cpa_component(row[c])->slot]++;
	for (uint32_t c = 0; c < count; c++)
		compare(t, c, users);
	compare_named(t, most);
}

static int begin(uint32_t slots)
{
	int ret = test_session(UINT64_C(256) << 20, slots);

	memset(thread, 0, sizeof(thread));
	memset(truth, 0, sizeof(truth));
	memset(&before, 0, sizeof(before));
	memset(heavy_for, 0, sizeof(heavy_for));
	memset(kept, 0, sizeof(kept));
	steps = waited = 0;
	for (uint32_t i = 0; i < count; i++)
		make_component(i);
	for (uint32_t t = 0; t < threads && !ret; t++) {
		struct cpa_wait w = { .now = 1 };

		ret = cpa_thread_begin(&thread[t], 0, t, NULL, &w);
	}
	return ret;
}

static void end(void)
{
	run.waits += cpa_header()->diag[CPA_DIAG_SEARCH_WAITS];
	run.again += cpa_table(CPA_TABLE_BASES)->used;
	for (uint32_t t = 1; t < threads; t++)
		cpa_version_forget_spares(&thread[t]);
	test_rows_clear(&thread[0]);
	cpa_session_destroy();
}

static void test(struct rnd r)
{
	static const uint32_t sizes[] = { 64, 128, 256, 1024 };
	uint32_t slots = sizes[rnd_below(&r, 4)];
	unsigned most;

	count = LEAST + (uint32_t)rnd_below(&r, MOST - LEAST);
	threads = 1 + (uint32_t)rnd_below(&r, THREADS);
	planted = 1 + (uint32_t)rnd_below(&r, PLANTED);
	if (begin(slots)) {
		printf("# no session\n");
		claims.failed[LENGTH] = claims.any = true;
		return;
	}
	/* Intervals: from a bucket to a single slot, dividing at least by two, after a rest. */
	most = 1 + log2_up(count / 3) + (1u << CPA_SEARCH_REST);
	for (unsigned phase = 0; phase < PHASES; phase++) {
		for (unsigned i = 0; i < STEPS && !claims.any; i++) {
			for (unsigned k = 0; k < 100; k++) {
				uint32_t t = (uint32_t)rnd_below(&r, threads);

				do_activity(&r, t, phase);
				if (rnd_percent(&r, 30))
					join(t, (uint32_t)rnd_below(&r, threads));
			}
			step(most);
		}
	}
	end();
}

int main(void)
{
	uint64_t runs = claims_long() ? 600 : 30;

	claims_begin(&claims);
	for (; claims.number < runs / SLOWER && !claims.any; claims.number++)
		test(rnd_sequence(claims.seed, claims.number));
	printf("# components alone after a step %llu, waits for slots %llu, slots given again %llu, "
	       "latest after %llu steps\n",
	       (unsigned long long)run.named, (unsigned long long)run.waits,
	       (unsigned long long)run.again, (unsigned long long)run.late);
	return claims_end(&claims);
}
