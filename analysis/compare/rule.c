/* SPDX-License-Identifier: MIT */
#include "analysis/compare/rule.h"
#include "analysis/util/student.h"

#include <ctype.h>
#include <fnmatch.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *skip_blanks(const char *text)
{
	while (isspace((unsigned char)*text))
		text++;
	return text;
}

/* "+5%", "-3 %", "+10ms", "400ms", "1.5 s" */
static bool parse_amount(struct cpa_rule *rule, const char *text)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 } };
	bool sign = *text == '+' || *text == '-';
	char *end;

	if (!isdigit((unsigned char)text[sign]) && text[sign] != '.')
		return false;
	rule->amount = strtod(text, &end);
	if (end == text || !isfinite(rule->amount))
		return false;
	text = skip_blanks(end);
	if (strcmp(text, "%") == 0) {
		rule->by = CPA_AMOUNT_RATIO;
		rule->amount /= 100;
		return sign;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(text, units[i].name) != 0)
			continue;
		rule->by = sign ? CPA_AMOUNT_DIFFERENCE : CPA_AMOUNT_TIME;
		rule->amount *= units[i].seconds;
		return true;
	}
	return false;
}

/* "critical path", "CPU", "wall", or "saves|path|wait|item wait KIND:NAME" in @what. */
static bool parse_what(struct cpa_rule *rule, const char *what)
{
	static const char *const totals[] = { "critical path", "CPU", "wall" };
	const char *colon;

	for (size_t i = 0; i < ARRAY_SIZE(totals); i++) {
		if (strcasecmp(what, totals[i]) == 0) {
			rule->measure = CPA_MEASURE_TOTAL;
			rule->name = xstrdup(totals[i]);
			return true;
		}
	}
	for (unsigned m = CPA_MEASURE_SAVES; m < CPA_MEASURES; m++) {
		size_t size = strlen(cpa_measure_name(m));

		if (strncmp(what, cpa_measure_name(m), size) != 0 || what[size] != ' ')
			continue;
		what = skip_blanks(what + size);
		colon = strchr(what, ':');
		if (!colon || colon == what || !colon[1])
			return false;
		rule->measure = m;
		rule->kind = xstrndup(what, (size_t)(colon - what));
		rule->name = xstrdup(colon + 1);
		return true;
	}
	return false;
}

/* The operator is the last one, as names may have such letters. */
static const char *find_operator(const char *text)
{
	const char *less = strrchr(text, '<'), *more = strrchr(text, '>');

	return less > more ? less : more;
}

const char *cpa_rule_parse(struct cpa_rule *rule, const char *text)
{
	const char *operator= find_operator(text), *end = operator;
	const char *wrong = NULL;
	char *what;

	*rule = (struct cpa_rule){ .text = text };
	if (!operator)
		return "'WHAT > AMOUNT' or 'WHAT < AMOUNT' expected, as in 'critical path > +5%'";
	rule->below = *operator== '<';
	text = skip_blanks(text);
	while (end > text && isspace((unsigned char)end[-1]))
		end--;
	what = xstrndup(text, (size_t)(end - text));
	if (!parse_amount(rule, skip_blanks(operator+ 1)))
		wrong = "an amount as +5%, +10ms or 400ms expected behind > or <";
	else if (!parse_what(rule, what))
		wrong = "critical path, CPU, wall, or saves, path, wait or item wait with "
			"KIND:NAME expected before > or <";
	free(what);
	if (wrong)
		cpa_rule_fini(rule);
	return wrong;
}

void cpa_rule_fini(struct cpa_rule *rule)
{
	free(rule->kind);
	free(rule->name);
	rule->kind = rule->name = NULL;
}

bool cpa_rule_matches(const struct cpa_rule *rule, const struct cpa_row *row)
{
	if (row->measure != rule->measure)
		return false;
	if (rule->kind && (!row->kind || fnmatch(rule->kind, row->kind, 0) != 0))
		return false;
	return fnmatch(rule->name, row->name, 0) == 0 || strcmp(rule->name, row->name) == 0;
}

/* The interval of the mean of the new side, or of the only one. */
static struct cpa_interval time_of(const struct cpa_comparison *c, const struct cpa_row *row)
{
	enum cpa_side_name side = c->side[CPA_NEW].runs ? CPA_NEW : CPA_BASE;
	struct cpa_sample sample = cpa_row_sample(c, row, side);
	double mean = cpa_mean(sample), half;

	if (sample.count < 2)
		return (struct cpa_interval){ NAN, NAN };
	half = cpa_deviation(sample) / sqrt((double)sample.count) *
	       cpa_student((double)(sample.count - 1), 0.025);
	return (struct cpa_interval){ mean - half, mean + half };
}

enum cpa_ruling cpa_rule_judge(const struct cpa_rule *rule, const struct cpa_comparison *c,
			       const struct cpa_row *row, struct cpa_interval *found)
{
	double sign = rule->below ? -1 : 1, least, most;

	*found = rule->by == CPA_AMOUNT_TIME	   ? time_of(c, row) :
		 rule->by == CPA_AMOUNT_DIFFERENCE ? row->difference :
						     cpa_row_growth(c, row);
	if (isnan(found->low))
		return CPA_RULE_UNCLEAR;
	/* As if all limits were '>'. */
	least = rule->below ? -found->high : found->low;
	most = rule->below ? -found->low : found->high;
	if (least > sign * rule->amount)
		return CPA_RULE_BROKEN;
	return most <= sign * rule->amount ? CPA_RULE_KEPT : CPA_RULE_UNCLEAR;
}

const char *cpa_ruling_word(enum cpa_ruling ruling)
{
	static const char *const words[] = {
		[CPA_RULE_KEPT] = "kept",
		[CPA_RULE_UNCLEAR] = "unclear",
		[CPA_RULE_BROKEN] = "BROKEN",
	};

	return words[ruling];
}
