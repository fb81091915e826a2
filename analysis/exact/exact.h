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

/* What the rebuild of a strand says. */
struct cpa_exact_strand {
	uint64_t process, external, runqueue; /* ticks, in all */
	uint64_t events, uses;
	uint64_t len;  /* lane 0 at its end */
	uint32_t last; /* its last event */
};

struct cpa_exact {
	const struct cpa_journal_file *file;
	unsigned lanes;
	uint8_t *lane_of; /* by slot; 0: none, or lane 0 */
	/*
	 * Another context: activities weigh nothing, in all lanes, for as long as a component of a
	 * slot that is set here is active, or if they are one of `skip`. How long two components
	 * that were active for parts of an activity were so together is not known: as little as can
	 * be.
	 */
	bool *zero; /* by slot; NULL: none */
	bool (*skip)(void *argument, size_t strand, uint32_t number);
	void *skip_argument;
	/* Results. */
	uint64_t result[CPA_LANES]; /* the largest of all threads */
	size_t longest;		    /* strand that has it in lane 0 */
	uint64_t events;	    /* EVENTs read */
	uint64_t broken;	    /* strands that end in nonsense */
	uint64_t missing;	    /* causes of which there is no record */
	uint64_t most_values;	    /* that were kept at once */
	struct cpa_exact_strand *strand;
	uint64_t *total; /* by slot: what was charged to it, on any path */
	struct cpa_exact_work *work;
};

/* @file stays open until cpa_exact_free(). All lanes but 0 are empty. */
struct cpa_exact *cpa_exact_new(const struct cpa_journal_file *file);
void cpa_exact_free(struct cpa_exact *exact);

/* Compute the results, for the lanes as they are. May be called again with others. */
void cpa_exact_run(struct cpa_exact *exact);

/*
 * Whether cause @cause (0 or 1) of event @number of strand @strand was longer than what its thread,
 * and the cause before, had. After cpa_exact_run().
 */
bool cpa_exact_chosen(const struct cpa_exact *exact, size_t strand, uint32_t number,
		      unsigned cause);

#endif
