/* SPDX-License-Identifier: MIT */
#include "shadow/graph/mixes.h"

#include "shadow/graph/call.h"
#include "shadow/graph/component.h"
#include "shadow/graph/summary.h"
#include "shadow/store/heap.h"

#define COLD __attribute__((noinline, cold))

#define FEW 8u /* with fewer samples of one cut short in so many, classes of duration count */

/* Return the mixes at @offset; NULL if that is 0. */
static inline struct cpa_mixes *at(uint64_t offset)
{
	return offset ? cpa_at(offset) : NULL;
}

/* Return the mixes of all threads on an edge, or NULL. */
static inline struct cpa_mixes *of_all(const struct cpa_edge *edge)
{
	/* ACQUIRE: pairs with make_of_all(). The words were zero before. */
	return at(__atomic_load_n(&edge->mixes, __ATOMIC_ACQUIRE));
}

static COLD struct cpa_mixes *make_of_all(struct cpa_edge *edge)
{
	uint64_t made = cpa_session_alloc(sizeof(struct cpa_mixes), CPA_CACHE_LINE), before = 0;

	/*
	 * RELEASE: pairs with of_all(). ACQUIRE on failure: another thread's are used, and its own
	 * space is lost, once for an edge.
	 */
	if (made && !__atomic_compare_exchange_n(&edge->mixes, &before, made, false,
						 __ATOMIC_RELEASE, __ATOMIC_ACQUIRE))
		made = before;
	return at(made);
}

static COLD struct cpa_mixes *make_own(uint64_t *place)
{
	struct cpa_mixes *made = cpa_heap_alloc(sizeof(*made));

	*place = made ? cpa_offset(made) : 0;
	return made;
}

/* Remove the credit of the thread's own mixes of an edge. */
static void forgive(struct cpa_self *self, struct cpa_edge_cache *cache)
{
	struct cpa_mixes *own = at(*cpa_mixes_place(self, cache));

	for (unsigned k = 0; k < CPA_MIX; k++)
		cpa_mix_forgive(&cache->mix[k]);
	for (unsigned i = 0; own && i < CPA_MIX_CLASSES; i++)
		for (unsigned k = 0; k < CPA_MIX; k++)
			cpa_mix_forgive(&own->mix[i][k]);
}

/* A sample period begins: credit of another period is removed, see shadow/graph/mix.h. */
static COLD void begin_credit(struct cpa_self *self, uint64_t period)
{
	self->sample_period = period;
	for (unsigned i = 0; i < CPA_EDGE_CACHE; i++)
		if (self->edge[i].key)
			forgive(self, &self->edges[i]);
}

/*
 * Return the credit of one function for its @n samples in @span, over which @ticks were spread. An
 * activity so long that none of its length lacks a sample gives no credit: its surplus samples came
 * late, from other activities.
 */
static int32_t credit_of(const struct cpa_span *span, uint64_t ticks, uint32_t n)
{
	int64_t more = (int64_t)(span->sampled_ticks - ticks);

	if (!span->sampled_ticks || ticks > CPA_MIX_LONG * span->sample_period)
		return 0;
	return (int32_t)(more * CPA_MIX_UNITS * n / (int64_t)span->sampled_ticks);
}

/* Relaxed, here and below: statistics. */
static inline bool is_cut(const struct cpa_mixes *mixes)
{
	return __atomic_load_n(&mixes->cut, __ATOMIC_RELAXED) >
	       __atomic_load_n(&mixes->whole, __ATOMIC_RELAXED) / FEW;
}

static inline void count(struct cpa_mixes *mixes, bool cut, uint32_t n)
{
	__atomic_fetch_add(cut ? &mixes->cut : &mixes->whole, n, __ATOMIC_RELAXED);
}

/* Add @n samples of @function, with @credit, to a class of an edge: the thread's mix, and all's. */
static void learn_class(uint64_t *place, struct cpa_edge *edge, bool cut, unsigned class,
			uint32_t function, uint32_t n, int32_t credit)
{
	struct cpa_mixes *own = *place ? at(*place) : make_own(place);
	struct cpa_mixes *all = of_all(edge);

	if (!all)
		all = make_of_all(edge);
	if (own) {
		count(own, cut, n);
		cpa_mix_add(own->mix[class], function, n, credit);
	}
	if (all) {
		count(all, cut, n);
		cpa_mix_add(all->mix[class], function, n, credit);
	}
}

