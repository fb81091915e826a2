/* SPDX-License-Identifier: MIT */
/* analysis/predict/predict_state.h - state shared by predict*.c while a prediction is made */
#ifndef CPA_ANALYSIS_PREDICT_PREDICT_STATE_H
#define CPA_ANALYSIS_PREDICT_PREDICT_STATE_H

#include "analysis/exact/chunks.h"
#include "analysis/exact/pieces.h"
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
	enum cpa_change_kind
		*divided; /* [component row]: of a region, if its work is to be divided */
	bool *divided_at; /* [node row]: where a loop is taken from, or ends, that is to be dynamic */
	bool divides;	  /* there is one */
	uint32_t *team; /* [component row]: threads of a region to balance; 0: as many as in the run */
	struct predict_dealt {
		uint64_t chunks; /* dealt anew */
		uint64_t ticks;	 /* of their rounds */
		uint64_t even;	 /* ticks of rounds whose chunks are not known */
		uint64_t left;	 /* ticks of rounds that stay as they were */
	} dealt;
	struct cpa_activity_change *activity;
	struct cpa_transfer *transfer;
};

/* Add a sentence to the limits of the answer. */
void __attribute__((format(printf, 2, 3)))
predict_note(struct cpa_answer *answer, const char *format, ...);

/* Note what the replay takes from the recording, by @weakness, and what it does not model. */
void predict_note_limits(struct inquiry *q, const struct cpa_weakness *weakness);

/*
 * Note that the rows of the answer have events in another order than the run: some are shorter than
 * its critical path, @forced waits were ended without their release, or @unfinished threads had
 * work left when the program ended.
 */
void predict_note_order(struct inquiry *q, uint64_t forced, uint32_t unfinished);

/* Note what dynamic loops were made of. */
void predict_note_dealt(struct inquiry *q);

/*
 * Set q->activity so that the work of what q->divided and q->divided_at name is divided anew among
 * the threads, and q->dealt. Return 0, or -1 with *@error, which the caller frees: none of it is of
 * a team, or not enough cores were asked for.
 */
int predict_balance(struct inquiry *q, char **error);

/* Set q->divided_at for loops whose place is named in @change. Return whether there are any. */
bool predict_loops(struct inquiry *q, const struct cpa_change *change);

/*
 * Of predict_dynamic.c: chunks and rounds of the journal @file. The caller calls
 * predict_dynamic_end().
 */
struct predict_dynamic {
	struct cpa_chunks *chunks;
	struct cpa_pieces *pieces;
	size_t chunk, round; /* those that come next */
};

void predict_dynamic_begin(struct predict_dynamic *d, const struct cpa_journal_file *file,
			   const struct cpa_stints *stints);
void predict_dynamic_end(struct predict_dynamic *d);

/*
 * The next round is of the @n stints @round. If its chunks are to be dealt anew, return true and set
 * @work[i] to the ticks of work that the thread of stint i gets.
 */
bool predict_dynamic_round(struct inquiry *q, struct predict_dynamic *d,
			   const struct cpa_stints *stints, const struct cpa_stint *const *round,
			   size_t n, double *work);

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

/*
 * Messages of the profile's stream @number, from 1, take no time and find room; or as in the run.
 */
void predict_zero_stream(struct inquiry *q, uint32_t number, bool zero);

/*
 * Whether a change scales the latency of messages, but no wait was recorded from which that is
 * known.
 */
bool predict_scales_nothing(const struct inquiry *q);

double predict_seconds(const struct inquiry *q, uint64_t ticks);

/*
 * Predict run times with the heaviest components reduced, alone and one after the other. Return 0,
 * or -1 with *@error, which the caller frees.
 */
int predict_curves(struct inquiry *q, char **error);

#endif
