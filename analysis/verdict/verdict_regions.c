/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_regions.c - verdicts on parallel regions of OpenMP */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/derived/teams.h"
#include "analysis/profile/components.h"
#include "analysis/profile/pag.h"
#include "analysis/util/format.h"
#include "analysis/verdict/verdict_kinds.h"
#include "analysis/verdict/verdict_sentence.h"

#define MEETINGS_MIN 100 /* fewer are no pattern */

/* How often threads of parallel regions waited for each other; 0: there are none. */
static uint64_t count_meetings(const struct cpa_profile *profile)
{
	uint64_t meetings = 0;

	for (size_t i = 0; cpa_teams_any(profile) && i < profile->edges; i++)
		if (profile->edge[i].dependency)
			meetings += profile->edge[i].count;
	return meetings;
}

/*
 * Their threads may spin, and wake nobody: so by measured time in which the next step had been let go and did not
 * run yet.
 */
bool cpa_verdict_is_short_regions(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_program_figures *program = &facts->profile->program;
	double run_s = program->observed_path_s - program->segment_s[CPA_TIME_RUNQUEUE];
	uint64_t meetings = count_meetings(facts->profile);
	double between = meetings ? facts->work_s / (double)meetings : INFINITY;

	if (program->segment_s[CPA_TIME_HANDOFF] < CPA_SHARE_HANDOFFS * run_s ||
	    meetings < MEETINGS_MIN || between >= CPA_WORTH_A_WAKE_S)
		return false;
	verdict->sentence = cpa_format_text(
		"Short parallel regions limit this program: %s times a thread waits for others of its "
		"team, with %s of work in between.",
		cpa_format_count(meetings).text, cpa_format_seconds(between).text);
	verdict->action =
		xstrdup("Join neighbouring regions and loops, leave out barriers (nowait), "
			"or run the small ones with one thread (if).");
	return true;
}

/* Parallel regions of OpenMP that have one thread each. */
static bool is_alone(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_region *region = &facts->region;
	double gain_s = region->alone_s * (1 - 1 / facts->processors);
	char *gains;

	if (!region->alone ||
	    !cpa_verdict_matters(facts, gain_s, fmax(region->gain_s, region->serial_s)))
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - gain_s);
	verdict->sentence = cpa_format_text(
		"Parallel regions with one thread limit this program: they have %s of the %s of the "
		"critical path, most of it in region %s.",
		cpa_format_seconds(region->alone_s).text, cpa_format_seconds(facts->path_s).text,
		region->alone->name);
	verdict->action = cpa_format_text(
		"Give them more threads, by OMP_NUM_THREADS or where the program sets how many: %s.",
		gains);
	verdict->slot = region->alone->slot;
	free(gains);
	return true;
}

/* Regions whose threads do not share their work well: none of them costs much alone, all do. */
static bool are_several(const struct cpa_facts *facts, struct cpa_verdict *verdict, double serial_s)
{
	const struct cpa_verdict_region *region = &facts->region;
	struct cpa_figure path = cpa_format_seconds(facts->path_s);
	char *gains;

	if (!region->component || !cpa_verdict_matters(facts, region->all_s, serial_s))
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - region->all_s);
	if (region->team) {
		verdict->sentence = cpa_format_text(
			"Uneven work in several parallel regions limits this program: with all of "
			"them balanced the critical path of %s is %s shorter, %s of it by %s.",
			path.text, cpa_format_seconds(region->all_s).text,
			cpa_format_seconds(region->gain_s).text, region->component->name);
		verdict->action =
			cpa_format_text("Divide the work of each evenly among its threads, or try "
					"schedule(dynamic): %s.",
					gains);
	} else {
		verdict->sentence = cpa_format_text(
			"Several parallel regions limit this program: of the critical path of %s they "
			"have %s more than their work divided by their threads; the largest part of "
			"that is in %s.",
			path.text, cpa_format_seconds(region->all_s).text, region->component->name);
		verdict->action = cpa_format_text(
			"Divide their work evenly, or let their threads wait less for each other "
			"(cpa run --journal shows the work of each): %s.",
			gains);
	}
	verdict->slot = region->component->slot;
	free(gains);
	return true;
}

/* A parallel region of OpenMP whose threads do not share its work well. */
bool cpa_verdict_is_region(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_region *region = &facts->region;
	double serial_s = region->serial_s * (1 - 1 / facts->processors);
	char *gains, *what;

	if (is_alone(facts, verdict))
		return true;
	if (!region->component || !cpa_verdict_matters(facts, region->gain_s, serial_s))
		return are_several(facts, verdict, serial_s);
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - region->gain_s);
	if (region->team && region->team->threads > 1) {
		what = cpa_teams_uneven(region->team);
		verdict->sentence = concat("Uneven work limits this program: ", what, NULL);
		verdict->action = cpa_format_text(
			"Divide its work evenly among its threads, or try schedule(dynamic): %s.",
			gains);
		free(what);
	} else {
		verdict->sentence = cpa_format_text(
			"A parallel region limits this program: the %.3g threads of %s have %s of "
			"work each on average, but the longest chain of it is %s.",
			region->threads, region->component->name,
			cpa_format_seconds(region->component->total_s / region->threads).text,
			cpa_format_seconds(region->component->critical_path_s).text);
		verdict->action = cpa_format_text(
			"Divide its work evenly, or let its threads wait less for each other (cpa "
			"run --journal shows the work of each): %s.",
			gains);
	}
	verdict->slot = region->component->slot;
	free(gains);
	return true;
}
