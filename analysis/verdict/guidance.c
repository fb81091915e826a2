/* SPDX-License-Identifier: MIT */
/* analysis/verdict/guidance.c - advice and warnings from the figures of a profile */
#include "analysis/verdict/guidance.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/derived/find.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/queues.h"

/* Limits: a sentence is written when the share is at least this. */
#define SHARE_STANDS_OUT 0.05 /* saving of a component, of the critical path */
#define SHARE_WAITED	 0.10 /* waits for one lock class, of the threads' CPU time */
#define SHARE_PROBE	 0.05
#define MOSTLY_WAITS	 2.0 /* time in probes on the observed path, by the CPU time in all probes */
#define SHARE_UNSAMPLED	 0.10 /* of CPU time */
#define FEW_SAMPLES	 100
#define SHARE_UNKNOWN	 0.10 /* of CPU time */
#define SHARE_BLOCKED	 0.75 /* of the critical path: external time, which other programs decide */
#define SHARE_IDLE	 0.50 /* of the observed path */
#define EXPLAINS_BETTER	 2.0  /* an external or thread must save this much more */

__attribute__((format(printf, 2, 3))) static void advise(struct cpa_guidance *guidance,
							 const char *format, ...)
{
	va_list args;

	if (guidance->advices == CPA_GUIDANCE_MAX)
		return;
	va_start(args, format);
	guidance->advice[guidance->advices++] = cpa_format_args(format, args);
	va_end(args);
}

__attribute__((format(printf, 2, 3))) static void warn(struct cpa_guidance *guidance,
						       const char *format, ...)
{
	va_list args;

	if (guidance->warnings == CPA_GUIDANCE_MAX)
		return;
	va_start(args, format);
	guidance->warning[guidance->warnings++] = cpa_format_args(format, args);
	va_end(args);
}

static const struct cpa_component_figures *choose(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *best = cpa_find_best(profile, cpa_is_work);
	const struct cpa_component_figures *external = cpa_find_best(profile, cpa_is_external);

	if (external && (!best || external->saved_s > EXPLAINS_BETTER * best->saved_s))
		best = external;
	return best ? best : cpa_find_best(profile, cpa_is_thread);
}

/* Seconds that @a and @b at least overlap, since both are parts of one path. */
static double overlap(const struct cpa_profile *profile, const struct cpa_component_figures *a,
		      const struct cpa_component_figures *b)
{
	return a->critical_path_s + b->critical_path_s - profile->program.critical_path_s;
}

/* Name the largest part of @best, and the component that saves most beside it. */
static void advise_next(struct cpa_guidance *guidance, const struct cpa_profile *profile,
			const struct cpa_component_figures *best)
{
	double least = SHARE_STANDS_OUT * profile->program.critical_path_s;
	const struct cpa_component_figures *part = NULL, *next = NULL;
	char *name;

	for (size_t i = 0; i < profile->components && !next; i++) {
		const struct cpa_component_figures *other = &profile->component[i];

		if (other == best || !cpa_is_work(profile, other) || other->saved_s < least)
			continue;
		if (overlap(profile, best, other) < least)
			next = other;
		else if (!part)
			part = other;
	}
	if (part) {
		char *whole = cpa_describe(best, false);

		name = cpa_describe(part, false);
		advise(guidance, "At least %s of the path is time both in %s and in %s.",
		       cpa_format_seconds(overlap(profile, best, part)).text, whole, name);
		free(name);
		free(whole);
	}
	if (next) {
		name = cpa_describe(next, false);
		advise(guidance, "Next is %s: without it alone the path would be %s shorter.", name,
		       cpa_format_seconds(next->saved_s).text);
		free(name);
	}
}

/* If the end of items is not marked, their processing time may include other work. */
static void advise_of_open_items(struct cpa_guidance *guidance, const struct cpa_profile *profile,
				 uint32_t slot)
{
	for (size_t i = 0; i < profile->queues; i++)
		if (profile->queue[i].slot == slot &&
		    profile->queue[i].undone > profile->queue[i].services / 2) {
			advise(guidance,
			       "The program does not mark the end of an item of this queue, so "
			       "everything that its thread does until the next dequeue counts as "
			       "its processing.");
			return;
		}
}

/* Whether the verdict is of @kind. */
static bool says(const struct cpa_verdict *verdict, const char *kind)
{
	return strcmp(verdict->kind, kind) == 0;
}

