/* SPDX-License-Identifier: MIT */
/* analysis/profile/queues.h - figures of work queues */
#ifndef CPA_ANALYSIS_PROFILE_QUEUES_H
#define CPA_ANALYSIS_PROFILE_QUEUES_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

/* Which side of a queue limits it; see balance.h. */
enum cpa_limit {
	CPA_LIMIT_UNKNOWN,
	CPA_LIMIT_CONSUMERS,
	CPA_LIMIT_PRODUCERS,
	CPA_LIMIT_PROCESSORS,
	CPA_LIMIT_ELSEWHERE,
	CPA_LIMIT_MIXED,
	CPA_LIMIT_BALANCED,
	CPA_LIMITS
};

/* One master and several workers; see balance.h. */
struct cpa_master_figures {
	const char *trouble; /* why the queue has no such shape; NULL: it has */
	uint32_t workers, best_workers;
	double master_s, workers_s; /* all work of the master, and all processing of items */
	double optimum;		    /* the best number of workers, not rounded */
	double path_s, best_path_s; /* the path as the model has it, with either number */
	bool fits;		    /* the model's path is near the measured one, of enough items */
};

/*
 * The queues of one class together. Shares and savings are of the processing of their items; with
 * a shared slot, of all that share it.
 */
struct cpa_queue_figures {
	uint32_t row;
	enum cpa_class_by by;
	char *name;
	char *location;
	uint64_t queues;
	uint64_t enqueued, dequeued, never_dequeued, twice, unmatched;
	uint64_t services, undone; /* undone: of them those whose end the program did not tell */
	uint64_t max_depth;	   /* of several queues: the sum of what each had at most */
	double mean_depth;
	double wait_s, wait_p50_s, wait_p99_s; /* of an item in the queue */
	double wait_margin_s;		       /* see margins.h; NAN: not known */
	double service_s, services_s;	       /* of an item, and of all */
	uint32_t producers, consumers;	       /* threads */
	double idle, starved; /* shares of the consumers' time: waiting, without a processor */
	double engaged;	      /* share of their work that was processing of these items */
	double producers_path_s, consumers_path_s; /* of the threads of their classes */
	uint32_t slot;				   /* 0: the three below are not known */
	double critical_path_s, observed_path_s, saved_s;
	double critical_path_margin_s, saved_margin_s; /* see margins.h; NAN: not known */
	enum cpa_limit limit;
	struct cpa_master_figures master;
};

#endif
