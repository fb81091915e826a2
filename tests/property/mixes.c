/* SPDX-License-Identifier: MIT */
/*
 * tests/property/mixes.c - functions of activities, against all that was ever sampled
 *
 * A few threads do random activities of any length between the same few events; some have samples,
 * at rates that change. The reference keeps a list of all samples with thread, edge and class of
 * duration, and divides each activity by the rules of shadow/graph/mixes.h as they are written
 * there, from that list alone; what they do not know, by the rule of shadow/graph/owed.h. Every function must have the same time, to the tick.
 */
#include <stdio.h>
#include <string.h>

#include "shadow/graph/mixes.h"
#include "shadow/graph/run.h"
#include "tests/property/claims.h"
#include "tests/property/random.h"
#include "tests/unit/shadow_session.h"

#define THREADS	  3u
#define EDGES	  3u
#define FUNCTIONS CPA_MIX /* more would replace each other */
#define STEPS	  600u
#define LOG_MOST  27u /* of a length in ticks */
#define ANY	  UINT32_MAX

enum claim { TIMES, ALL, CLAIMS };

static const char *const claim_name[CLAIMS] = {
	[TIMES] = "each thread's functions have the time that the rules give them",
	[ALL] = "all process time belongs to a function",
};

static struct claims claims = { .name = claim_name, .count = CLAIMS, .what = "runs" };

/* Samples of one function in one activity. */
struct learnt {
	uint32_t thread, edge, class, function; /* indexes, except for the class */
	uint32_t samples;
	int64_t credit;
};

/* What a choice of samples says of one function. */
struct sum {
	uint64_t samples;
	int64_t credit;
};

static struct learnt learnt[STEPS * FUNCTIONS];
static unsigned count;
static unsigned credit_since[THREADS]; /* index in `learnt`: credit of a thread begins there */
static uint64_t period_of[THREADS];
static uint32_t last[THREADS]; /* slot of the function that has what nothing is known of */
/* What is owed to a function, and the functions in the order in which anything was, which decides between equal ones. */
static int64_t owed[THREADS][FUNCTIONS];
static int64_t had[THREADS]; /* unknown time that a function had since the latest sample */
static uint32_t first_owed[THREADS][FUNCTIONS], owed_count[THREADS];
static uint64_t truth[THREADS][CPA_MOST_SLOTS];
static struct cpa_self thread[THREADS];
static uint32_t slot[FUNCTIONS], id[FUNCTIONS];

/* Of @function on @edge: samples of @t and of @class, each may be ANY. */
static struct sum sum_of(uint32_t t, uint32_t edge, uint32_t class, uint32_t function)
{
	struct sum sum = { 0, 0 };

	for (unsigned i = 0; i < count; i++) {
		const struct learnt *l = &learnt[i];

		if (l->edge != edge || l->function != function || (t != ANY && l->thread != t) ||
		    (class != ANY && l->class != class))
			continue;
		sum.samples += l->samples;
		if (t == ANY || i >= credit_since[t])
			sum.credit += l->credit;
	}
	return sum;
}

static bool has_any(uint32_t t, uint32_t edge, uint32_t class)
{
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		if (sum_of(t, edge, class, f).samples)
			return true;
	return false;
}

/* Return the nearest class in which @t has samples on @edge, the shorter of two; ANY: none. */
static uint32_t nearest_class(uint32_t t, uint32_t edge, uint32_t class)
{
	uint32_t best = ANY;

	for (uint32_t c = 0; c < CPA_MIX_CLASSES; c++)
		if (has_any(t, edge, c) &&
		    (best == ANY || abs((int)c - (int)class) < abs((int)best - (int)class)))
			best = c;
	return best;
}

/*
 * Set @weight of the functions that @t (ANY: all threads) has on @edge in @class: credit of @t, or
 * else of @lender, or else samples. @user: only what that thread has on the edge; ANY: everything.
 */
static bool weigh(uint32_t t, uint32_t lender, uint32_t user, uint32_t edge, uint32_t class,
		  uint64_t weight[FUNCTIONS])
{
	bool any = false;

	for (int way = 0; way < 3 && !any; way++) {
		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			struct sum sum = sum_of(t, edge, class, f);
			int64_t w = way == 0 ? sum.credit :
				    way == 1 ? sum_of(lender, edge, class, f).credit :
					       (int64_t)sum.samples;

			weight[f] = 0;
			if (sum.samples && w > 0 &&
			    (user == ANY || sum_of(user, edge, ANY, f).samples))
				weight[f] = (uint64_t)w;
			any |= weight[f] > 0;
		}
	}
	return any;
}