static void advise_component(struct cpa_guidance *guidance, const struct cpa_profile *profile,
			     const struct cpa_verdict *verdict)
{
	double length = profile->program.critical_path_s;
	const struct cpa_component_figures *best = choose(profile);
	bool stands_out = best && best->saved_s >= SHARE_STANDS_OUT * length;
	char *name;

	if (!best)
		return;
	name = cpa_describe(best, stands_out);
	if (stands_out && best->slot && best->slot == verdict->slot)
		; /* the verdict says it */
	else if (stands_out)
		advise(guidance,
		       "%s is on the critical path for %s of %s; %s the path would be %s.", name,
		       cpa_format_seconds(best->critical_path_s).text,
		       cpa_format_seconds(length).text,
		       best->kind == CPA_LOCK ? "without its critical section" : "without it",
		       cpa_format_seconds(length - best->saved_s).text);
	else
		advise(guidance,
		       "No component stands out: without the largest, %s, the critical path "
		       "of %s would be %s shorter.",
		       name, cpa_format_seconds(length).text,
		       cpa_format_seconds(best->saved_s).text);
	free(name);
	if (best->kind == CPA_QUEUE && stands_out)
		advise_of_open_items(guidance, profile, best->slot);
	if (stands_out)
		advise_next(guidance, profile, best);
}

static bool is_lock(const struct cpa_object_figures *object)
{
	return strcmp(object->kind, "mutex") == 0 || strcmp(object->kind, "spin") == 0 ||
	       strcmp(object->kind, "rwlock") == 0;
}

/* A busy lock that is not on the path is not worth changing; users often expect the contrary. */
static void advise_busy_lock(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_object_figures *object = NULL; /* the objects are sorted by wait */
	double length = profile->program.critical_path_s;

	for (size_t i = 0; i < profile->objects && !object; i++)
		if (is_lock(&profile->object[i]))
			object = &profile->object[i];
	if (!object || !object->has_slot ||
	    object->wait_s < SHARE_WAITED * profile->program.cpu_s ||
	    object->saved_s >= SHARE_STANDS_OUT * length)
		return;
	advise(guidance,
	       "Do not start with %s: threads wait for it longer than for any other lock (%s in "
	       "all), but without its critical sections the critical path would be %s%s shorter.",
	       object->class, cpa_format_seconds(object->wait_s).text,
	       object->saved_s > 0 ? "only " : "",
	       object->saved_s > 0 ? cpa_format_seconds(object->saved_s).text : "no");
}

/* The cause of service time in @external, and how it limits the savings. */
static const char *blame(const char *external)
{
	if (strcmp(external, "child") == 0)
		return "the program waited for other processes, which are not part of these "
		       "figures";
	if (strcmp(external, "sleep") == 0)
		return "the program slept";
	return "the program waited for files, devices or other programs. Faster code gains little "
	       "there; caching, larger requests, or more requests at a time help";
}

/* What the program was idle for in @external. */
static const char *describe_idle(const char *external)
{
	if (strcmp(external, "timeout") == 0 || strcmp(external, "sleep loop") == 0)
		return "a thread looked for something from time to time";
	if (strcmp(external, "signal") == 0)
		return "it waited for signals. cpa follows signals sent by kill() and "
		       "pthread_kill()";
	return "it waited for input, as a server waits for its clients (or for another process, or "
	       "its own threads, through a pipe or an eventfd). To serve more, reduce the CPU "
	       "time of its threads and their waits for locks";
}

/* The external of @class with the most of one of the paths. NULL: none. */
static const struct cpa_component_figures *most_of(const struct cpa_profile *profile,
						   enum cpa_external_class class)
{
	const struct cpa_component_figures *most = NULL;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (cpa_is_external(profile, component) && component->class == class &&
		    (!most || component->observed_path_s > most->observed_path_s))
			most = component;
	}
	return most;
}

/* Warn if external time decides the run time: savings of the program's own work are then small. */
static void warn_of_waiting(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_component_figures *service = NULL, *idle = most_of(profile, CPA_EXT_IDLE);
	const struct cpa_program_figures *program = &profile->program;
	double path = program->critical_path_s, blocked = 0;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (!cpa_is_external(profile, component) || component->class != CPA_EXT_SERVICE)
			continue;
		blocked += component->critical_path_s;
		if (!service || component->critical_path_s > service->critical_path_s)
			service = component;
	}
	if (service && blocked > SHARE_BLOCKED * path)
		warn(guidance,
		     "%s of the critical path is time blocked outside synchronization, most of it "
		     "in %s: %s.",
		     cpa_format_percent(blocked, path).text,
		     strcmp(service->name, "other") == 0 ?
			     "page faults or calls that cpa does not wrap" :
			     service->name,
		     blame(service->name));
	if (idle &&
	    program->segment_blocked_s[CPA_EXT_IDLE] > SHARE_IDLE * program->observed_path_s)
		warn(guidance,
		     "The run was idle for %s of the observed path, most of it in %s: %s. Idle "
		     "time is not on the critical path: the savings hold for a run under this "
		     "load only.",
		     cpa_format_percent(program->segment_blocked_s[CPA_EXT_IDLE],
					program->observed_path_s)
			     .text,
		     idle->name, describe_idle(idle->name));
}

