/* SPDX-License-Identifier: MIT */
/*
 * analysis/exact/exact.h - the inherent path of a journal, event by event (Online CP 2, Fig. 4)
 *
 * The longest path to each event, in several lanes at once: in lane 0 all activities weigh what
 * they took; in each other lane activities weigh nothing for as long as the component of its slot
 * is active. An event's value is the largest of its thread's value before plus the activity, and of
 * the values of the releases that it depends on. Values are kept only as long as a later event may
 * want them: those of the last release of each lock, of signals, posts and items on their way, of
 * each thread's last event. This is a computation of its own, which shares nothing with
 * shadow/path/path.h.
 */
#ifndef CPA_ANALYSIS_EXACT_EXACT_H
#define CPA_ANALYSIS_EXACT_EXACT_H

#include "analysis/input/journal.h"

#define CPA_LANES 64u

/* Results for one strand. */
struct cpa_exact_strand {
	uint64_t process, external, runqueue; /* ticks, sums over the strand */
	uint64_t events, uses;
	uint64_t len;  /* path length in lane 0 at the end of the strand */
	uint32_t last; /* number of the last event */
};

struct cpa_exact {
	const struct cpa_journal_file *file;
	unsigned lanes;
	uint8_t *lane_of; /* by slot; 0: no lane */
	/*
	 * Optional context for all lanes: activities weigh nothing while a component of a slot set
	 * here is active, or if `skip` says so. The journal does not tell for how long two
	 * components were active at the same time; the least possible overlap is assumed.
	 */
	bool *zero; /* by slot; NULL: none */
	bool (*skip)(void *argument, size_t strand, uint32_t number);
	void *skip_argument;
	/*
	 * Optional. Store in each of @lanes[CPA_LANES] the weight, in ticks, of the activity of
	 * @strand that ends with event @number. On entry each is @weight, its weight after `zero`
	 * and `skip`.
	 */
	void (*weigh)(void *argument, size_t strand, uint32_t number, uint64_t weight,
		      uint64_t *lanes);
	void *weigh_argument;
	/* Results: for each lane the longest path of all threads. */
	uint64_t result[CPA_LANES]; /* longest path of all threads */
	size_t longest;		    /* the strand with the longest path in lane 0 */
	uint64_t events;	    /* events read */
	uint64_t broken;	    /* strands with a damaged record */
	uint64_t missing;	    /* causes without a record */
	uint64_t most_values;	    /* largest number of values kept at a time */
	struct cpa_exact_strand *strand;
	uint64_t *total; /* by slot: ticks charged to it, on any path */
	struct cpa_exact_work *work;
};

/*
 * @file must stay open until cpa_exact_free(). Initially all lanes but 0 are empty. The caller
 * frees the result.
 */
struct cpa_exact *cpa_exact_new(const struct cpa_journal_file *file);
void cpa_exact_free(struct cpa_exact *exact);

/*
 * Compute the results for the present lanes and context. May be called again after these were
 * changed.
 */
void cpa_exact_run(struct cpa_exact *exact);

/*
 * Whether cause @cause (0 or 1) of event @number of strand @strand was longer than the thread's own
 * value and the cause before it. Valid after cpa_exact_run().
 */
bool cpa_exact_chosen(const struct cpa_exact *exact, size_t strand, uint32_t number,
		      unsigned cause);

#endif
