/* SPDX-License-Identifier: MIT */
/* analysis/report/span.h - cpa-report --since and --at: the time between two copies of a session */
#ifndef CPA_ANALYSIS_REPORT_SPAN_H
#define CPA_ANALYSIS_REPORT_SPAN_H

#include <time.h>

#include "analysis/profile/profile.h"

/* All return 0; or -1 with *@error the message, which the caller frees. */

/*
 * Read what the session in @file had at @since, which is a copy of it or a moment of its history
 * (analysis/input/history.h). The caller frees *@before.
 */
int cpa_span_since(const char *since, const char *file, struct cpa_profile **before, char **error);

/* The moment *@when that @at, the value of --at, means. */
int cpa_span_time(const char *at, time_t *when, char **error);

/*
 * As cpa_span_since() for the copy before @when, of which messages say @at; *@file becomes that
 * after it, if there is one. *@before is NULL if @when is before the first copy: the time is from
 * the run's start.
 */
int cpa_span_at(const char *at, time_t when, char **file, struct cpa_profile **before,
		char **error);

/*
 * Subtract @before from @profile, and add a note that says from when to when the figures are.
 * Return 0, or -1 with *@error, which the caller frees: the two are not of one session.
 */
int cpa_span_apply(struct cpa_profile *profile, const struct cpa_profile *before, char **error);

#endif
