/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_blocked.c - verdicts on programs that are blocked outside synchronization */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/verdict/verdict_kinds.h"
#include "analysis/verdict/verdict_sentence.h"
#include "analysis/util/format.h"
#include "analysis/profile/components.h"

#define SHARE_IDLE 0.75 /* of the critical path: sleeps; of the observed path: idle time */
#define SHARE_BUSY 0.50 /* work / idle time: with more, the program was not idle */
#define SHARE_IO   0.50 /* of the critical path: other blocked time; sleeps that shorten it */

/* Sum the path time of externals in @names; store the largest in *@most. */
static double sum_externals(const struct cpa_facts *facts, const char *const *names,
			    const struct cpa_component_figures **most)
{
	double sum = 0;

	*most = NULL;
	for (; *names; names++) {
		const struct cpa_component_figures *each =
			cpa_find_external(facts->profile, *names);

		if (!each)
			continue;
		sum += each->critical_path_s;
		if (!*most || each->critical_path_s > (*most)->critical_path_s)
			*most = each;
	}
	return sum;
}

static bool sleeps(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *sleep = cpa_find_external(facts->profile, "sleep");

	if (!sleep || sleep->critical_path_s < SHARE_IDLE * facts->path_s ||
	    sleep->critical_path_s <= 0)
		return false;
	verdict->sentence = cpa_format_text(
		"Nothing to gain in this run: for %s of the critical path of %s the program slept.",
		cpa_format_seconds(sleep->critical_path_s).text,
		cpa_format_seconds(facts->path_s).text);
	verdict->action = xstrdup("Sleep less, or profile a run in which it works.");
	return true;
}

/* The kind of idle time with most of the observed path. NULL: none. */
static const struct cpa_component_figures *most_idle(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *most = NULL;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];

		if (each->kind == CPA_EXTERNAL && each->class == CPA_EXT_IDLE &&
		    (!most || each->observed_path_s > most->observed_path_s))
			most = each;
	}
	return most;
}

/*
 * A path that fills the run is the answer even if the thread that ended it was idle, and so is much
 * work: it may be what that thread waited for, in a way that cpa does not follow.
 */
bool cpa_verdict_is_idle(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *most = most_idle(facts->profile);
	const struct cpa_program_figures *program = &facts->profile->program;
	/* Time on the run queue is the doing of other programs. */
	double run_s = program->observed_path_s - program->segment_s[CPA_TIME_RUNQUEUE];
	double idle = program->segment_blocked_s[CPA_EXT_IDLE];

	if (sleeps(facts, verdict))
		return true;
	if (!most || idle < SHARE_IDLE * run_s || facts->path_s > (1 - SHARE_IDLE) * run_s ||
	    facts->work_s > SHARE_BUSY * idle)
		return false;
	verdict->sentence = cpa_format_text(
		"Nothing to gain in this run: for %s of %s the program waited for something to do "
		"(%s).",
		cpa_format_seconds(idle).text, cpa_format_seconds(program->observed_path_s).text,
		most->name);
	verdict->action = xstrdup("Profile it under load; then what limits it are its CPU time and "
				  "the waits for its locks.");
	return true;
}

bool cpa_verdict_is_io(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	static const char *const names[] = { "read",  "write",	 "sync", "child",
					     "other", "connect", NULL };
	const struct cpa_component_figures *most;
	double blocked = sum_externals(facts, names, &most);
	char *gains;

	if (!most || blocked < SHARE_IO * facts->path_s)
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - blocked);
	if (strcmp(most->name, "child") == 0) {
		verdict->sentence = cpa_format_text(
			"Other processes limit this program: for %s of the %s of the critical path "
			"it waits for their end.",
			cpa_format_seconds(blocked).text, cpa_format_seconds(facts->path_s).text);
		verdict->action =
			cpa_format_text("Make them faster, or start more at a time: %s.", gains);
	} else {
		bool known = strcmp(most->name, "other") != 0;

		verdict->sentence = cpa_format_text(
			"Input and output limit this program: for %s of the %s of the critical "
			"path it is blocked%s%s.",
			cpa_format_seconds(blocked).text, cpa_format_seconds(facts->path_s).text,
			known ? ", most of it in " :
				" for disks, in page faults or calls that cpa does not wrap",
			known ? most->name : "");
		verdict->action = cpa_format_text(
			"%sAsk for more at a time, or ahead of need, from files, devices or other "
			"hosts: %s.",
			known ? "" : "The next run may find the files in memory. ", gains);
	}
	verdict->slot = most->slot;
	free(gains);
	return true;
}

bool cpa_verdict_is_asleep(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *sleep = cpa_find_external(facts->profile, "sleep");
	char *gains;

	if (!sleep || sleep->critical_path_s < SHARE_IO * facts->path_s || sleep->saved_s <= 0)
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - sleep->saved_s);
	verdict->sentence = cpa_format_text(
		"Sleeps limit this program: for %s of the %s of the critical path it slept.",
		cpa_format_seconds(sleep->critical_path_s).text,
		cpa_format_seconds(facts->path_s).text);
	verdict->action =
		cpa_format_text("Sleep less, or wait for what the program sleeps for: %s.", gains);
	verdict->slot = sleep->slot;
	free(gains);
	return true;
}
