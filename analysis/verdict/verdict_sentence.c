/* SPDX-License-Identifier: MIT */
#include "analysis/verdict/verdict_sentence.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"

#define CLEARLY 1.25 /* a more general kind wins if it gains so many times as much */
#define MUCH	0.25 /* share of the path: a kind that gains so much comes before any function */
#define TWICE	2.0  /* a function that gains so many times as much comes first */
#define WORTH	1.05 /* times as fast: less is not promised */

char *cpa_verdict_name(const struct cpa_component_figures *component)
{
	char *described = cpa_describe(component, false);
	char *name = xstrdup(strncmp(described, "the ", 4) == 0 ? described + 4 : described);

	free(described);
	return name;
}

const struct cpa_component_figures *cpa_verdict_function(const struct cpa_facts *facts, bool of_cpu)
{
	const struct cpa_profile *profile = facts->profile;
	const struct cpa_component_figures *most = NULL;
	double least = CPA_SHARE_GAIN * (of_cpu ? facts->work_s : facts->path_s), best = least;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];
		double share = of_cpu ? each->total_s : each->critical_path_s;

		if (each->kind != CPA_FUNCTION || each->shared ||
		    each->slot == CPA_SLOT_UNSAMPLED || share < best ||
		    cpa_unexplained_spins(profile, each))
			continue;
		most = each;
		best = share;
	}
	return most;
}

char *cpa_verdict_processors(const struct cpa_facts *facts)
{
	return cpa_format_text("on %.0f processor%s", facts->processors,
			       facts->processors > 1 ? "s" : "");
}

char *cpa_verdict_gain(const struct cpa_facts *facts, struct cpa_verdict *verdict, double path_s)
{
	char *on = cpa_verdict_processors(facts), *text;
	double times;

	verdict->after_s = fmin(fmax(fmax(path_s, facts->capacity_s), 0), facts->least_s);
	times = verdict->after_s > 0 ? facts->least_s / verdict->after_s : 0;
	if (times == 0 || times >= 10)
		text = xstrdup("that is nearly all of the time that the run needs");
	else if (times < WORTH)
		text = cpa_format_text("little gain %s, whose limit is then all the work", on);
	else if (path_s < facts->capacity_s)
		text = cpa_format_text("at most %.2f times as fast %s, more on more of them", times,
				       on);
	else
		text = cpa_format_text("at most %.2f times as fast", times);
	free(on);
	return text;
}

__attribute__((format(printf, 3, 4))) char *
cpa_verdict_ask(const struct cpa_facts *facts, const char *name, const char *format, ...)
{
	va_list args;
	char *text;

	if (!facts->profile->program.journal || (name && strpbrk(name, "'*?[\\")))
		return NULL;
	va_start(args, format);
	text = cpa_format_args(format, args);
	va_end(args);
	return text;
}

bool cpa_verdict_matters(const struct cpa_facts *facts, double gain_s, double other_s)
{
	return gain_s >= CPA_SHARE_GAIN * (facts->path_s - facts->region.spun_s) &&
	       gain_s * CLEARLY >= other_s;
}

bool cpa_verdict_is_outweighed(const struct cpa_facts *facts, double gain_s)
{
	const struct cpa_component_figures *function = cpa_verdict_function(facts, false);

	return gain_s < MUCH * facts->path_s && function && function->saved_s >= TWICE * gain_s;
}
