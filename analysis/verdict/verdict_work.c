/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_work.c - verdicts on the amount of work: for the processors, and on the path */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/util/format.h"
#include "analysis/verdict/verdict_kinds.h"
#include "analysis/verdict/verdict_sentence.h"
#include "analysis/profile/components.h"

#define FULL 0.95 /* work on the processors / path: then more processors are needed first */

#define MOSTLY 0.5 /* of the path: then the regions decide */

/* Whether most of the critical path is in parallel regions of OpenMP: with more threads it is shorter. */
static bool is_in_regions(const struct cpa_facts *facts)
{
	return facts->path_s - facts->region.serial_s >= MOSTLY * facts->path_s;
}

/* What to do if the critical path is nearly as long as the work on the processors. */
static char *little_gain(const struct cpa_facts *facts, const char *on, const char *less)
{
	bool held = facts->lock && facts->lock_gain_s >= CPA_SHARE_GAIN * facts->path_s;
	char *lock = held ? cpa_verdict_name(facts->lock) : xstrdup("");
	const char *why =
		held ? ": a lock keeps the path that long, the " :
		is_in_regions(facts) ?
		       ": the threads of the parallel regions would have to be more, too" :
		       "";
	char *text = cpa_format_text("More processors alone gain little%s%s. %c%s, only %s.", why,
				     lock, *on - 'a' + 'A', on + 1, less);

	free(lock);
	return text;
}

bool cpa_verdict_is_processors(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	bool scarce = facts->least_s >= (1 + CPA_SHARE_GAIN) * facts->path_s;
	const struct cpa_component_figures *function;
	char *on, *less;

	if (facts->capacity_s < FULL * facts->path_s || facts->path_s <= 0)
		return false;
	on = cpa_verdict_processors(facts);
	function = cpa_verdict_function(facts, true);
	verdict->after_s = facts->path_s;
	verdict->sentence = cpa_format_text(
		"Too few processors limit this program: %s of work take %s %s, %s critical path %s "
		"%s.",
		cpa_format_seconds(facts->work_s).text, cpa_format_seconds(facts->capacity_s).text,
		on, scarce ? "but the" : "and the", scarce ? "is" : "is as long,",
		cpa_format_seconds(facts->path_s).text);
	if (function) {
		char *name = cpa_verdict_name(function);

		less = cpa_format_text("less work: the %s has %s of the CPU time", name,
				       cpa_format_percent(function->total_s, facts->work_s).text);
		free(name);
	} else {
		less = xstrdup("less work, of which no function has much");
	}
	if (scarce)
		verdict->action = cpa_format_text(
			"More processors: at most %.2f times as fast. %c%s, only %s.",
			facts->least_s / facts->path_s, *on - 'a' + 'A', on + 1, less);
	else
		verdict->action = little_gain(facts, on, less);
	verdict->options = cpa_verdict_ask(facts, NULL, "--%s %.0f,%.0f,%.0f",
					   !scarce && is_in_regions(facts) ? "threads" : "cores",
					   facts->processors, 2 * facts->processors,
					   4 * facts->processors);
	free(on);
	free(less);
	return true;
}

bool cpa_verdict_is_work(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *function = cpa_verdict_function(facts, false);
	char *name;

	verdict->sentence = cpa_format_text(
		"The work itself limits this program%s costs much of the critical path of %s.",
		facts->unknown_s < CPA_SHARE_GAIN * facts->path_s ?
			": no lock, queue or uneven division" :
			", or how threads divide it: no lock or queue",
		cpa_format_seconds(facts->path_s).text);
	if (!function) {
		verdict->action = xstrdup("No function stands out either; more threads may help "
					  "while there are processors for them.");
		return true;
	}
	name = cpa_verdict_name(function);
	verdict->action =
		cpa_format_text("Make the %s cheaper (it has %s of the path), or use more threads "
				"while there are processors for them.",
				name, cpa_format_seconds(function->critical_path_s).text);
	verdict->slot = function->slot;
	free(name);
	return true;
}
