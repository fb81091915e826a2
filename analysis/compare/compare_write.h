/* SPDX-License-Identifier: MIT */
/* analysis/compare/compare_write.h - a comparison as text, as JSON, and as a page for a browser */
#ifndef CPA_ANALYSIS_COMPARE_COMPARE_WRITE_H
#define CPA_ANALYSIS_COMPARE_COMPARE_WRITE_H

#include "analysis/compare/compare.h"
#include "analysis/compare/rule.h"
#include "analysis/util/table.h"

/* A rule and a row that it matches. */
struct cpa_judgement {
	const struct cpa_rule *rule;
	const struct cpa_row *row;
	enum cpa_ruling ruling;
	struct cpa_interval found;
};

struct cpa_judgements {
	size_t count;
	struct cpa_judgement *judgement;
};

/* Write @c and @rules, at most @top rows of each table. */
void cpa_compare_text(const struct cpa_comparison *c, const struct cpa_judgements *rules,
		      const struct cpa_page *page, size_t top);

/* Write all rows and values. Return 0; or -1 with errno set if they cannot be written. */
int cpa_compare_json(const struct cpa_comparison *c, const struct cpa_judgements *rules, FILE *out);

/* The same as a page: analysis/page/html.h. */
int cpa_compare_html(const struct cpa_comparison *c, const struct cpa_judgements *rules, FILE *out);

#endif
