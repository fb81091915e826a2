/* SPDX-License-Identifier: MIT */
/* analysis/profile/guidance.c - advice and warnings from the figures of a profile */
#include "analysis/profile/guidance.h"

#include <libiberty/libiberty.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/balance.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

/* Limits: a sentence is written when the share is at least this. */
#define SHARE_STANDS_OUT 0.05 /* saving of a component, of the critical path */
#define SHARE_RUN_QUEUE	 0.10 /* of the observed path */
#define SHARE_HAND_OFF	 0.20
#define SHARE_WAITED	 0.10 /* waits for one lock class, of the threads' CPU time */
#define SHARE_PROBE	 0.05
#define SHARE_UNSAMPLED	 0.10 /* of CPU time */
#define SHARE_UNSEEN	 0.05 /* of the longer path: critical or observed */
#define SHARE_BLOCKED	 0.75 /* of the critical path: external time, which other programs decide */
#define SHARE_PRODUCERS	 0.50 /* of the critical path: producer threads of a queue */
#define IDLE_CONSUMERS	 0.50 /* of the consumers' time */
#define SERIAL_BELOW	 1.1  /* max_parallelism */
#define SERIAL_WORK	 0.25 /* work / critical path; below it serial execution explains nothing */
#define ROOM_FOR_CORES	 1.25 /* max_parallelism over parallelism */
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

/*
 * Whether @lock makes threads wait for each other. An uncontested lock does not: one that a single
 * thread holds for the whole run would "save" the whole program.
 */
static bool is_contested(const struct cpa_profile *profile,
			 const struct cpa_component_figures *lock)
{
	bool found = false;

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];

		if (!object->has_slot || object->slot != lock->slot)
			continue;
		if (object->contended || object->handoffs)
			return true;
		found = true;
	}
	return !found || lock->shared;
}

/* Whether the code of @component can be made cheaper: not a wait, and not all code of a thread. */
static bool is_work(const struct cpa_profile *profile,
		    const struct cpa_component_figures *component)
{
	if (component->kind == CPA_FUNCTION)
		return component->slot != CPA_SLOT_UNSAMPLED;
	if (component->kind == CPA_LOCK)
		return is_contested(profile, component);
	return component->kind != CPA_EXTERNAL && component->kind != CPA_THREAD;
}

static bool is_external(const struct cpa_profile *profile,
			const struct cpa_component_figures *component)
{
	(void)profile;
	return component->kind == CPA_EXTERNAL;
}

static bool is_thread(const struct cpa_profile *profile,
		      const struct cpa_component_figures *component)
{
	(void)profile;
	return component->kind == CPA_THREAD;
}

/* The component of @sort with the largest saving, NULL if none saves anything. */
static const struct cpa_component_figures *
find_best(const struct cpa_profile *profile,
	  bool (*sort)(const struct cpa_profile *, const struct cpa_component_figures *))
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
		  "time blocked elsewhere (disk, page faults, system calls that cpa does not "
		  "wrap)" },
		{ "timeout", "time of waits that timed out" },
		{ "unseen", "time of waits whose release cpa did not see" },
		{ "child", "time blocked in waits for child processes" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (strcmp(name, known[i].name) == 0)
			return known[i].text;
	return NULL;
}

/* "the lock q.lock (queue.c:88)"; with a capital if @start. The caller frees it. */
static char *describe(const struct cpa_component_figures *component, bool start)
{
	const char *article = start ? "The" : "the", *noun = "component ";
	const char *base = cpa_printable_where(component->name, component->location);
	char *where = *base ? cpa_format_text(" (%s)", base) : xstrdup("");
	char *text;

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
		noun = "code of threads that start at ";
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
	text = cpa_format_text("%s %s%s%s", article, noun, component->name, where);
	free(where);
	return text;
}

