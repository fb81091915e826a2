/* SPDX-License-Identifier: MIT */
/*
 * analysis/compare/compare.h - the figures of several runs a side, matched and judged
 *
 * Rows are matched by kind and name. A name that is an address ("libz.so.1+0x4970") names the same
 * code in the same build only, so that the build id of its module belongs to it.
 */
#ifndef CPA_ANALYSIS_COMPARE_COMPARE_H
#define CPA_ANALYSIS_COMPARE_COMPARE_H

#include <stdbool.h>

#include "analysis/compare/side.h"
#include "analysis/compare/statistics.h"

#define CPA_COMPARE_LEAST 0.02 /* smaller changes are none */
#define CPA_COMPARE_SMALL 0.01 /* smaller rows, by the critical path, are not judged */
#define CPA_COMPARE_SURE  0.05

enum cpa_measure {
	CPA_MEASURE_TOTAL,     /* critical path, CPU, wall: kind is NULL */
	CPA_MEASURE_SAVES,     /* what a component saves if it takes no time */
	CPA_MEASURE_PATH,      /* its share of the critical path */
	CPA_MEASURE_WAIT,      /* waits for a lock */
	CPA_MEASURE_ITEM_WAIT, /* mean wait of an item in a queue */
	CPA_MEASURES
};

enum cpa_side_name { CPA_BASE, CPA_NEW, CPA_SIDES };

enum cpa_change {
	CPA_CHANGE_UNKNOWN, /* a side has one run */
	CPA_CHANGE_SMALL,   /* not judged: less than CPA_COMPARE_SMALL */
	CPA_CHANGE_UNCLEAR,
	CPA_CHANGE_SAME,
	CPA_CHANGE_LESS,
	CPA_CHANGE_MORE,
	CPA_CHANGE_ONLY_BASE,
	CPA_CHANGE_ONLY_NEW,
	CPA_CHANGES
};

struct cpa_row {
	enum cpa_measure measure;
	char *key;		  /* what matches */
	char *kind, *name;	  /* printable */
	double *value[CPA_SIDES]; /* [runs], seconds; 0: the run does not have it */
	size_t present[CPA_SIDES];
	/* If there are two sides: */
	double change; /* mean of the new side / mean of the base - 1; NAN: not known */
	struct cpa_interval ratio, difference;
	double p, p_holm; /* NAN: not asked */
	enum cpa_change verdict;
};

struct cpa_comparison {
	struct cpa_side side[CPA_SIDES]; /* the new one may be empty */
	double least;
	size_t rows;
	struct cpa_row *row; /* by measure; totals as in the enum's comment, others largest first */
	size_t warnings;
	char **warning; /* sentences */
};

/* "saves", "path" ... */
const char *cpa_measure_name(enum cpa_measure measure);

/* "slower" or "faster" for totals, "more" or "less" for others, and so on. */
const char *cpa_change_word(const struct cpa_row *row);

struct cpa_sample cpa_row_sample(const struct cpa_comparison *c, const struct cpa_row *row,
				 enum cpa_side_name side);

/*
 * The interval of new / base - 1, also if a side has nothing: -1 to nothing, INFINITY from nothing.
 * NAN: a side has one run.
 */
struct cpa_interval cpa_row_growth(const struct cpa_comparison *c, const struct cpa_row *row);

/* Match and judge the runs of @c->side; @c->least is set. */
void cpa_compare(struct cpa_comparison *c);
void cpa_comparison_fini(struct cpa_comparison *c);

/* Append a sentence to the warnings. */
void cpa_comparison_warn(struct cpa_comparison *c, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* doubts.c: append what makes the comparison doubtful. */
void cpa_comparison_doubt(struct cpa_comparison *c);

#endif
