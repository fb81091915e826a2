/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/predict.h - how long a recorded run would take on other processors, or if it were
 * changed
 *
 * The journal becomes a script (transcribe.h), which is replayed (replay.h). The same with nothing
 * changed, on the recorded number of cores and with the profiler's own time, is compared to what
 * the run took: that is what the method is known to be off by. Predictions are of the program
 * without the profiler.
 */
#ifndef CPA_ANALYSIS_PREDICT_PREDICT_H
#define CPA_ANALYSIS_PREDICT_PREDICT_H

#include <jansson.h>

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"
#include "analysis/predict/whatif.h"

struct cpa_question {
	size_t cores, changes;
	uint32_t *core; /* numbers of cores; none: as many as the run had */
	uint32_t load;
	const char *groups; /* as placement.h; NULL: none */
	struct cpa_change *change;
	bool curves; /* also of the components that save most */
};

struct cpa_answer_row {
	uint32_t cores;
	double unchanged_s, changed_s;
	double utilization; /* of the changed one: process time / (cores * run time) */
};

#define CPA_CURVE_POINTS 4 /* 3/4, 1/2, 1/4 and 0 of what it is */
#define CPA_NEXT_CHANGES 3

/* A component in smaller and smaller parts, beside the changes that were asked for. */
struct cpa_curve {
	enum cpa_component_kind kind;
	char *name;
	uint32_t slot;
	double run_s[CPA_CURVE_POINTS];
};

struct cpa_answer {
	/*
	 * All with the profiler's own time: the run; replayed on its cores; and replayed with the
	 * waiting for processors that was recorded.
	 */
	double recorded_s, replayed_s, reordered_s;
	double runqueue_s; /* that waiting, of all threads */
	double start_s;	   /* before the first event; all have it */
	double probe_s;	   /* of all threads */
	double latency_s;
	uint64_t waits; /* of which the latency is the median */
	bool changed;	/* changed_s is of another program than unchanged_s */
	size_t rows, notes;
	struct cpa_answer_row *row;
	char **note; /* what makes the answer weak */
	/* Of the first of the rows, if it was asked for: */
	size_t curves;
	struct cpa_curve *curve;
	size_t next;			     /* what to make cost nothing first, second ... */
	size_t next_curve[CPA_NEXT_CHANGES]; /* which */
	double next_s[CPA_NEXT_CHANGES];     /* the run with these changes up to here */
};

/* Why there is no answer. */
enum cpa_refusal { CPA_ANSWERED, CPA_NO_JOURNAL, CPA_BAD_QUESTION };

/*
 * Answer @question from @dump and its @profile; then the caller calls cpa_answer_free(). Else
 * *@error is a message that the caller frees.
 */
enum cpa_refusal cpa_predict(struct cpa_dump *dump, const struct cpa_profile *profile,
			     const struct cpa_question *question, struct cpa_answer *answer,
			     char **error);
void cpa_answer_free(struct cpa_answer *answer);

void cpa_answer_text(const struct cpa_answer *answer, const struct cpa_profile *profile,
		     const struct cpa_page *page);
json_t *cpa_answer_json(const struct cpa_answer *answer);

#endif