void cpa_mixes_learn(struct cpa_self *self, const struct cpa_span *span, uint64_t ticks,
		     unsigned class, struct cpa_edge_cache *cache)
{
	struct cpa_edge *edge = cache ? cpa_summary_row(self, cache) : NULL;

	if (unlikely(span->sample_period != self->sample_period))
		begin_credit(self, span->sample_period);
	for (unsigned i = 0; i < span->sampled; i++) {
		uint32_t function = span->sample[i].function, n = span->sample[i].count;
		int32_t credit = credit_of(span, ticks, n);

		self->row->last_function = function;
		if (!edge)
			continue;
		cpa_mix_add(cache->mix, function, n, credit);
		cpa_mix_add(edge->mix, function, n, credit);
		learn_class(cpa_mixes_place(self, cache), edge, span->cut, class, function, n,
			    credit);
	}
}

/*
 * Collect the words of @mix whose functions @calls (may be NULL) does not measure. Return their
 * number.
 */
static inline unsigned words_of(const uint64_t mix[CPA_MIX], const struct cpa_calls *calls,
				uint64_t word[])
{
	unsigned n = 0;

	for (unsigned i = 0; i < CPA_MIX; i++) {
		/* relaxed: see cpa_mix_add() */
		word[n] = __atomic_load_n(&mix[i], __ATOMIC_RELAXED);
		if (!word[n]) /* words fill in order */
			break;
		n += !calls || !cpa_calls_know(calls, cpa_function_slot(cpa_mix_function(word[n])));
	}
	return n;
}

/* Give each of the @n words the credit of its function in @others. */
static void lend(uint64_t word[], unsigned n, const uint64_t others[CPA_MIX])
{
	for (unsigned i = 0; i < n; i++) {
		uint32_t function = cpa_mix_function(word[i]);
		int32_t credit = 0;

		for (unsigned k = 0; k < CPA_MIX; k++) {
			uint64_t other =
				/* relaxed: see cpa_mix_add() */
				__atomic_load_n(&others[k], __ATOMIC_RELAXED);

			if (cpa_mix_function(other) == function)
				credit = cpa_mix_credit(other);
		}
		word[i] = cpa_mix_word(function, cpa_mix_samples(word[i]), credit);
	}
}

/*
 * Choose the functions of @own, whose words are the thread's: with its credit, or else with that of
 * @all (may be NULL), or else with their numbers of samples. Return their number; *@sum: sum of the
 * weights.
 */
static unsigned choose(const uint64_t own[CPA_MIX], const uint64_t *all,
		       const struct cpa_calls *calls, uint64_t word[], uint32_t weight[],
		       uint32_t *sum)
{
	unsigned n = words_of(own, calls, word), kept = cpa_mix_credited(word, n, weight, sum);

	if (likely(kept) || !n)
		return kept;
	if (all)
		lend(word, n, all);
	kept = cpa_mix_credited(word, n, weight, sum);
	return kept ? kept : cpa_mix_sampled(word, n, weight, sum);
}

/* Return whether @mix has functions: words are filled in order. */
static inline bool is_known(const uint64_t mix[CPA_MIX])
{
	/* relaxed: see cpa_mix_add() */
	return __atomic_load_n(&mix[0], __ATOMIC_RELAXED) != 0;
}

bool cpa_mixes_known(struct cpa_self *self, const struct cpa_edge_cache *cache)
{
	return cache && (is_known(cache->mix) || is_known(cpa_summary_row(self, cache)->mix));
}

/* Return whether @function has a word in @own, which the calling thread alone writes. */
static bool has(const uint64_t own[CPA_MIX], uint32_t function)
{
	for (unsigned i = 0; i < CPA_MIX && own[i]; i++)
		if (cpa_mix_function(own[i]) == function)
			return true;
	return false;
}

/* As choose(), from all threads' mix: of functions that are in @own, if that has any. */
static COLD unsigned choose_of_all(const uint64_t all[CPA_MIX], const uint64_t own[CPA_MIX],
				   const struct cpa_calls *calls, uint64_t word[],
				   uint32_t weight[], uint32_t *sum)
{
	unsigned n = words_of(all, calls, word), known = 0, kept;

	for (unsigned i = 0; i < n; i++)
		if (!is_known(own) || has(own, cpa_mix_function(word[i])))
			word[known++] = word[i];
	kept = cpa_mix_credited(word, known, weight, sum);
	return kept ? kept : cpa_mix_sampled(word, known, weight, sum);
}

