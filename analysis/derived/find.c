/* SPDX-License-Identifier: MIT */
/* analysis/derived/find.c - components that a sentence of the report may name */
#include "analysis/derived/find.h"

#include <fnmatch.h>
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/threads.h"
#include "analysis/derived/function.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

/* Below these, a lock that some thread once waited for is just a part of its code. */
#define WAITS	 0.01 /* waits / time that it is held */
#define HANDOFFS 0.1  /* hand-offs / acquisitions */

bool cpa_is_contested(const struct cpa_profile *profile, const struct cpa_component_figures *lock)
{
	bool found = false;

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];

		if (!object->has_slot || object->slot != lock->slot)
			continue;
		if ((object->contended && object->wait_s >= WAITS * object->hold_s) ||
		    (object->handoffs &&
		     (double)object->handoffs >= HANDOFFS * (double)object->acquisitions))
			return true;
		found = true;
	}
	return !found || lock->shared;
}

bool cpa_is_contested_lock(const struct cpa_profile *profile,
			   const struct cpa_component_figures *component)
{
	return component->kind == CPA_LOCK && cpa_is_contested(profile, component);
}

bool cpa_is_short_queue(const struct cpa_profile *profile,
			const struct cpa_component_figures *component)
{
	uint64_t items = 0;

	if (component->kind != CPA_QUEUE)
		return false;
	for (size_t i = 0; i < profile->queues; i++)
		if (profile->queue[i].slot == component->slot)
			items += profile->queue[i].dequeued;
	return items < CPA_BALANCE_ITEMS;
}

bool cpa_is_work(const struct cpa_profile *profile, const struct cpa_component_figures *component)
{
	if (component->kind == CPA_FUNCTION)
		return component->slot != CPA_SLOT_UNSAMPLED && !component->shared;
	if (component->kind == CPA_LOCK)
		return cpa_is_contested(profile, component);
	return component->kind != CPA_EXTERNAL && component->kind != CPA_THREAD &&
	       !cpa_is_short_queue(profile, component);
}

bool cpa_comes_last(const struct cpa_profile *profile,
		    const struct cpa_component_figures *component)
{
	return (component->kind == CPA_FUNCTION &&
		(component->shared || component->slot == CPA_SLOT_UNSAMPLED)) ||
	       (component->kind == CPA_LOCK && !cpa_is_contested(profile, component)) ||
	       cpa_is_short_queue(profile, component);
}

bool cpa_is_external(const struct cpa_profile *profile,
		     const struct cpa_component_figures *component)
{
	(void)profile;
	return component->kind == CPA_EXTERNAL;
}

bool cpa_is_thread(const struct cpa_profile *profile, const struct cpa_component_figures *component)
{
	(void)profile;
	return component->kind == CPA_THREAD;
}

const struct cpa_component_figures *cpa_find_best(const struct cpa_profile *profile, cpa_sort sort)
{
	/* The components are sorted by saving. */
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].saved_s > 0 && sort(profile, &profile->component[i]))
			return &profile->component[i];
	return NULL;
}

