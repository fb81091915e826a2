/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_threads.c - verdicts on how work is divided among threads, or processes */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/verdict/verdict_kinds.h"
#include "analysis/verdict/verdict_sentence.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"

#define PIECE 0.1 /* of the time outside parallel regions: a function with less is not named */

/* "solver (rounds.c:27)". The caller frees it. */
static char *routine(const struct cpa_verdict_class *class)
{
	const char *where = cpa_printable_where(class->component->name, class->component->location);

	return cpa_format_text("%s%s%s%s", class->component->name, *where ? " (" : "", where,
			       *where ? ")" : "");
}

static const char *noun(const struct cpa_verdict_class *class)
{
	return class->apart ? "processes" : "threads";
}

/* ", cc1 slow.c,": the busiest of @class, if it is known; else "". The caller frees it. */
static char *busiest(const struct cpa_verdict_class *class)
{
	char *title, *text;

	if (!class->busiest || !class->busiest->argument)
		return xstrdup("");
	title = cpa_process_title(class->busiest);
	text = cpa_format_text(", %s,", title);
	free(title);
	return text;
}

/* ", most of it in region edge" if a region, as a loop of OpenMP, has half of @chain_s; else "". */
static char *in_region(const struct cpa_profile *profile, double chain_s)
{
	const struct cpa_component_figures *most = NULL;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];

		if (each->kind == CPA_REGION && !each->shared &&
		    each->critical_path_s >= (most ? most->critical_path_s : chain_s / 2))
			most = each;
	}
	return most ? cpa_format_text(", most of it in region %s", most->name) : xstrdup("");
}

static bool has_barriers(const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->objects; i++)
		if (strcmp(profile->object[i].kind, "barrier") == 0 &&
		    profile->object[i].contended > 0)
			return true;
	return false;
}

/*
 * A chain through threads that is longer than their work on average is uneven work if one thread has
 * most of it, or another one at each barrier; else the threads work in turn.
 */
bool cpa_verdict_is_imbalance(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_class *class = &facts->uneven;
	double mean = class->threads ? class->work_s / class->threads : 0;
	double chain = class->component ? class->component->critical_path_s : 0;
	char *gains, *name, *region, *most;

	/* A damaged dump may have threads without their class. */
	if (!class->component ||
	    !cpa_verdict_matters(facts, facts->uneven_gain_s, facts->serial_gain_s) ||
	    (class->most_s - mean < facts->uneven_gain_s / 2 && !has_barriers(facts->profile)))
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - facts->uneven_gain_s);
	name = routine(class);
	region = in_region(facts->profile, chain);
	most = busiest(class);
	verdict->sentence = cpa_format_text(
		"Uneven work limits this program: its %u %s of %s have %s of work each on "
		"average, but the busiest%s has %s, and the longest chain of them is %s%s.",
		class->threads, noun(class), name, cpa_format_seconds(mean).text, most,
		cpa_format_seconds(class->most_s).text, cpa_format_seconds(chain).text, region);
	verdict->action =
		class->busiest ?
			cpa_format_text("Start the longest of these processes first, or divide its "
					"work: %s.",
					gains) :
			cpa_format_text("Divide the work evenly among these %s: %s.", noun(class),
					gains);
	if (class->apart)
		verdict->options = xstrdup("--level process");
	verdict->slot = class->component->slot;
	free(most);
	free(region);
	free(name);
	free(gains);
	return true;
}

bool cpa_verdict_is_turns(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_class *class = &facts->uneven;
	double chain = class->component ? class->component->critical_path_s : 0;
	char *gains, *name;

	if (!class->component ||
	    !cpa_verdict_matters(facts, facts->uneven_gain_s, facts->serial_gain_s))
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - facts->uneven_gain_s);
	name = routine(class);
	verdict->sentence = cpa_format_text(
		"%s that work in turn limit this program: its %u of %s have %s of work each "
		"on average, but one has to wait for another, in a chain of %s.",
		class->apart ? "Processes" : "Threads", class->threads, name,
		cpa_format_seconds(class->work_s / class->threads).text,
		cpa_format_seconds(chain).text);
	verdict->action = cpa_format_text(
		"Let %s at the same time%s: %s.", class->apart ? "more of them run" : "them work",
		class->apart ? "" : "; the table of locks shows what they wait for", gains);
	if (class->apart)
		verdict->options = xstrdup("--level process");
	verdict->slot = class->component->slot;
	free(name);
	free(gains);
	return true;
}

bool cpa_verdict_is_serial(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_class *class = &facts->serial;
	const struct cpa_component_figures *function = facts->serial_function;
	double share = facts->serial_gain_s, regions_s = facts->path_s - facts->region.serial_s;
	bool alone = class->threads == 1;
	char *gains, *name = NULL;

	if (!class->component || share < CPA_SHARE_GAIN * facts->path_s ||
	    cpa_verdict_is_outweighed(facts, share))
		return false;
	gains = cpa_verdict_gain(facts, verdict,
				 facts->path_s - share * (1 - 1 / facts->processors));
	if (regions_s >= CPA_SHARE_GAIN * facts->path_s) {
		/* Others may be in the regions. */
		function = facts->outside_s >= PIECE * facts->region.serial_s ? facts->outside :
										NULL;
		name = function ? cpa_verdict_name(function) : NULL;
		verdict->sentence = cpa_format_text(
			"A serial part limits this program: outside its parallel regions are %s%s of "
			"the %s of the critical path%s%s.",
			facts->region.tasks_s > 0 ? "at most " : "",
			cpa_format_seconds(facts->region.serial_s).text,
			cpa_format_seconds(facts->path_s).text,
			!name ? "" :
			facts->outside_s >= facts->region.serial_s / 2 ?
				", most of it in the " :
				"; the largest piece is the ",
			name ? name : "");
	} else {
		name = function ? cpa_verdict_name(function) : NULL;
		verdict->sentence = cpa_format_text(
			"A serial part limits this program: the %s %s%s %s of the %s of the critical "
			"path%s%s.",
			alone ? "one thread" : "threads", class->component->name,
			alone ? " has" : ", one after another, have",
			cpa_format_seconds(class->component->critical_path_s).text,
			cpa_format_seconds(facts->path_s).text,
			name ? "; the largest piece is the " : "", name ? name : "");
	}
	verdict->action =
		cpa_format_text("Make that cheaper, or divide it among threads: %s.", gains);
	verdict->slot = function ? function->slot : class->component->slot;
	free(name);
	free(gains);
	return true;
}
