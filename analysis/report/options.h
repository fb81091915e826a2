/* SPDX-License-Identifier: MIT */
/* analysis/report/options.h - the options of cpa-report */
#ifndef CPA_ANALYSIS_REPORT_OPTIONS_H
#define CPA_ANALYSIS_REPORT_OPTIONS_H

#include "analysis/predict/question.h"
#include "analysis/predict/threads.h"
#include "analysis/metrics/phases.h"
#include "analysis/report/writers.h"
#include "analysis/util/terminal.h"

#define CPA_EXIT_BAD_DUMP  1
#define CPA_EXIT_BAD_USAGE 2

struct cpa_report_options {
	const struct cpa_writer *writer;
	enum cpa_color color;
	struct cpa_selection show;
	enum cpa_metric histogram; /* CPA_METRICS: no histogram */
	double phase_step;	   /* 0: choose it */
	size_t ranges;
	struct cpa_phase_range *range;
	size_t width;	   /* 0: that of the terminal */
	const char *dump;  /* or a process; NULL: the newest dump */
	const char *since; /* a copy of the session, or a moment of its history; NULL: all of it */
	const char *at;	   /* a moment, between two copies of the history; NULL: none */
	const char *file;  /* --html; NULL: standard output */
	bool view;	   /* open a page in the browser */
	bool verify, paths, no_pager;
	bool idle_weighs;     /* --idle weigh */
	const char *zero;     /* components, or NULL */
	const char *callers;  /* of which functions, or NULL */
	const char *annotate; /* which functions, or NULL */
	bool tree;
	bool lines;		       /* of calls, with the two above */
	struct cpa_team_sizes threads; /* --threads; none: not asked */
	struct cpa_question question;
};

/*
 * Read the command line. Exits with a line on stderr if it is wrong, or after --help and --version.
 */
struct cpa_report_options cpa_report_parse(int argc, char **argv);

/* Report a bad value of an option and exit. */
void __attribute__((noreturn))
cpa_report_usage(const char *option, const char *value, const char *expected);

#endif