/*
 * Warn if shares of functions come from few samples. Of n samples a share p has the margin 2 sqrt(p (1 - p) / n),
 * in 95 of 100 cases: that of a half is 1 / sqrt(n).
 */
static void warn_of_few_samples(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	uint64_t samples = profile->diagnostics.samples;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].calls)
			return; /* functions are exact */
	if (samples && samples < FEW_SAMPLES)
		warn(guidance,
		     "Functions are known by %llu sample%s only: the share of one may be off by %.0f "
		     "percentage points.",
		     (unsigned long long)samples, samples == 1 ? "" : "s",
		     100 / sqrt((double)samples));
}

/* A run that divides functions by their callers has a stack with each sample, if it can. */
static void warn_of_callers(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	double cpu_s = profile->program.cpu_s, unknown_s = 0;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].part && profile->component[i].part->unknown)
			unknown_s += profile->component[i].total_s;
	if (unknown_s > SHARE_UNKNOWN * cpu_s)
		warn(guidance,
		     "For %s of the CPU time it is not known who called the function: there are no "
		     "stacks of threads that block all signals, nor of code without unwind tables.",
		     cpa_format_percent(unknown_s, cpu_s).text);
}

/*
 * Warn of the profiler's own time: of the CPU time, or on the observed path, whichever is the larger share. Its
 * threads may wait for a processor inside it, too: that is no time that it takes.
 */
static void warn_of_probes(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	double path_s = program->segment_s[CPA_TIME_PROBE], used_s = profile->diagnostics.probe_s;
	bool much_used = used_s > SHARE_PROBE * program->cpu_s;

	if (much_used && used_s * program->observed_path_s >= path_s * program->cpu_s)
		warn(guidance,
		     "The profiler itself takes %s of the CPU time%s: without it the program is "
		     "faster than these figures.",
		     cpa_format_percent(used_s, program->cpu_s).text,
		     program->sampled ? " in the windows, not of the run" : "");
	else if (path_s > SHARE_PROBE * program->observed_path_s && path_s > MOSTLY_WAITS * used_s)
		warn(guidance,
		     "%s of the observed path (%s) is time in the profiler itself, more than the %s of "
		     "CPU time that its events took: the rest is its start, or waits for a processor.",
		     cpa_format_percent(path_s, program->observed_path_s).text,
		     cpa_format_seconds(path_s).text, cpa_format_seconds(used_s).text);
	else if (path_s > SHARE_PROBE * program->observed_path_s)
		warn(guidance,
		     "The profiler itself takes %s of the observed path: without it the program "
		     "is faster than these figures.",
		     cpa_format_percent(path_s, program->observed_path_s).text);
}

static void add_warnings(struct cpa_guidance *guidance, const struct cpa_profile *profile,
			 const struct cpa_verdict *verdict)
{
	const struct cpa_program_figures *program = &profile->program;

	warn_of_probes(guidance, profile);
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (component->slot == CPA_SLOT_UNSAMPLED &&
		    component->total_s > SHARE_UNSAMPLED * program->cpu_s)
			warn(guidance,
			     "For %s of the CPU time no sample recorded the function%s: the shares "
			     "of all functions are too small.",
			     cpa_format_percent(component->total_s, program->cpu_s).text,
			     program->by_callers ? ", or too many parts of functions ran between "
						   "two events" :
						   "");
	}
	warn_of_few_samples(guidance, profile);
	warn_of_callers(guidance, profile);
	if (!says(verdict, "idle") && !says(verdict, "io"))
		warn_of_waiting(guidance, profile);
}

void cpa_guidance_init(struct cpa_guidance *guidance, const struct cpa_profile *profile,
		       const struct cpa_verdict *verdict)
{
	*guidance = (struct cpa_guidance){ 0 };
	advise_component(guidance, profile, verdict);
	if (!says(verdict, "lock") && !says(verdict, "hand-offs"))
		advise_busy_lock(guidance, profile);
	add_warnings(guidance, profile, verdict);
}

void cpa_guidance_fini(struct cpa_guidance *guidance)
{
	for (size_t i = 0; i < guidance->advices; i++)
		free(guidance->advice[i]);
	for (size_t i = 0; i < guidance->warnings; i++)
		free(guidance->warning[i]);
}
