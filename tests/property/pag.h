/* SPDX-License-Identifier: MIT */
/*
 * tests/property/pag.h - the reference: searches the explicit program activity graph
 *
 * Slow and obvious on purpose. An activity weighs its process and external time, a dependency
 * nothing. What is computed, for any event:
 *
 *   L      the longest path that ends there
 *   N[c]   the longest path when activities weigh nothing for as long as c is active; S = L - N
 *   H[c]   time of c on the longest path, found by walking back
 *   O[c]   time of c on the observed path, found by walking back: at an event whose latest
 *          predecessor released after the arrival continue there, else in the same thread
 *
 * An edge of the summary is no component: of one activity in so many ticks H and O are noted, for
 * all since the last one.
 *
 * Dependencies by a lock that is a queue's own, or made inside a queue's code, are there for the
 * observed path only.
 */
#ifndef CPA_TESTS_PAG_H
#define CPA_TESTS_PAG_H

#include "shadow/graph/summary.h"
#include "tests/property/history.h"

#define GROUPS	 4096
#define PORTIONS (2 + SAMPLES + SECTIONS + 2)

/*
 * Ticks during which a component (its group) was active in one activity. For `noted` of an edge:
 * ticks added to the path's shares, without slack.
 */
struct portion {
	unsigned group;
	bool noted;
	bool idle; /* of the observed path alone */
	uint64_t ticks;
};

/* Sampling points in a thread's time in short activities, see shadow/graph/summary.h. */
struct noting {
	uint64_t time, last, next;
	uint32_t numbers, note, notes;
};

struct pag_node {
	uint64_t weight, longest;
	uint64_t external; /* on the observed path to here */
	int final;	   /* of OP_RESTART: the event that the observed path comes from */
	unsigned portions;
	struct portion portion[PORTIONS];
};

struct pag {
	const struct history *h;
	const uint32_t *id; /* id of the thread, by event */
	uint32_t note;	    /* header.note */
	/* Components share a group as they share a slot online; group 0 is not checked. */
	unsigned group[COMPONENTS];
	unsigned used, list[GROUPS]; /* groups that occur */
	bool listed[GROUPS];
	int room;
	struct pag_node *node;
	uint64_t *net;		/* N of one group for all events */
	uint64_t noted[GROUPS]; /* ticks noted for all activities of an edge */
	/* Results of the last walk back. */
	uint64_t share[GROUPS], kind[TIME_KINDS];
};

static void pag_portion(struct pag *g, struct pag_node *n, unsigned component, uint64_t ticks)
{
	unsigned group = g->group[component];

	if (!group || !ticks)
		return;
	if (!g->listed[group]) {
		g->listed[group] = true;
		g->list[g->used++] = group;
	}
	for (unsigned i = 0; i < n->portions; i++) {
		if (n->portion[i].group == group) {
			n->portion[i].ticks += ticks;
			return;
		}
	}
	n->portion[n->portions++] = (struct portion){ .group = group, .ticks = ticks };
}

static void pag_note_begin(struct noting *n, uint32_t id, uint32_t note)
{
	struct cpa_noting begun;

	cpa_summary_begin(&begun, id, note);
	/* Sampling starts with the clock: there is no earlier point. */
	*n = (struct noting){
		.time = begun.since, .next = begun.apart, .numbers = begun.numbers, .note = note
	};
}

/* Return the ticks noted for the edge of an activity of @ticks, of thread @id. */
static uint64_t pag_note(struct noting *n, uint32_t id, uint64_t ticks)
{
	bool longer = ticks >= n->note;
	uint64_t all = longer ? ticks : 0;

	n->time += longer ? 0 : ticks;
	while (!longer && n->next <= n->time) {
		all += n->next - n->last;
		n->last = n->next;
		n->next += cpa_summary_apart(id, n->numbers++, n->note);
	}
	if ((longer || all) && ++n->notes % CPA_NOTES == 0)
		n->note *= 2;
	return all;
}

/* Collect the active sections, each group once. */
static void pag_held(struct pag *g, struct pag_node *n, unsigned held)
{
	for (unsigned c = 0; c < SECTIONS; c++) {
		bool counted = false;

		if (!(held & 1u << c))
			continue;
		for (unsigned b = 0; b < c; b++)
			counted |= held & 1u << b && g->group[C_LOCK + b] == g->group[C_LOCK + c];
		if (!counted)
			pag_portion(g, n, C_LOCK + c, n->weight);
	}
}

