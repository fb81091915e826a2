/* SPDX-License-Identifier: MIT */
#include "analysis/verdict/rivals.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/derived/find.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"

#define MOST 100000.0 /* windows: more is as good as never */

char *cpa_sample_sentence(const struct cpa_program_figures *program)
{
	if (!program->windows)
		return NULL;
	if (program->batches)
		return xstrdup("The parts are a sample of the run. +-: in 95 % of cases the "
			       "figure of the whole run is no farther off, if the program does "
			       "the same all the time.");
	return cpa_format_text("Too few windows, %llu, to say how far off the figures of the whole "
			       "run may be.",
			       (unsigned long long)program->windows);
}

char *cpa_rivals_sentence(const struct cpa_profile *profile)
{
	const struct cpa_rivals *rivals = &profile->rivals;
	char *first, *second, *more, *text;

	if (!rivals->first)
		return NULL;
	first = cpa_describe(rivals->first, true);
	second = cpa_describe(rivals->second, false);
	more = rivals->windows < MOST ?
		       cpa_format_text("about %.0f more windows would tell them apart",
				       rivals->windows) :
		       cpa_format_text("they are equal, as far as %.0f windows can tell", MOST);
	text = cpa_format_text("%s saves %s +- %s, %s %s +- %s: %s.", first,
			       cpa_format_seconds(rivals->first->saved_s).text,
			       cpa_format_seconds(rivals->first->saved_margin_s).text, second,
			       cpa_format_seconds(rivals->second->saved_s).text,
			       cpa_format_seconds(rivals->second->saved_margin_s).text, more);
	free(more);
	free(second);
	free(first);
	return text;
}

char *cpa_uneven_sentence(const struct cpa_profile *profile)
{
	const struct cpa_uneven *uneven = &profile->uneven;
	char *text = NULL;

	for (size_t i = 0; i < uneven->count; i++) {
		const struct cpa_uneven_share *share = &uneven->most[i];
		char *name = cpa_describe(share->component, false);
		char *longer = cpa_format_text(
			"%s %s has %.0f%% of the critical path (%.0f%% in the windows)%s",
			text ? text :
			       "Windows were rarer where cpa costs more: weighted by "
			       "the time that each stands for,",
			name, 100 * share->in_run, 100 * share->in_windows,
			i + 1 < uneven->count ? "," : ".");

		free(name);
		free(text);
		text = longer;
	}
	return text;
}
