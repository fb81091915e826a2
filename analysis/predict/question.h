/* SPDX-License-Identifier: MIT */
/* analysis/predict/question.h - the options that ask for a prediction */
#ifndef CPA_ANALYSIS_PREDICT_QUESTION_H
#define CPA_ANALYSIS_PREDICT_QUESTION_H

#include "analysis/predict/predict.h"

/* The options: values of struct option.val above those of all other options. */
enum cpa_question_option {
	CPA_ASK_CORES = 512, /* --cores N[,N...] */
	CPA_ASK_GROUP,	     /* --group '0:main,io 1:worker*' */
	CPA_ASK_LOAD,	     /* --load N */
	CPA_ASK_CHANGE,	     /* --what-if EXPRESSION, may be repeated */
	CPA_ASK_NETWORK,     /* --network EXPRESSION, may be repeated */
	CPA_ASK_CURVES,	     /* --curves */
};

/* clang-format off */
#define CPA_QUESTION_OPTIONS \
	{ "cores", required_argument, NULL, CPA_ASK_CORES }, \
	{ "group", required_argument, NULL, CPA_ASK_GROUP }, \
	{ "load", required_argument, NULL, CPA_ASK_LOAD }, \
	{ "what-if", required_argument, NULL, CPA_ASK_CHANGE }, \
	{ "network", required_argument, NULL, CPA_ASK_NETWORK }, \
	{ "curves", no_argument, NULL, CPA_ASK_CURVES }
/* clang-format on */

/*
 * Add @option with @value to @question, which is all zeros at first. Return NULL, or the error in
 * static storage.
 */
const char *cpa_question_add(struct cpa_question *question, int option, const char *value);

/* Whether the options ask for a prediction. */
bool cpa_question_asked(const struct cpa_question *question);

/*
 * Write the answer from @dump and its @profile, as @json or on @page. Return 0; or, after a line on
 * stderr, 1 if @dump has no journal, 2 if it has nothing with a name in the question.
 */
int cpa_question_answer(const struct cpa_question *question, struct cpa_dump *dump,
			const struct cpa_profile *profile, const struct cpa_page *page, bool json);
void cpa_question_fini(struct cpa_question *question);

#endif