/* Divide process time in proportion to the samples; the remainder is passed on. */
static void pag_functions(struct pag *g, struct pag_node *n, const struct activity *a)
{
	uint64_t rest = a->process, weights = 0;

	if (!a->sampled)
		pag_portion(g, n, a->unsampled, a->process);
	for (unsigned i = 0; i < a->sampled; i++)
		weights += a->weight[i];
	for (unsigned i = 0; i < a->sampled && weights; i++) {
		uint64_t ticks = (uint64_t)((unsigned __int128)rest * a->weight[i] / weights);

		pag_portion(g, n, C_FUNCTION + a->function[i], ticks);
		rest -= ticks;
		weights -= a->weight[i];
	}
}

static void pag_weigh(struct pag *g)
{
	const struct history *h = g->h;
	struct noting noting[THREADS] = { 0 };

	memset(g->noted, 0, sizeof(g->noted));
	for (int i = 0; i < h->events; i++) {
		const struct event *e = &h->event[i];
		struct pag_node *n = &g->node[i];
		unsigned portions;
		uint64_t noted;
		bool idle;

		if (e->op == OP_START)
			pag_note_begin(&noting[e->thread], g->id[i], g->note);
		n->portions = 0;
		idle = external_idle[e->activity.external_kind];
		n->weight = e->activity.process + (idle ? 0 : e->activity.external);
		pag_functions(g, n, &e->activity);
		portions = n->portions;
		pag_portion(g, n, C_EXTERNAL + e->activity.external_kind, e->activity.external);
		if (n->portions > portions)
			n->portion[portions].idle = idle;
		pag_portion(g, n, C_THREAD + h->routine[e->thread], n->weight);
		pag_held(g, n, e->activity.held);
		if (e->activity.component < 0)
			continue;
		portions = n->portions;
		noted = pag_note(&noting[e->thread], g->id[i], n->weight);
		g->noted[g->group[e->activity.component]] += noted;
		pag_portion(g, n, (unsigned)e->activity.component, noted);
		n->portion[portions].noted = n->portions > portions;
	}
}

static uint64_t pag_active(const struct pag_node *n, unsigned group)
{
	for (unsigned i = 0; i < n->portions; i++)
		if (n->portion[i].group == group && !n->portion[i].noted && !n->portion[i].idle)
			return n->portion[i].ticks;
	return 0;
}

/* Return the dependencies of @e that the inherent path may follow. */
static int pag_inherent(const struct history *h, const struct event *e)
{
	switch (e->op) {
	case OP_LOCK:
	case OP_READ_LOCK:
	case OP_WRITE_LOCK:
	case OP_WAIT:
	case OP_SEM_WAIT:
	case OP_LEAVE:
	case OP_ONCE:
	case OP_FUTEX_WAIT:
		return e->inner || h->object[e->object].own ? 0 : e->count;
	default:
		return e->count;
	}
}

/* Dependencies on an earlier part of the run do not count, except that of a start on the stop. */
static bool pag_is_edge(const struct history *h, const struct event *e, int k)
{
	return e->op == OP_RESTART || h->event[h->pred[e->first + k]].part == e->part;
}

/* Compute the longest path to each event when @group weighs nothing (0: all weigh). */
static void pag_longest(struct pag *g, unsigned group, uint64_t to[])
{
	const struct history *h = g->h;

	for (int i = 0; i < h->events; i++) {
		const struct event *e = &h->event[i];
		int preds = pag_inherent(h, e);
		uint64_t best = 0;

		if (e->local >= 0)
			best = to[e->local] + g->node[i].weight -
			       (group ? pag_active(&g->node[i], group) : 0);
		for (int k = 0; k < preds; k++)
			if (pag_is_edge(h, e, k) && to[h->pred[e->first + k]] > best)
				best = to[h->pred[e->first + k]];
		to[i] = best;
	}
}

/*
 * At a restart the observed path comes from the latest of the last events before; of those that ended
 * with the part, from the one with the least external time. But a thread that was not asleep keeps its own.
 */
static int pag_final(const struct pag *g, const struct event *e)
{
	const struct history *h = g->h;
	int best = -1;

	for (int k = 0; k < e->count; k++) {
		int p = h->pred[e->first + k];
		uint64_t at = h->event[p].released, latest = best < 0 ? 0 : h->event[best].released;

		if (best < 0 || at > latest ||
		    (at == latest && g->node[p].external < g->node[best].external))
			best = p;
	}
	return h->event[best].released > h->event[e->local].released ? best : e->local;
}

