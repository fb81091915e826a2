/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_unseen.c - the verdict on programs of which cpa saw too little */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "analysis/util/format.h"
#include "analysis/verdict/verdict_kinds.h"

#define SHARE_UNSEEN 0.50 /* of the observed path */
#define BLANK_S	     1e-6 /* no time for an event */

/* Nothing of the run was profiled, as of one that ended before the first window of its budget. */
static bool is_blank(const struct cpa_program_figures *program, struct cpa_verdict *verdict)
{
	if (program->wall_s > BLANK_S || program->critical_path_s > BLANK_S)
		return false;
	verdict->sentence =
		xstrdup("What limits this program is not known: nothing of the run was profiled.");
	verdict->action = xstrdup(
		"Profile all of it, or begin a part (CPA_START(), cpa ctl) while it works.");
	return true;
}

/* No thread has figures, as in a file that was cut behind its header. */
static bool is_empty(const struct cpa_profile *profile, struct cpa_verdict *verdict)
{
	const struct cpa_program_figures *program = &profile->program;
	bool threads = profile->threads > 0;

	if (program->critical_path_s > 0 || program->observed_path_s > 0 || program->work_s > 0)
		return false;
	verdict->sentence = cpa_format_text("What limits this program is not known: %s",
					    threads ? "no thread has recorded any work." :
						      "the profile has no thread.");
	verdict->action = xstrdup(threads ?
					  "If it has just begun, look again later." :
					  "If its file was cut or damaged, run the program again.");
	return true;
}

/* Most of the path is time in which threads wait by loops of the program's own. */
static bool is_busy(const struct cpa_profile *profile, struct cpa_verdict *verdict)
{
	char *busy = cpa_unexplained_busy(profile, SHARE_UNSEEN);

	if (!busy)
		return false;
	verdict->sentence = cpa_format_text("What limits this program is not known: %s", busy);
	verdict->action = xstrdup(
		"cpa sees waits by locks, conditions, barriers and semaphores, and by ordered(n) of "
		"OpenMP: with one of these in the place of such loops it knows who waits for whom.");
	free(busy);
	return true;
}

bool cpa_verdict_is_unseen(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_program_figures *program = &facts->profile->program;
	double after_s = facts->unexplained.after_s;
	/* One that was killed may have been idle. */
	bool ends_early = WIFEXITED(program->status) &&
			  after_s > SHARE_UNSEEN * (program->run_s + after_s);
	const char *early =
		program->left_by_handler ?
			"A signal handler jumped out of cpa's own code, which ends the "
			"profile of its thread: profile the program once more, as that "
			"is a matter of microseconds." :
			"It made its last system calls itself, as Go programs do, which "
			"cpa does not see: a profiler that samples, such as perf, shows "
			"more.";
	bool few = facts->profile->parts && program->wall_s < program->run_s / 2;
	const char *unknown =
		few || program->segment_border_s > facts->unexplained.path_s / 2 ?
			"Profile longer parts of the run, or all of it: cpa knows little of waits "
			"that began before a part, or ended after it." :
			"Tell cpa of the program's own synchronization by "
			"CPA_HAPPENS_BEFORE() and CPA_HAPPENS_AFTER() (man cpa.h).";
	char *reason;

	if (is_blank(program, verdict) || is_empty(facts->profile, verdict) ||
	    is_busy(facts->profile, verdict))
		return true;
	if (!ends_early && facts->unexplained.path_s <= SHARE_UNSEEN * program->observed_path_s)
		return false;
	reason = cpa_unexplained_reason(&facts->unexplained, facts->profile);
	verdict->sentence = cpa_format_text("What limits this program is not known: %s", reason);
	free(reason);
	verdict->action = xstrdup(ends_early ? early : unknown);
	return true;
}