static const struct cpa_component_figures *choose(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *best = find_best(profile, is_work);
	const struct cpa_component_figures *external = find_best(profile, is_external);

	if (external && (!best || external->saved_s > EXPLAINS_BETTER * best->saved_s))
		best = external;
	return best ? best : find_best(profile, is_thread);
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

		if (other == best || !is_work(profile, other) || other->saved_s < least)
			continue;
		if (overlap(profile, best, other) < least)
			next = other;
		else if (!part)
			part = other;
	}
	if (part) {
		name = describe(part, false);
		advise(guidance, "At least %s of that saving is time spent in %s.",
		       cpa_format_seconds(overlap(profile, best, part)).text, name);
		free(name);
	}
	if (next) {
		name = describe(next, false);
		advise(guidance, "After that, look at %s: removing it alone would save %s.", name,
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

static void advise_component(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	double length = profile->program.critical_path_s;
	const struct cpa_component_figures *best = choose(profile);
	bool stands_out = best && best->saved_s >= SHARE_STANDS_OUT * length;
	char *name;

	if (!best)
		return;
	name = describe(best, stands_out);
	if (stands_out)
		advise(guidance,
		       "%s is on the critical path for %s of %s; %s the run would be bounded at "
		       "%s.",
		       name, cpa_format_seconds(best->critical_path_s).text,
		       cpa_format_seconds(length).text,
		       best->kind == CPA_LOCK ? "without its critical section" : "without it",
		       cpa_format_seconds(length - best->saved_s).text);
	else
		advise(guidance,
		       "No component stands out: removing the largest, %s, would save %s of the "
		       "%s critical path.",
		       name, cpa_format_seconds(best->saved_s).text,
		       cpa_format_seconds(length).text);
	free(name);
	if (best->kind == CPA_QUEUE && stands_out)
		advise_of_open_items(guidance, profile, best->slot);
	if (stands_out)
		advise_next(guidance, profile, best);
}

static const struct cpa_component_figures *find_external(const struct cpa_profile *profile,
							 const char *name)
{
	for (size_t i = 0; i < profile->components; i++)
		if (is_external(profile, &profile->component[i]) &&
		    strcmp(profile->component[i].name, name) == 0)
			return &profile->component[i];
	return NULL;
}

/* The external for waits that timed out, if it is a large share of the path; else NULL. */
static const struct cpa_component_figures *find_timeouts(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *timeouts = find_external(profile, "timeout");

	return timeouts && timeouts->critical_path_s >
				       SHARE_UNSEEN * profile->program.critical_path_s ?
		       timeouts :
		       NULL;
}

/* Parallelism with unlimited processors, without waits that timed out. */
static double max_parallelism(const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	const struct cpa_component_figures *timeouts = find_timeouts(profile);
	double path, work;

	if (!timeouts)
		return program->max_parallelism;
	path = program->critical_path_s - timeouts->saved_s;
	work = program->work_s + program->external_s - timeouts->total_s;
	return path > 0 && work > 0 ? work / path : program->max_parallelism;
}

static void advise_parallelism(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	double run_queue = program->segment_s[CPA_TIME_RUNQUEUE];
	double hand_off = program->segment_s[CPA_TIME_HANDOFF];
	double most = max_parallelism(profile);

	if (most > 0 && most < SERIAL_BELOW &&
	    program->work_s >= SERIAL_WORK * program->critical_path_s)
		advise(guidance,
		       "The program is serial: its critical path holds %s of all its work, so more "
		       "threads or processors will not help.",
		       cpa_format_percent(1, most).text);
	else if (run_queue >= SHARE_RUN_QUEUE * program->observed_path_s && run_queue > 0 &&
		 most > ROOM_FOR_CORES * program->parallelism)
		advise(guidance,
		       "Too few processors limit this run: for %s of the observed path a thread "
		       "was ready to run but had no processor. With more processors the "
		       "parallelism could reach %s; in this run it was %s.",
		       cpa_format_percent(run_queue, program->observed_path_s).text,
		       cpa_format_ratio(most).text, cpa_format_ratio(program->parallelism).text);
	if (hand_off >= SHARE_HAND_OFF * program->observed_path_s && hand_off > 0)
		advise(guidance,
		       "Hand-offs (waking the next thread) take %s of the observed path: hand "
		       "over less often; shorter critical sections gain less.",
		       cpa_format_percent(hand_off, program->observed_path_s).text);
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

/*
 * The first queue whose limit matters: its processing, or its producers, are on the critical path.
 * NULL: none.
 */
static const struct cpa_queue_figures *find_limiting(const struct cpa_profile *profile)
{
	double length = profile->program.critical_path_s;

	for (size_t i = 0; i < profile->queues; i++) {
		const struct cpa_queue_figures *queue = &profile->queue[i];
		bool on_path = queue->critical_path_s >= SHARE_STANDS_OUT * length && length > 0;

		if (on_path &&
		    (queue->limit == CPA_LIMIT_CONSUMERS || queue->limit == CPA_LIMIT_PROCESSORS))
			return queue;
		if (queue->limit == CPA_LIMIT_PRODUCERS && queue->idle >= IDLE_CONSUMERS &&
		    queue->producers_path_s >= SHARE_PRODUCERS * length && length > 0)
			return queue;
	}
	return NULL;
}

static void advise_queue(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_queue_figures *queue = find_limiting(profile);
	const char *noun;
	char *reason;

	if (!queue)
		return;
	noun = queue->by == CPA_BY_NAME || queue->by == CPA_BY_VARIABLE ? "queue " : "";
	reason = cpa_balance_reason(queue);
	if (queue->limit == CPA_LIMIT_PRODUCERS)
		advise(guidance,
		       "At %s%s, %s; the producer threads are on the critical path for %s of %s, "
		       "so more consumers will not help.",
		       noun, queue->name, reason, cpa_format_seconds(queue->producers_path_s).text,
		       cpa_format_seconds(profile->program.critical_path_s).text);
	else
		advise(guidance,
		       "At %s%s, %s; their processing is on the critical path for %s of %s.", noun,
		       queue->name, reason, cpa_format_seconds(queue->critical_path_s).text,
		       cpa_format_seconds(profile->program.critical_path_s).text);
	free(reason);
}

/* The cause of waits in @external, and how it limits the savings. */
static const char *blame(const char *external)
{
	if (strcmp(external, "poll") == 0 || strcmp(external, "accept") == 0)
		return "the program waited for input, as a server waits for its clients (or for "
		       "its own threads through a pipe or an eventfd, which cpa does not follow). "
		       "The savings hold for a run under this load only. To serve more, reduce "
		       "the CPU time of its threads and their waits for locks";
	if (strcmp(external, "child") == 0)
		return "the program waited for other processes, which are not part of these "
		       "figures";
	if (strcmp(external, "sleep") == 0)
		return "the program slept";
	if (strcmp(external, "signal") == 0)
		return "the program waited for signals. cpa follows signals sent by kill() and "
		       "pthread_kill(); if its own threads send them in another way, look at the "
		       "threads with the most CPU time and waits";
	return "the program waited for files, devices or other programs. Faster code gains little "
	       "there; caching, larger requests, or more requests at a time help";
}

/* Warn if external time decides the run time: savings of the program's own work are then small. */
static void warn_of_waiting(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_component_figures *most = NULL;
	double path = profile->program.critical_path_s, blocked = 0;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (!is_external(profile, component) || strcmp(component->name, "timeout") == 0 ||
		    strcmp(component->name, "unseen") == 0)
			continue;
		blocked += component->critical_path_s;
		if (!most || component->critical_path_s > most->critical_path_s)
			most = component;
	}
	if (most && blocked > SHARE_BLOCKED * path)
		warn(guidance,
		     "%s of the critical path is time blocked outside synchronization, most of it "
		     "in %s: %s.",
		     cpa_format_percent(blocked, path).text,
		     strcmp(most->name, "other") == 0 ? "system calls that cpa does not wrap" :
							most->name,
		     blame(most->name));
}

/*
 * The loaded library whose threads wait by direct system calls, without a call that cpa wraps;
 * NULL: none.
 */
static const char *find_own_waits(const struct cpa_profile *profile)
{
	static const char *const libraries[] = { "libgomp.so", "libtbb.so", "libomp.so",
						 "libiomp5.so" };

	for (size_t i = 0; i < profile->threads; i++)
		for (size_t k = 0; k < ARRAY_SIZE(libraries); k++)
			if (strncmp(profile->thread[i].start_routine, libraries[k],
				    strlen(libraries[k])) == 0)
				return libraries[k];
	return NULL;
}

static void warn_of_own_waits(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_component_figures *other = find_external(profile, "other");
	const char *library = other ? find_own_waits(profile) : NULL;
	const struct cpa_program_figures *program = &profile->program;

	if (library && (other->critical_path_s > SHARE_UNSEEN * program->critical_path_s ||
			other->observed_path_s > SHARE_UNSEEN * program->observed_path_s))
		warn(guidance,
		     "Threads of %s wait for each other by system calls that cpa cannot see. "
		     "These waits count as external time \"other\" (%s of the critical path, %s "
		     "of the observed path); the work they waited for is missing from both paths.",
		     library,
		     cpa_format_percent(other->critical_path_s, program->critical_path_s).text,
		     cpa_format_percent(other->observed_path_s, program->observed_path_s).text);
}

/* The work with the largest share of the observed path, NULL if there is none. */
static const struct cpa_component_figures *find_awaited(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *most = NULL;

	for (size_t i = 0; i < profile->components; i++)
		if (is_work(profile, &profile->component[i]) &&
		    profile->component[i].observed_path_s > (most ? most->observed_path_s : 0))
			most = &profile->component[i];
	return most;
}

static void warn_of_timeouts(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_component_figures *timeouts = find_timeouts(profile);
	const struct cpa_component_figures *awaited = find_awaited(profile);
	double path = profile->program.critical_path_s;
	char *described;

	if (!timeouts)
		return;
	warn(guidance,
	     "Waits that timed out are %s of the critical path. If the thread only checks "
	     "something and waits again, shorter time-outs gain nothing; without these waits the "
	     "critical path is %s, which allows a parallelism of %s.",
	     cpa_format_percent(timeouts->critical_path_s, path).text,
	     cpa_format_seconds(path - timeouts->saved_s).text,
	     cpa_format_ratio(max_parallelism(profile)).text);
	if (!awaited)
		return;
	described = describe(awaited, false);
	warn(guidance,
	     "In that case read the column \"wall\", not \"saves\": the run waited longest for "
	     "%s, %s of the time.",
	     described,
	     cpa_format_percent(awaited->observed_path_s, profile->program.observed_path_s).text);
	free(described);
}

static void warn_of_unseen(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_component_figures *unseen = find_external(profile, "unseen");
	const struct cpa_program_figures *program = &profile->program;

	if (unseen && (unseen->observed_path_s > SHARE_UNSEEN * program->observed_path_s ||
		       unseen->critical_path_s > SHARE_UNSEEN * program->critical_path_s))
		warn(guidance,
		     "cpa did not see what ended some waits: %s of the critical path and %s of "
		     "the observed path are such waits, and the work behind them is missing there.",
		     cpa_format_percent(unseen->critical_path_s, program->critical_path_s).text,
		     cpa_format_percent(unseen->observed_path_s, program->observed_path_s).text);
}

static void add_warnings(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	double probe = program->segment_s[CPA_TIME_PROBE];

	if (probe > SHARE_PROBE * program->observed_path_s)
		warn(guidance,
		     "The profiler itself takes %s of the observed path: without it the program "
		     "is faster than these figures.",
		     cpa_format_percent(probe, program->observed_path_s).text);
	else if (profile->diagnostics.probe_s > SHARE_PROBE * program->cpu_s)
		warn(guidance,
		     "The profiler itself takes %s of the CPU time: without it the program is "
		     "faster than these figures.",
		     cpa_format_percent(profile->diagnostics.probe_s, program->cpu_s).text);
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		if (component->slot == CPA_SLOT_UNSAMPLED &&
		    component->total_s > SHARE_UNSAMPLED * program->cpu_s)
			warn(guidance,
			     "For %s of the CPU time no sample recorded the function: the shares "
			     "of all functions are too small.",
			     cpa_format_percent(component->total_s, program->cpu_s).text);
	}
	warn_of_timeouts(guidance, profile);
	warn_of_unseen(guidance, profile);
	warn_of_own_waits(guidance, profile);
	warn_of_waiting(guidance, profile);
}

void cpa_guidance_init(struct cpa_guidance *guidance, const struct cpa_profile *profile)
{
	*guidance = (struct cpa_guidance){ 0 };
	advise_component(guidance, profile);
	advise_parallelism(guidance, profile);
	advise_busy_lock(guidance, profile);
	advise_queue(guidance, profile);
	add_warnings(guidance, profile);
}

void cpa_guidance_fini(struct cpa_guidance *guidance)
{
	for (size_t i = 0; i < guidance->advices; i++)
		free(guidance->advice[i]);
	for (size_t i = 0; i < guidance->warnings; i++)
		free(guidance->warning[i]);
}
