/* SPDX-License-Identifier: MIT */
#include "analysis/derived/since.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/components.h"
#include "analysis/profile/contexts.h"
#include "analysis/profile/intervals.h"
#include "analysis/profile/lock_arrays.h"
#include "analysis/profile/margins.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"

#define ROUNDING_S 1e-10 /* less than a tick */
#define RATE	   1e-4	 /* two copies differ by less in the rate of the clock */

static void take(double *from, double seconds)
{
	*from -= seconds;
	if (*from < ROUNDING_S)
		*from = 0;
}

static void take_count(uint64_t *from, uint64_t count)
{
	*from -= count < *from ? count : *from;
}

static void take_program(struct cpa_program_figures *now, const struct cpa_program_figures *before)
{
	take(&now->wall_s, before->wall_s);
	take(&now->end_s, before->run_s);
	take(&now->run_s, before->run_s);
	take(&now->cpu_s, before->cpu_s);
	take(&now->work_s, before->work_s);
	take(&now->wait_s, before->wait_s);
	take(&now->external_s, before->external_s);
	take(&now->critical_path_s, before->critical_path_s);
	take(&now->observed_path_s, before->observed_path_s);
	for (unsigned i = 0; i < CPA_EXT_CLASSES; i++) {
		take(&now->blocked_s[i], before->blocked_s[i]);
		take(&now->segment_blocked_s[i], before->segment_blocked_s[i]);
	}
	take(&now->border_s, before->border_s);
	take(&now->segment_border_s, before->segment_border_s);
	for (unsigned i = 0; i < CPA_TIME_KINDS; i++)
		take(&now->segment_s[i], before->segment_s[i]);
	now->parallelism = now->wall_s > 0 ? now->work_s / now->wall_s : 0;
	now->utilization = now->wall_s > 0 && now->cores ? now->cpu_s / now->wall_s / now->cores :
							   0;
	now->max_parallelism =
		now->critical_path_s > 0 ?
			(now->work_s + now->blocked_s[CPA_EXT_SERVICE]) / now->critical_path_s :
			0;
	now->windows = now->batches = 0;
	now->idle_path_s = 0;
}

/* The same component as @c; NULL: there was none, or the search has moved it since. */
static const struct cpa_component_figures *find(const struct cpa_profile *before,
						const struct cpa_component_figures *c)
{
	for (size_t i = 0; i < before->components; i++) {
		const struct cpa_component_figures *b = &before->component[i];

		if (b->slot == c->slot && b->kind == c->kind && b->since_s == c->since_s)
			return b;
	}
	return NULL;
}

