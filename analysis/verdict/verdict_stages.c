/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_stages.c - verdicts on those that pass work on: by queues, by pipes and connections */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/util/format.h"
#include "analysis/verdict/verdict_kinds.h"

#define UNEVEN 1.5 /* the work of the busiest of several processes, by their mean */
#include "analysis/verdict/verdict_sentence.h"
#include "analysis/profile/components.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

bool cpa_verdict_is_queue(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_queue_figures *queue = facts->queue;
	const char *noun;
	char *gains;

	if (!queue || !cpa_verdict_matters(facts, facts->queue_gain_s,
					   fmax(facts->uneven_gain_s, facts->serial_gain_s)))
		return false;
	noun = queue->by == CPA_BY_NAME || queue->by == CPA_BY_VARIABLE ? "queue " : "";
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - facts->queue_gain_s);
	if (queue->critical_path_s >= queue->producers_path_s) {
		verdict->sentence = cpa_format_text(
			"The consumers of a queue limit this program: work on items of %s%s is %s "
			"of the %s of the critical path (%u consumer%s, %s an item).",
			noun, queue->name, cpa_format_seconds(queue->critical_path_s).text,
			cpa_format_seconds(facts->path_s).text, queue->consumers,
			queue->consumers == 1 ? "" : "s",
			cpa_format_seconds(queue->service_s).text);
		verdict->action = cpa_format_text(
			"Add consumers, or make an item cheaper; faster producers gain nothing: %s.",
			gains);
		verdict->options = cpa_verdict_ask(facts, queue->name,
						   "--what-if 'queue:%s workers=%u'", queue->name,
						   2 * queue->consumers);
	} else {
		verdict->sentence = cpa_format_text(
			"The producers of a queue limit this program: those of %s%s are on the "
			"critical path for %s of %s (%u producer%s).",
			noun, queue->name, cpa_format_seconds(queue->producers_path_s).text,
			cpa_format_seconds(facts->path_s).text, queue->producers,
			queue->producers == 1 ? "" : "s");
		verdict->action = cpa_format_text(
			"Add producers, or make them faster; more consumers gain nothing: %s.",
			gains);
	}
	verdict->slot = queue->slot;
	free(gains);
	return true;
}

/* ", most of it in the function f (f.c:1)" if one has half of @part_s; else "". */
static char *in_function(const struct cpa_facts *facts, double part_s)
{
	const struct cpa_component_figures *function = cpa_verdict_function(facts, false);
	char *name, *text;

	if (!function || function->critical_path_s < part_s / 2)
		return xstrdup("");
	name = cpa_verdict_name(function);
	text = cpa_format_text(", most of it in the %s", name);
	free(name);
	return text;
}

/*
 * " (of its 2 processes 4711, git gc, has 85.3% of the work)", or that they have even work; "" if there are not
 * several. The caller frees it.
 */
static char *in_process(const struct cpa_profile *profile, uint32_t slot)
{
	struct cpa_processes_of of = cpa_find_processes(profile, slot);
	char *title, *text;

	if (of.n < 2)
		return xstrdup("");
	if (of.n > 2 && of.most->process_s * (double)of.n < UNEVEN * of.work_s)
		return cpa_format_text(" (its %zu processes have about equal work)", of.n);
	title = cpa_thread_title(profile, of.most);
	text = cpa_format_text(" (of its %zu processes %u%s%s%s has %s of the work)", of.n,
			       of.most->tid, title ? ", " : "", title ? title : "",
			       title ? "," : "",
			       cpa_format_percent(of.most->process_s, of.work_s).text);
	free(title);
	return text;
}

bool cpa_verdict_is_stage(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *stage = facts->stage;
	const char *name, *other;
	char *gains, *function, *process;
	bool several;

	if (!stage || !cpa_verdict_matters(facts, stage->saved_s, facts->queue_gain_s))
		return false;
	name = facts->stream->from;
	other = facts->stream->to;
	if (stage->slot != facts->stream->writer.slot) {
		name = facts->stream->to;
		other = facts->stream->from;
	}
	several = strstr(other, " and ") != NULL;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - stage->saved_s);
	function = in_function(facts, stage->critical_path_s);
	process = in_process(facts->profile, stage->slot);
	verdict->sentence = cpa_format_text(
		"A stage limits this program: %s wait%s for %s, which has %s of the %s of the "
		"critical path (%s)%s.",
		other, several ? "" : "s", name, cpa_format_seconds(stage->critical_path_s).text,
		cpa_format_seconds(facts->path_s).text,
		cpa_format_percent(stage->critical_path_s, facts->path_s).text, function);
	verdict->action = cpa_format_text(
		"Make %s cheaper, or divide its work among several%s; faster others gain nothing: %s.",
		name, process, gains);
	verdict->options =
		cpa_verdict_ask(facts, stage->name, "--what-if 'thread:%s=0.5'", stage->name);
	verdict->slot = stage->slot;
	free(process);
	free(function);
	free(gains);
	return true;
}