/* The rules of shadow/graph/mixes.h, in their order. */
static bool weights_of(uint32_t t, uint32_t edge, uint32_t class, uint64_t weight[FUNCTIONS])
{
	bool own = has_any(t, edge, ANY);

	if (has_any(t, edge, class))
		return weigh(t, ANY, ANY, edge, class, weight);
	if (has_any(ANY, edge, class) && weigh(ANY, ANY, own ? t : ANY, edge, class, weight))
		return true;
	if (own)
		return weigh(t, ANY, ANY, edge, nearest_class(t, edge, class), weight);
	if (has_any(ANY, edge, ANY))
		return weigh(ANY, ANY, ANY, edge, nearest_class(ANY, edge, class), weight);
	return false;
}

/* The thread's words are in the order in which it met the functions: the last has what is left. */
static unsigned in_order(uint32_t t, uint32_t edge, uint32_t class, const uint64_t weight[],
			 uint32_t order[FUNCTIONS])
{
	unsigned n = 0;

	for (unsigned i = 0; i < count; i++) {
		const struct learnt *l = &learnt[i];
		bool listed = false;

		if (l->edge != edge || l->class != class || (t != ANY && l->thread != t))
			continue;
		for (unsigned k = 0; k < n; k++)
			listed |= order[k] == l->function;
		if (!listed && weight[l->function])
			order[n++] = l->function;
	}
	return n;
}

/* @ticks are owed to @function, from now on at the latest. */
static void owe(uint32_t t, uint32_t function, int64_t ticks)
{
	bool listed = false;

	for (uint32_t i = 0; i < owed_count[t]; i++)
		listed |= first_owed[t][i] == function;
	if (!listed)
		first_owed[t][owed_count[t]++] = function;
	owed[t][function] += ticks;
}

/* @t is charged with @ticks of which nothing is known. */
static void charge_unknown(uint32_t t, uint64_t ticks)
{
	truth[t][last[t]] += ticks;
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		if (slot[f] == last[t])
			had[t] += (int64_t)ticks;
}

/*
 * The rule of shadow/graph/owed.h, for an activity with samples of @function; @known: of its edge something was known.
 */
static void choose_owed(uint32_t t, const struct cpa_span *span, const uint32_t function[],
			bool known)
{
	int64_t rest = (int64_t)span->sampled_ticks - (int64_t)span->process, sum = 0;

	for (uint32_t f = 0; f < FUNCTIONS; f++)
		if (slot[f] == last[t])
			owe(t, f, -had[t]);
	had[t] = 0;
	for (unsigned i = 0; i < span->sampled; i++)
		sum += span->sample[i].count;
	for (unsigned i = 0; i < span->sampled && !known; i++) {
		int64_t part = rest * span->sample[i].count / sum;

		owe(t, function[i], part);
		rest -= part;
		sum -= span->sample[i].count;
	}
	last[t] = slot[owed_count[t] ? first_owed[t][0] : function[span->sampled - 1]];
	for (uint32_t i = 1; i < owed_count[t]; i++) {
		uint32_t best = 0;

		while (slot[best] != last[t])
			best++;
		if (owed[t][first_owed[t][i]] > owed[t][best])
			last[t] = slot[first_owed[t][i]];
	}
}

static void charge_without(uint32_t t, uint32_t edge, uint64_t ticks)
{
	uint32_t class = cpa_mix_class(ticks), order[FUNCTIONS], of = t, from = class;
	uint64_t weight[FUNCTIONS], sum = 0, rest = ticks;
	unsigned n;

	if (!weights_of(t, edge, class, weight)) {
		charge_unknown(t, ticks);
		return;
	}
	/* Whose mix it was decides about the order only, thus about single ticks. */
	if (!has_any(t, edge, class)) {
		bool own = has_any(t, edge, ANY);

		of = ANY;
		if (!has_any(ANY, edge, class) ||
		    (own && !weigh(ANY, ANY, t, edge, class, weight))) {
			of = own ? t : ANY;
			from = nearest_class(of, edge, class);
			weigh(of, ANY, ANY, edge, from, weight);
		}
	}
	n = in_order(of, edge, from, weight, order);
	for (unsigned i = 0; i < n; i++)
		sum += weight[order[i]];
	for (unsigned i = 0; i < n; i++) {
		uint64_t part = i == n - 1 ? rest :
					     ticks * (UINT32_MAX / sum * weight[order[i]]) >> 32;

		truth[t][slot[order[i]]] += part;
		rest -= part;
	}
}

static void charge_with(uint32_t t, uint32_t edge, const struct cpa_span *span,
			const uint32_t function[])
{
	uint64_t rest = span->process, sum = 0;
	bool known = has_any(ANY, edge, ANY);

	if (span->sample_period != period_of[t]) {
		period_of[t] = span->sample_period;
		credit_since[t] = count;
	}
	for (unsigned i = 0; i < span->sampled; i++)
		sum += span->sample[i].count;
	for (unsigned i = 0; i < span->sampled; i++) {
		uint64_t n = span->sample[i].count, part = rest * n / sum;
		int64_t more = (int64_t)span->sampled_ticks - (int64_t)span->process;
		bool is_long = span->process > CPA_MIX_LONG * span->sample_period;

		truth[t][slot[function[i]]] += part;
		rest -= part;
		sum -= n;
		learnt[count++] = (struct learnt){
			t,
			edge,
			cpa_mix_class(span->process),
			function[i],
			(uint32_t)n,
			is_long ? 0 :
				  more * CPA_MIX_UNITS * (int64_t)n / (int64_t)span->sampled_ticks,
		};
	}
	choose_owed(t, span, function, known);
}

