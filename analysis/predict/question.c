/* SPDX-License-Identifier: MIT */
/* analysis/predict/question.c - the options that ask for a prediction */
#include "analysis/predict/question.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/predict/placement.h"

#define LOAD_MAX 100

/* Parse a number up to @most at *@text, and move *@text past it; UINT32_MAX: none. */
static uint32_t number(const char **text, uint32_t most)
{
	char *end;
	unsigned long value;

	if (**text < '0' || **text > '9')
		return UINT32_MAX;
	value = strtoul(*text, &end, 10);
	*text = end;
	return value > most ? UINT32_MAX : (uint32_t)value;
}

static const char *add_cores(struct cpa_question *question, const char *value)
{
	do {
		uint32_t cores = number(&value, CPA_CORES_MAX);

		if (cores == 0 || cores == UINT32_MAX || (*value && *value != ','))
			return "numbers of cores from 1 to 4096 expected, as in 1,2,4";
		question->core = XRESIZEVEC(uint32_t, question->core, question->cores + 1);
		question->core[question->cores++] = cores;
	} while (*value++ == ',');
	return NULL;
}

static const char *add_change(struct cpa_question *question, const char *value)
{
	struct cpa_change change;
	const char *error;

	if (cpa_change_parse(&change, value, &error) < 0)
		return error;
	question->change = XRESIZEVEC(struct cpa_change, question->change, question->changes + 1);
	question->change[question->changes++] = change;
	return NULL;
}

const char *cpa_question_add(struct cpa_question *question, int option, const char *value)
{
	switch (option) {
	case CPA_ASK_CORES:
		return add_cores(question, value);
	case CPA_ASK_GROUP:
		question->groups = value;
		return NULL;
	case CPA_ASK_LOAD:
		question->load = number(&value, LOAD_MAX);
		return question->load == UINT32_MAX || *value ?
			       "a number of processes from 0 to 100 expected" :
			       NULL;
	case CPA_ASK_NETWORK:
		return cpa_network_add(&question->network, value);
	case CPA_ASK_CURVES:
		question->curves = true;
		return NULL;
	default:
		return add_change(question, value);
	}
}

bool cpa_question_asked(const struct cpa_question *question)
{
	return question->cores || question->changes || question->groups || question->load ||
	       question->network.asked || question->curves;
}

int cpa_question_answer(const struct cpa_question *question, struct cpa_dump *dump,
			const struct cpa_profile *profile, const struct cpa_page *page, bool json)
{
	struct cpa_answer answer;
	json_t *object;
	char *error;
	enum cpa_refusal refusal = cpa_predict(dump, profile, question, &answer, &error);

	if (refusal != CPA_ANSWERED) {
		fprintf(stderr, "cpa-report: %s\n", error);
		free(error);
		return refusal == CPA_BAD_QUESTION ? 2 : 1;
	}
	if (json) {
		object = cpa_answer_json(&answer);
		json_dumpf(object, page->out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
		fputc('\n', page->out);
		json_decref(object);
	} else {
		cpa_answer_text(&answer, profile, page);
	}
	cpa_answer_free(&answer);
	return 0;
}

void cpa_question_fini(struct cpa_question *question)
{
	for (size_t i = 0; i < question->changes; i++)
		free(question->change[i].name);
	free(question->change);
	cpa_network_fini(&question->network);
	free(question->core);
}
