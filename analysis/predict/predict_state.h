/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict_state.h - state shared by predict*.c while a prediction is made */
#ifndef CPA_ANALYSIS_PREDICT_PREDICT_STATE_H
#define CPA_ANALYSIS_PREDICT_PREDICT_STATE_H

#include "analysis/symbols/names.h"
#include "analysis/predict/predict.h"
#include "analysis/predict/replay.h"
#include "analysis/predict/transcribe.h"

/* Data that is looked up once. */
struct inquiry {
	struct cpa_dump *dump;
	const struct cpa_profile *profile;
	const struct cpa_question *question;
	struct cpa_answer *answer;
	struct cpa_names names;
	struct cpa_run *run;
	struct cpa_cast cast;
	uint8_t *object_kind, *slot_kind;
	uint32_t *object_queue, *queue_class;
	uint64_t *probe;
	double *factor;
	uint32_t *locks, *workers;
	bool *balanced; /* [component row]: a region to balance */
	bool balances;	/* there is one */
	uint32_t *team; /* [component row]: threads of a region to balance; 0: as many as in the run */
	struct cpa_activity_change *activity;
	struct cpa_transfer *transfer;
};

/*
 * Set q->activity so that the regions in q->balanced are balanced. Return 0, or -1 with *@error, which the
 * caller frees: none of them has a team, or not enough cores were asked for.
 */
int predict_balance(struct inquiry *q, char **error);

/*
 * Replay @transcript on @cores with the placement of the question. Return 0, or -1 with *@error,
 * which the caller frees.
 */
int predict_replay(struct inquiry *q, const struct cpa_transcript *transcript, uint32_t cores,
		   struct cpa_replay_result *result, char **error);

/*
 * Set what messages take after the changes of the question. Return 0, or -1 with *@error, which the
 * caller frees.
 */
int predict_transfers(struct inquiry *q, char **error);

/* Messages of the profile's stream @number, from 1, take no time and find room; or as in the run. */
void predict_zero_stream(struct inquiry *q, uint32_t number, bool zero);

/* Whether a change scales the latency of messages, but no wait was recorded from which that is known. */
bool predict_scales_nothing(const struct inquiry *q);

double predict_seconds(const struct inquiry *q, uint64_t ticks);

/*
 * Predict run times with the heaviest components reduced, alone and one after the other. Return 0,
 * or -1 with *@error, which the caller frees.
 */
int predict_curves(struct inquiry *q, char **error);

#endif