static int compare_saved(const void *a, const void *b)
{
	const struct cpa_component_figures *x = a, *y = b;

	if (x->saved_s != y->saved_s)
		return x->saved_s > y->saved_s ? -1 : 1;
	if (x->total_s != y->total_s)
		return x->total_s > y->total_s ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void take_components(struct cpa_profile *now, const struct cpa_profile *before)
{
	for (size_t i = 0; i < now->components; i++) {
		struct cpa_component_figures *c = &now->component[i];
		const struct cpa_component_figures *b = find(before, c);

		if (!b)
			continue;
		take(&c->total_s, b->total_s);
		take(&c->critical_path_s, b->critical_path_s);
		take(&c->observed_path_s, b->observed_path_s);
		take(&c->saved_s, b->saved_s);
		take_count(&c->calls, b->calls);
		take(&c->inclusive_s, b->inclusive_s);
		take(&c->whole_saved_s, b->whole_saved_s);
		take(&c->whole_critical_path_s, b->whole_critical_path_s);
	}
	qsort(now->component, now->components, sizeof(*now->component), compare_saved);
}

/* What a thread spent most in is of its whole life: it goes. */
static void take_threads(struct cpa_profile *now, const struct cpa_profile *before)
{
	for (size_t i = 0; i < now->threads; i++) {
		struct cpa_thread_figures *t = &now->thread[i];
		const struct cpa_thread_figures *b = NULL;

		t->spends = 0;
		/* The row, not the id: that is another one in each part of the run. */
		for (size_t k = 0; k < before->threads && !b; k++)
			if (before->thread[k].row == t->row)
				b = &before->thread[k];
		if (!b)
			continue;
		take_count(&t->events, b->events);
		take(&t->cpu_s, b->cpu_s);
		take(&t->wait_s, b->wait_s);
		take(&t->external_s, b->external_s);
		take(&t->runqueue_s, b->runqueue_s);
		take(&t->probe_s, b->probe_s);
		take(&t->process_s, b->process_s);
		take(&t->profiled_s, b->profiled_s);
		take(&t->critical_path_s, b->critical_path_s);
		take_count(&t->bytes_read, b->bytes_read);
		take_count(&t->bytes_written, b->bytes_written);
	}
}

static int compare_wait(const void *a, const void *b)
{
	const struct cpa_object_figures *x = a, *y = b;

	if (x->wait_s != y->wait_s)
		return x->wait_s > y->wait_s ? -1 : 1;
	return strcmp(x->class, y->class);
}

static void take_objects(struct cpa_profile *now, const struct cpa_profile *before)
{
	for (size_t i = 0; i < now->objects; i++) {
		struct cpa_object_figures *o = &now->object[i];
		const struct cpa_object_figures *b = NULL;

		for (size_t k = 0; k < before->objects && !b; k++)
			if (before->object[k].row == o->row)
				b = &before->object[k];
		if (!b)
			continue;
		take_count(&o->acquisitions, b->acquisitions);
		take_count(&o->contended, b->contended);
		take_count(&o->handoffs, b->handoffs);
		take(&o->wait_s, b->wait_s);
		take(&o->hold_s, b->hold_s);
		take(&o->saved_s, b->saved_s);
		take(&o->critical_path_s, b->critical_path_s);
	}
	qsort(now->object, now->objects, sizeof(*now->object), compare_wait);
	cpa_lock_arrays_free(now->lock_arrays);
	now->lock_arrays = cpa_lock_arrays_build(now);
}

static void take_processes(struct cpa_profile *now, const struct cpa_profile *before)
{
	for (size_t i = 0; i < now->processes; i++) {
		struct cpa_process_figures *p = &now->process[i];

		for (size_t k = 0; k < before->processes; k++) {
			const struct cpa_process_figures *b = &before->process[k];

			if (b->id != p->id)
				continue;
			take(&p->cpu_s, b->cpu_s);
			take(&p->process_s, b->process_s);
			take(&p->wait_s, b->wait_s);
			take(&p->external_s, b->external_s);
			take(&p->runqueue_s, b->runqueue_s);
			take(&p->probe_s, b->probe_s);
		}
	}
}

/* Drop what is of the time before @at_s. */
static void drop_early(struct cpa_profile *now, double at_s)
{
	size_t kept = 0;

	for (size_t i = 0; i < now->parts; i++)
		if (now->part[i].to_s > at_s) {
			now->part[kept] = now->part[i];
			now->part[kept].from_s = fmax(now->part[i].from_s, at_s);
			kept++;
		}
	now->parts = kept;
	now->program.earlier_parts = 0;
	kept = 0;
	for (size_t i = 0; i < now->marks; i++) {
		if (now->mark[i].at_s >= at_s)
			now->mark[kept++] = now->mark[i];
		else
			free(now->mark[i].name);
	}
	now->marks = kept;
}

/* Drop what is not known of a part of the run. */
static void drop_whole(struct cpa_profile *now)
{
	now->rivals = (struct cpa_rivals){ 0 };
	now->uneven = (struct cpa_uneven){ 0 };
	now->intervals->samples = 0;
	for (size_t i = 0; i < now->queues; i++) {
		free(now->queue[i].name);
		free(now->queue[i].location);
	}
	now->queues = 0;
	cpa_streams_free(now);
	for (size_t i = 0; i < now->edges; i++)
		for (uint32_t k = 0; k < now->edge[i].functions; k++)
			free(now->edge[i].function[k].function);
	now->edges = 0;
	for (size_t i = 0; i < now->components; i++) {
		free(now->component[i].callers);
		now->component[i].callers = NULL;
	}
	if (now->contexts)
		cpa_contexts_free(now->contexts);
	now->contexts = NULL;
}

bool cpa_profile_since(struct cpa_profile *profile, const struct cpa_profile *before)
{
	double at_s = before->program.run_s;
	/*
	 * A program that runs is read up to its last event, or to a common moment of its threads: a
	 * copy that was just made may have a little more. Of one that was killed the run ends with its last event.
	 */
	bool later = !profile->program.running && at_s > profile->program.run_s &&
		     before->program.cpu_s > profile->program.cpu_s * (1 + RATE);

	if (profile->program.pid != before->program.pid ||
	    profile->program.started_at != before->program.started_at ||
	    strcmp(profile->program.exe, before->program.exe) != 0 || later)
		return false;
	take_program(&profile->program, &before->program);
	take_components(profile, before);
	take_threads(profile, before);
	take_objects(profile, before);
	take_processes(profile, before);
	drop_early(profile, at_s);
	drop_whole(profile);
	cpa_margins_clear(profile);
	take(&profile->diagnostics.probe_s, before->diagnostics.probe_s);
	take_count(&profile->diagnostics.samples, before->diagnostics.samples);
	take_count(&profile->diagnostics.untimed, before->diagnostics.untimed);
	take(&profile->diagnostics.samples_s, before->diagnostics.samples_s);
	return true;
}