/* Return the class nearest to @class for which @mixes has functions; CPA_MIX_CLASSES: none. */
static unsigned nearest(const struct cpa_mixes *mixes, unsigned class)
{
	for (unsigned away = 0; away < CPA_MIX_CLASSES; away++) {
		if (away <= class && is_known(mixes->mix[class - away]))
			return class - away;
		if (class + away < CPA_MIX_CLASSES && is_known(mixes->mix[class + away]))
			return class + away;
	}
	return CPA_MIX_CLASSES;
}

/* As cpa_mixes_of(), when the thread has no mix of the activity's class. */
static COLD unsigned of_other_class(const struct cpa_mixes *own, const struct cpa_mixes *all,
				    const uint64_t mix[CPA_MIX], const struct cpa_calls *calls,
				    unsigned class, uint64_t word[], uint32_t weight[],
				    uint32_t *sum)
{
	unsigned n = 0;

	if (all && is_known(all->mix[class]))
		n = choose_of_all(all->mix[class], mix, calls, word, weight, sum);
	if (n)
		return n;
	if (own && (class = nearest(own, class)) < CPA_MIX_CLASSES)
		return choose(own->mix[class], all ? all->mix[class] : NULL, calls, word, weight,
			      sum);
	if (all && !is_known(mix) && (class = nearest(all, class)) < CPA_MIX_CLASSES)
		return choose_of_all(all->mix[class], mix, calls, word, weight, sum);
	return 0;
}

/* As cpa_mixes_of(), for an activity of @class, if the thread's mix of that class does not do. */
static COLD unsigned of_edge(const struct cpa_mixes *own, const struct cpa_edge *edge,
			     const struct cpa_calls *calls, const struct cpa_edge_cache *cache,
			     unsigned class, uint64_t word[], uint32_t weight[], uint32_t *sum)
{
	const struct cpa_mixes *all = of_all(edge);
	bool cut = all && is_cut(all);
	unsigned n = 0;

	if (!cut && own && is_known(own->mix[class]))
		n = choose(own->mix[class], all ? all->mix[class] : NULL, calls, word, weight, sum);
	if (!cut && !n)
		n = of_other_class(own, all, cache->mix, calls, class, word, weight, sum);
	if (!n)
		n = choose(cache->mix, edge->mix, calls, word, weight, sum);
	if (!n)
		n = choose_of_all(edge->mix, cache->mix, calls, word, weight, sum);
	return n;
}

/*
 * The class of the thread's mixes of @edge that an activity of @class is divided by, as of_edge() chooses it. One
 * that has no functions: another thread's, or none.
 */
static inline unsigned class_of_own(const struct cpa_mixes *own, const struct cpa_edge *edge,
				    unsigned class)
{
	const struct cpa_mixes *all;

	if (likely(is_known(own->mix[class])))
		return class;
	all = of_all(edge);
	return all && is_known(all->mix[class]) ? class : nearest(own, class);
}

unsigned cpa_mixes_of(struct cpa_self *self, const struct cpa_calls *calls,
		      struct cpa_edge_cache *cache, uint64_t ticks, uint64_t word[CPA_MIX],
		      uint32_t weight[CPA_MIX], uint32_t *sum)
{
	const struct cpa_mixes *own = at(*cpa_mixes_place(self, cache));
	const struct cpa_edge *edge = cpa_summary_row(self, cache);
	unsigned class = cpa_mix_class(ticks), from, n = 0;

	/* Most activities that have no samples, and may have several functions, end here. */
	if (likely(own && !calls && !is_cut(own))) {
		*sum = 0;
		from = class_of_own(own, edge, class);
		for (unsigned i = 0; from < CPA_MIX_CLASSES && i < CPA_MIX && own->mix[from][i];
		     i++) {
			int32_t credit = cpa_mix_credit(own->mix[from][i]);

			if (credit <= 0)
				continue;
			*sum += weight[n] = (uint32_t)credit;
			word[n++] = own->mix[from][i];
		}
		if (likely(n))
			return n;
	}
	return of_edge(own, edge, calls, cache, class, word, weight, sum);
}
