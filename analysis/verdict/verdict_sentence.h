/* SPDX-License-Identifier: MIT */
/*
 * analysis/verdict/verdict_sentence.h - what the sentences of several kinds of verdict have in common
 *
 * The names of components, the time that a change of one saves at most, and whether that is worth a verdict.
 */
#ifndef CPA_ANALYSIS_VERDICT_VERDICT_SENTENCE_H
#define CPA_ANALYSIS_VERDICT_VERDICT_SENTENCE_H

#include "analysis/verdict/verdict_kinds.h"

/* "function sort (sort.c:80)", without an article. The caller frees it. */
char *cpa_verdict_name(const struct cpa_component_figures *component);

/* "on 2 processors". The caller frees it. */
char *cpa_verdict_processors(const struct cpa_facts *facts);

/* The one function with most of the path, or @of_cpu of all CPU time; NULL: none stands out. */
const struct cpa_component_figures *cpa_verdict_function(const struct cpa_facts *facts,
							 bool of_cpu);

/*
 * Set after_s for a change that shortens the path to @path_s, and return what that gains: "at most
 * 1.39 times as fast on 2 processors". The caller frees it.
 */
char *cpa_verdict_gain(const struct cpa_facts *facts, struct cpa_verdict *verdict, double path_s);

/* Whether @gain_s is worth a verdict and no more general structure, of @other_s, gains clearly more. */
bool cpa_verdict_matters(const struct cpa_facts *facts, double gain_s, double other_s);

/* Whether @gain_s is a small part of the path, and a function gains clearly more. */
bool cpa_verdict_is_outweighed(const struct cpa_facts *facts, double gain_s);

/*
 * Options that ask @format of @name, if there is a journal and a shell takes the name; else NULL. The caller
 * frees it.
 */
__attribute__((format(printf, 3, 4))) char *
cpa_verdict_ask(const struct cpa_facts *facts, const char *name, const char *format, ...);

#endif
