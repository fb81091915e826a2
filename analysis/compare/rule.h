/* SPDX-License-Identifier: MIT */
/* analysis/compare/rule.h - limits that fail a comparison: 'critical path > +5%' */
#ifndef CPA_ANALYSIS_COMPARE_RULE_H
#define CPA_ANALYSIS_COMPARE_RULE_H

#include "analysis/compare/compare.h"

enum cpa_amount {
	CPA_AMOUNT_RATIO,      /* "+5%": of new / base - 1 */
	CPA_AMOUNT_DIFFERENCE, /* "+10ms": of new - base */
	CPA_AMOUNT_TIME,       /* "400ms": of the new side, or of the only one */
};

struct cpa_rule {
	const char *text; /* as given */
	enum cpa_measure measure;
	char *kind, *name; /* patterns with * and ?; kind is NULL for totals */
	bool below;	   /* '<' */
	enum cpa_amount by;
	double amount; /* ratio or seconds */
};

enum cpa_ruling { CPA_RULE_KEPT, CPA_RULE_UNCLEAR, CPA_RULE_BROKEN };

/*
 * Parse @text, which must outlive the rule. Return NULL if it is a rule; the caller then calls
 * cpa_rule_fini(). Else return a sentence that says what is wrong; nobody frees it.
 */
const char *cpa_rule_parse(struct cpa_rule *rule, const char *text);
void cpa_rule_fini(struct cpa_rule *rule);

bool cpa_rule_matches(const struct cpa_rule *rule, const struct cpa_row *row);

/*
 * What the runs say of @row: a limit is broken if the whole interval lies beyond it, kept if none
 * of it does. *@found: the interval, NAN if a side has one run.
 */
enum cpa_ruling cpa_rule_judge(const struct cpa_rule *rule, const struct cpa_comparison *c,
			       const struct cpa_row *row, struct cpa_interval *found);

/* "kept", "unclear", "broken" */
const char *cpa_ruling_word(enum cpa_ruling ruling);

#endif