static uint64_t any_length(struct rnd *r)
{
	uint64_t most = UINT64_C(2) << rnd_below(r, LOG_MOST);

	return most / 2 + rnd_below(r, most / 2);
}

static void step(struct rnd *r)
{
	static const uint64_t periods[] = { 1 << 20, 1 << 22, 1 << 23 };
	uint32_t t = (uint32_t)rnd_below(r, THREADS), edge = (uint32_t)rnd_below(r, EDGES);
	struct cpa_sampled sample[2];
	struct cpa_span span = { .process = any_length(r), .sample = sample };
	uint32_t function[FUNCTIONS], samples = 0;
	unsigned hint = 0;

	thread[t].row->node = 1 + edge;
	if (rnd_percent(r, 60)) {
		charge_without(t, edge, span.process);
		cpa_activity_run(&thread[t], span.process, 1 + edge, &hint);
		return;
	}
	span.sample_period = rnd_percent(r, 95) && period_of[t] ? period_of[t] :
								  periods[rnd_below(r, 3)];
	function[0] = (uint32_t)rnd_below(r, FUNCTIONS);
	span.sampled = 1 + (uint32_t)rnd_below(r, 2);
	for (unsigned i = 0; i < span.sampled; i++) {
		function[i] = (function[0] + i) % FUNCTIONS;
		sample[i] = (struct cpa_sampled){ id[function[i]], 1 + (uint32_t)rnd_below(r, 3) };
		samples += sample[i].count;
	}
	span.sampled_ticks = samples * span.sample_period;
	charge_with(t, edge, &span, function);
	cpa_activity_end(&thread[t], &span, 1 + edge);
}

static int begin(void)
{
	int ret = test_session(UINT64_C(64) << 20, 64);

	memset(thread, 0, sizeof(thread));
	memset(truth, 0, sizeof(truth));
	memset(credit_since, 0, sizeof(credit_since));
	memset(period_of, 0, sizeof(period_of));
	memset(owed, 0, sizeof(owed));
	memset(had, 0, sizeof(had));
	memset(owed_count, 0, sizeof(owed_count));
	count = 0;
	for (uint32_t f = 0; f < FUNCTIONS && !ret; f++) {
		/* Two functions, each in two parts by who called it. */
		struct cpa_component_name name = { .kind = CPA_FUNCTION,
						   .by = CPA_BY_CALLERS,
						   .address = 4096 * (f / 2 + 1),
						   .context = f + 1 };

		id[f] = cpa_function_id(cpa_component_intern(&name));
		slot[f] = cpa_function_slot(id[f]);
	}
	for (uint32_t t = 0; t < THREADS && !ret; t++) {
		struct cpa_wait w = { .now = 1 };

		last[t] = CPA_SLOT_UNSAMPLED;
		ret = cpa_thread_begin(&thread[t], 0, t, NULL, &w);
	}
	return ret;
}

static void compare(void)
{
	for (uint32_t t = 0; t < THREADS; t++) {
		const uint64_t *total = cpa_at(thread[t].row->totals);
		uint64_t all = total[CPA_SLOT_UNSAMPLED];

		for (uint32_t f = 0; f < FUNCTIONS; f++) {
			uint64_t found = total[slot[f]], right = truth[t][slot[f]];

			all += found;
			if (!claims_fail(&claims, TIMES, found == right))
				continue;
			printf("# thread %u, function %u: %llu ticks, not %llu\n", t, f,
			       (unsigned long long)found, (unsigned long long)right);
			claims.any = true;
		}
		claims.any |= claims_fail(&claims, ALL, all == thread[t].row->process);
	}
}

static void test(struct rnd r)
{
	unsigned steps = 1 + (unsigned)rnd_below(&r, STEPS);

	if (begin()) {
		printf("# no session\n");
		claims.failed[TIMES] = claims.any = true;
		return;
	}
	for (unsigned i = 0; i < steps && !claims.any; i++) {
		step(&r);
		compare();
	}
	for (uint32_t t = 1; t < THREADS; t++)
		cpa_version_forget_spares(&thread[t]);
	test_rows_clear(&thread[0]);
	cpa_session_destroy();
}

int main(void)
{
	uint64_t runs = claims_long() ? 2000 : 100;

	claims_begin(&claims);
	for (; claims.number < runs && !claims.any; claims.number++)
		test(rnd_sequence(claims.seed, claims.number));
	return claims_end(&claims);
}
