/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_locks.c - verdicts on locks, and on threads that wake each other too often */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/verdict/verdict_kinds.h"
#include "analysis/verdict/verdict_sentence.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"

#define WAKES_MIN 100	/* fewer hand-offs are no pattern */
#define WAKE_S	  10e-6 /* less work than that costs less than to wake a thread for it */

/* How often a thread waited until another woke it. */
static uint64_t count_wakes(const struct cpa_profile *profile)
{
	uint64_t wakes = 0;

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];

		if (strcmp(object->kind, "condition") == 0)
			wakes += object->handoffs;
		else if (strcmp(object->kind, "spin") != 0)
			wakes += object->contended;
	}
	return wakes;
}

/*
 * By measured time, or, since on a busy machine that time passes on the run queue, by the work
 * between two wake-ups.
 */
bool cpa_verdict_is_handoffs(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_program_figures *program = &facts->profile->program;
	double handoff = program->segment_s[CPA_TIME_HANDOFF];
	double run_s = program->observed_path_s - program->segment_s[CPA_TIME_RUNQUEUE];
	uint64_t wakes = count_wakes(facts->profile);
	double between = wakes ? facts->work_s / (double)wakes : INFINITY;

	if (wakes < WAKES_MIN || between >= CPA_WORTH_A_WAKE_S ||
	    (handoff < CPA_SHARE_HANDOFFS * run_s && between >= WAKE_S))
		return false;
	verdict->sentence = cpa_format_text(
		"Hand-offs limit this program: %s times a thread waits until another wakes it, "
		"with %s of work in between.",
		cpa_format_count(wakes).text, cpa_format_seconds(between).text);
	verdict->action = xstrdup("Hand over less often, in larger pieces, or let one thread do "
				  "both parts; shorter critical sections gain less.");
	return true;
}

bool cpa_verdict_is_lock(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	double others = fmax(facts->queue_gain_s, fmax(facts->uneven_gain_s, facts->serial_gain_s));
	const struct cpa_component_figures *lock = facts->lock;
	char *name, *gains;

	if (!lock || !cpa_verdict_matters(facts, facts->lock_gain_s, others) ||
	    cpa_verdict_is_outweighed(facts, facts->lock_gain_s))
		return false;
	name = cpa_verdict_name(lock);
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - facts->lock_gain_s);
	verdict->sentence = cpa_format_text(
		"A lock limits this program: the %s is held for %s of the %s of the critical path.",
		name, cpa_format_seconds(lock->critical_path_s).text,
		cpa_format_seconds(facts->path_s).text);
	verdict->action =
		cpa_format_text("Do less under it, or split it into several locks: %s.", gains);
	if (!lock->shared)
		verdict->options = cpa_verdict_ask(facts, lock->name, "--what-if 'lock:%s=split:8'",
						   lock->name);
	verdict->slot = lock->slot;
	free(name);
	free(gains);
	return true;
}