/* Compute the external time on the observed path to each event, and what restarts come from. */
static void pag_observe(struct pag *g)
{
	const struct history *h = g->h;

	for (int i = 0; i < h->events; i++) {
		const struct event *e = &h->event[i];
		struct pag_node *n = &g->node[i];
		int from = e->local;
		uint64_t more = e->activity.external;

		if (e->op == OP_RESTART) {
			from = n->final = pag_final(g, e);
			more = clock_on(h, e->now) - clock_on(h, h->event[from].now);
		} else if (e->latest >= 0 && h->event[e->latest].now > e->arrived) {
			from = e->latest;
			more = 0;
		}
		n->external = (from < 0 ? 0 : g->node[from].external) + more;
	}
}

/*
 * Build the graph of @h and its groups, @id and @note as in struct pag; results are valid until the
 * next call.
 */
static void pag_build(struct pag *g, const struct history *h, const uint32_t *id, uint32_t note)
{
	g->h = h;
	g->id = id;
	g->note = note;
	if (h->events > g->room) {
		g->room = h->events * 2;
		g->node = realloc(g->node, (size_t)g->room * sizeof(*g->node));
		g->net = realloc(g->net, (size_t)g->room * sizeof(*g->net));
		if (!g->node || !g->net)
			abort();
	}
	for (unsigned i = 0; i < g->used; i++)
		g->listed[g->list[i]] = false;
	g->used = 0;
	pag_weigh(g);
	pag_longest(g, 0, g->net);
	for (int i = 0; i < h->events; i++)
		g->node[i].longest = g->net[i];
	pag_observe(g);
}

static void pag_walk_begin(struct pag *g)
{
	for (unsigned i = 0; i < g->used; i++)
		g->share[g->list[i]] = 0;
	memset(g->kind, 0, sizeof(g->kind));
}

static void pag_walk_activity(struct pag *g, int i, bool observed)
{
	const struct activity *a = &g->h->event[i].activity;
	const struct pag_node *n = &g->node[i];

	for (unsigned k = 0; k < n->portions; k++)
		if (observed || !n->portion[k].idle)
			g->share[n->portion[k].group] += n->portion[k].ticks;
	g->kind[T_PROCESS] += a->process;
	g->kind[T_EXTERNAL] += a->external;
	g->kind[T_RUNQUEUE] += a->runqueue;
	g->kind[T_PROBE] += a->probe;
}

/* Return the predecessor on the longest path: the local one on a tie, then in the given order. */
static int pag_longest_pred(const struct pag *g, int i)
{
	const struct event *e = &g->h->event[i];
	int pred = -1, preds = pag_inherent(g->h, e);
	uint64_t best = 0;

	if (e->local >= 0) {
		pred = e->local;
		best = g->node[e->local].longest + g->node[i].weight;
	}
	for (int k = 0; k < preds; k++) {
		int p = g->h->pred[e->first + k];

		if (pag_is_edge(g->h, e, k) && (pred < 0 || g->node[p].longest > best)) {
			pred = p;
			best = g->node[p].longest;
		}
	}
	return pred;
}

/* Add the last @ticks of the wait for @e, which passed after the release, to the kinds of time. */
static void pag_latency(struct pag *g, const struct event *e, uint64_t ticks)
{
	uint64_t ready = ready_of(e) < ticks ? ready_of(e) : ticks;

	g->kind[T_RUNQUEUE] += ready;
	g->kind[T_HANDOFF] += ticks - ready;
}

/* Compute H of event @i into g->share. */
static void pag_walk_longest(struct pag *g, int i)
{
	pag_walk_begin(g);
	while (i >= 0) {
		int pred = pag_longest_pred(g, i);

		if (pred == g->h->event[i].local)
			pag_walk_activity(g, i, false);
		i = pred;
	}
}

/* Compute O of event @i into g->share, and its kinds of time into g->kind. */
static void pag_walk_observed(struct pag *g, int i)
{
	pag_walk_begin(g);
	while (i >= 0) {
		const struct event *e = &g->h->event[i];
		const struct event *latest = e->latest < 0 ? NULL : &g->h->event[e->latest];

		if (e->op == OP_RESTART) {
			i = g->node[i].final;
			/* No thread's last event is as late as the end of the part. */
			g->kind[T_EXTERNAL] +=
				clock_on(g->h, e->now) - clock_on(g->h, g->h->event[i].now);
			continue;
		}
		if (latest && latest->now > e->arrived) {
			pag_latency(g, e, e->now - latest->now);
			i = e->latest;
			continue;
		}
		pag_walk_activity(g, i, true);
		if (e->matched)
			pag_latency(g, e, e->now - e->arrived);
		i = e->local;
	}
}

#endif