/* External kinds for which "time blocked in X" is no good text: they are not one call. */
static const char *describe_external(const char *name)
{
	static const struct {
		const char *name, *text;
	} known[] = {
		{ "other",
		  "time blocked for disks (page faults, system calls that cpa does not wrap)" },
		{ "unseen", "time of waits whose release cpa did not see" },
		{ "child", "time blocked in waits for child processes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].text;
	return NULL;
}

/* "memcmp called by compare", "memcmp (callers not found)", else just its name. The caller frees it. */
static char *name_of(const struct cpa_component_figures *component)
{
	const struct cpa_part_of_function *part = component->part;
	char *callers, *text;

	if (!part || !part->callers)
		return xstrdup(component->name);
	callers = cpa_part_of_function_callers(part, SIZE_MAX);
	text = cpa_format_text(part->unknown ? "%s %s" : "%s called by %s", part->function,
			       callers);
	free(callers);
	return text;
}

/* The place of @component, if its name does not end with it as "solve() body at solve.c:88" does; else "". */
static const char *place_of(const struct cpa_component_figures *component)
{
	const char *base = cpa_printable_where(component->name, component->location);
	size_t all = strlen(component->name), end = strlen(base) + strlen(" at ");
	const char *at = all > end ? component->name + all - end : "";

	return strncmp(at, " at ", 4) == 0 && strcmp(at + 4, base) == 0 ? "" : base;
}

char *cpa_describe(const struct cpa_component_figures *component, bool start)
{
	const char *article = start ? "The" : "the", *noun = "component ";
	const char *base = place_of(component);
	const char *by = !component->callers ? "" : *base ? ", called by " : "called by ";
	char *where = *base || *by ? cpa_format_text(" (%s%s%s)", base, by,
						     *by ? component->callers : "") :
				     xstrdup("");
	char *text, *name;

	if (component->kind == CPA_EXTERNAL && describe_external(component->name)) {
		free(where);
		return cpa_format_text("%s %s", article, describe_external(component->name));
	}
	if (component->shared)
		article = start ? "One or more of the" : "one or more of the";
	switch (component->kind) {
	case CPA_FUNCTION:
		noun = component->shared ? "functions " : "function ";
		break;
	case CPA_LOCK:
		/* Locks without a name are called "mutex from cache_init" and the like. */
		noun = component->shared		? "locks " :
		       component->by == CPA_BY_VARIABLE ? "lock " :
							  "";
		break;
	case CPA_THREAD:
		noun = component->by == CPA_BY_ROLE ? "code of threads named " :
						      "code of threads that start at ";
		break;
	case CPA_EXTERNAL:
		noun = "time blocked in ";
		break;
	case CPA_REGION:
		noun = "region ";
		break;
	case CPA_QUEUE:
		/* Queues without a name are called "queue first used in f". */
		noun = component->shared		  ? "queues " :
		       component->by == CPA_BY_FIRST_SITE ? "processing of items of the " :
							    "processing of items of queue ";
		break;
	default:
		break;
	}
	name = name_of(component);
	text = cpa_format_text("%s %s%s%s", article, noun, name, where);
	free(where);
	free(name);
	return text;
}

const struct cpa_component_figures *cpa_find_external(const struct cpa_profile *profile,
						      const char *name)
{
	for (size_t i = 0; i < profile->components; i++)
		if (cpa_is_external(profile, &profile->component[i]) &&
		    strcmp(profile->component[i].name, name) == 0)
			return &profile->component[i];
	return NULL;
}

static bool matches(const char *pattern, const char *name)
{
	/* Names of C++ may have a star of their own. */
	return strcmp(pattern, name) == 0 || fnmatch(pattern, name, 0) == 0;
}

bool cpa_is_named(const struct cpa_profile *profile, enum cpa_component_kind kind, uint32_t slot,
		  const char *name, const char *pattern)
{
	bool any = false, routine = true, given = true;

	if (matches(pattern, name))
		return true;
	if (kind != CPA_THREAD || slot == 0)
		return false;
	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		if (thread->slot != slot)
			continue;
		any = true;
		routine = routine && matches(pattern, thread->start_routine);
		given = given && thread->name && matches(pattern, thread->name);
	}
	return any && (routine || given);
}

#define PROCESSES 64 /* of one name: of more it is not one that matters */

struct cpa_processes_of cpa_find_processes(const struct cpa_profile *profile, uint32_t slot)
{
	const struct cpa_thread_figures *found[PROCESSES];
	struct cpa_processes_of of = { 0 };

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *each = &profile->thread[i];

		if (each->mixed)
			return (struct cpa_processes_of){ 0 };
		if (each->slot != slot)
			continue;
		for (size_t k = 0; k < of.n; k++)
			if (found[k]->process == each->process)
				return (struct cpa_processes_of){ 0 };
		if (of.n == PROCESSES || each->earlier)
			return (struct cpa_processes_of){ 0 };
		found[of.n++] = each;
		of.work_s += each->process_s;
		if (!of.most || each->process_s > of.most->process_s)
			of.most = each;
	}
	return of;
}

char *cpa_thread_title(const struct cpa_profile *profile, const struct cpa_thread_figures *thread)
{
	for (size_t i = 0; i < profile->processes; i++) {
		const struct cpa_process_figures *process = &profile->process[i];

		if (process->argument && process->id == thread->process &&
		    process->pid == thread->tid &&
		    strcmp(process->name, thread->start_routine) == 0)
			return cpa_process_title(process);
	}
	return NULL;
}
