/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/predict.h - predict the time of a recorded run on other processors or after
 * changes
 *
 * The journal becomes a script (transcribe.h), which is replayed (replay.h). The unchanged run,
 * replayed on the recorded number of cores with the profiler's own time, is compared with the
 * recorded time: the difference is the known error of the method. Predictions are for the program
 * without the profiler.
 */
#ifndef CPA_ANALYSIS_PREDICT_PREDICT_H
#define CPA_ANALYSIS_PREDICT_PREDICT_H

#include <jansson.h>

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"
#include "analysis/predict/network.h"
#include "analysis/predict/whatif.h"

struct cpa_question {
	size_t cores, changes;
	uint32_t *core; /* numbers of cores; none: the number of the run */
	uint32_t load;
	const char *groups; /* see placement.h; NULL: none */
	struct cpa_change *change;
	struct cpa_network network;
	bool curves; /* also predict for the components that save most */
};

struct cpa_answer_row {
	uint32_t cores;
	double unchanged_s, changed_s;
	double utilization; /* of the changed program: process time / (cores * run time) */
};

#define CPA_CURVE_POINTS 4 /* 3/4, 1/2, 1/4 and 0 of its time */
#define CPA_NEXT_CHANGES 3

/* Run times with a component reduced step by step, in addition to the requested changes. */
struct cpa_curve {
	enum cpa_component_kind kind;
	char *name;
	uint32_t slot;
	double run_s[CPA_CURVE_POINTS];
};

struct cpa_answer {
	/*
	 * Times with the profiler's own time: recorded; replayed on the same cores; replayed with
	 * the recorded waiting for processors.
	 */
	double recorded_s, replayed_s, reordered_s;
	double runqueue_s; /* recorded waiting for processors, all threads */
	double start_s;	   /* before the first event; included in all times */
	double probe_s;	   /* the profiler's own time, all threads */
	double latency_s;
	uint64_t waits; /* number of waits of which the latency is the median */
	/*
	 * The longest path, of the journal, as it is and if work is divided anew; 0: that is not
	 * asked.
	 */
	double path_s, divided_path_s;
	bool changed; /* changed_s and unchanged_s are of different programs */
	size_t rows, notes;
	struct cpa_answer_row *row;
	char **note; /* sentences on the limits of the answer */
	/* For the first row, if requested: */
	size_t curves;
	struct cpa_curve *curve;
	size_t next;			     /* number of components to reduce to nothing */
	size_t next_curve[CPA_NEXT_CHANGES]; /* index of each */
	double next_s[CPA_NEXT_CHANGES];     /* run time with this and all changes before it */
};

/* Reasons for no answer. */
enum cpa_refusal { CPA_ANSWERED, CPA_NO_JOURNAL, CPA_BAD_QUESTION };

/*
 * Answer @question from @dump and its @profile. On CPA_ANSWERED the caller calls cpa_answer_free();
 * else *@error is a message, which the caller frees.
 */
enum cpa_refusal cpa_predict(struct cpa_dump *dump, const struct cpa_profile *profile,
			     const struct cpa_question *question, struct cpa_answer *answer,
			     char **error);
void cpa_answer_free(struct cpa_answer *answer);

/* Whether @dump has a journal of some 100,000 events at most: its replay takes no second. */
bool cpa_predict_is_brief(struct cpa_dump *dump);

/*
 * Set saved_s of the first @most streams of @profile with both ends in the session, if the dump has
 * a journal: by so much the replayed run is shorter if their messages take no time and find room.
 */
void cpa_predict_streams(struct cpa_dump *dump, struct cpa_profile *profile, size_t most);

void cpa_answer_text(const struct cpa_answer *answer, const struct cpa_profile *profile,
		     const struct cpa_page *page);
json_t *cpa_answer_json(const struct cpa_answer *answer);

#endif
