/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict_kinds.c - the kinds of verdict: condition, sentence and action of each */
#include "analysis/verdict/verdict_kinds.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/profile/find.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

#define SHARE_UNSEEN   0.50   /* of the observed path */
#define SHARE_HANDOFFS 0.20   /* of the observed path without waits for processors */
#define WAKES_MIN      100    /* fewer hand-offs are no pattern */
#define WAKE_S	       10e-6  /* less work than that costs less than to wake a thread for it */
#define MUCH_S	       100e-6 /* as much work as that is worth a wake, however long wakes took */
#define FULL	       0.95 /* work on the processors / path: then more processors are needed first */
#define CLEARLY	       1.25 /* a more general kind wins if it gains so many times as much */
#define MUCH	       0.25 /* share of the path: a kind that gains so much comes before any function */
#define TWICE	       2.0  /* a function that gains so many times as much comes first */
#define WORTH	       1.05 /* times as fast: less is not promised */

/* "function sort (sort.c:80)", without an article. The caller frees it. */
static char *name_of(const struct cpa_component_figures *component)
{
	char *described = cpa_describe(component, false);
	char *name = xstrdup(strncmp(described, "the ", 4) == 0 ? described + 4 : described);

	free(described);
	return name;
}

/* The one function with most of @share, which is a field of the figures; NULL: none stands out. */
static const struct cpa_component_figures *find_function(const struct cpa_facts *facts, bool of_cpu)
{
	const struct cpa_profile *profile = facts->profile;
	const struct cpa_component_figures *most = NULL;
	double least = CPA_SHARE_GAIN * (of_cpu ? facts->work_s : facts->path_s), best = least;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];
		double share = of_cpu ? each->total_s : each->critical_path_s;

		if (each->kind != CPA_FUNCTION || each->shared ||
		    each->slot == CPA_SLOT_UNSAMPLED || share < best)
			continue;
		most = each;
		best = share;
	}
	return most;
}

/* "on 2 processors" */
static char *on_processors(const struct cpa_facts *facts)
{
	return cpa_format_text("on %.0f processor%s", facts->processors,
			       facts->processors > 1 ? "s" : "");
}

char *cpa_verdict_gain(const struct cpa_facts *facts, struct cpa_verdict *verdict, double path_s)
{
	char *on = on_processors(facts), *text;
	double times;

	verdict->after_s = fmin(fmax(fmax(path_s, facts->capacity_s), 0), facts->least_s);
	times = verdict->after_s > 0 ? facts->least_s / verdict->after_s : 0;
	if (times == 0 || times >= 10)
		text = xstrdup("that is nearly all of the time that the run needs");
	else if (times < WORTH)
		text = cpa_format_text("little gain %s, whose limit is then all the work", on);
	else if (path_s < facts->capacity_s)
		text = cpa_format_text("at most %.2f times as fast %s, more on more of them", times,
				       on);
	else
		text = cpa_format_text("at most %.2f times as fast", times);
	free(on);
	return text;
}

/* Options that ask @format of @name, if there is a journal and a shell takes the name; else NULL. */
__attribute__((format(printf, 3, 4))) static char *ask(const struct cpa_facts *facts,
						       const char *name, const char *format, ...)
{
	va_list args;
	char *text;

	if (!facts->profile->program.journal || (name && strpbrk(name, "'*?[\\")))
		return NULL;
	va_start(args, format);
	text = cpa_format_args(format, args);
	va_end(args);
	return text;
}

static bool is_unseen(const struct cpa_facts *facts, struct cpa_verdict *verdict)
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
	char *reason;

	if (!ends_early && facts->unexplained.path_s <= SHARE_UNSEEN * program->observed_path_s)
		return false;
	reason = cpa_unexplained_reason(&facts->unexplained, facts->profile);
	verdict->sentence = cpa_format_text("What limits this program is not known: %s", reason);
	free(reason);
	verdict->action =
		xstrdup(ends_early ? early :
				     "Tell cpa of the program's own synchronization by "
				     "CPA_HAPPENS_BEFORE() and CPA_HAPPENS_AFTER() (man cpa.h).");
	return true;
}

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
static bool is_handoffs(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_program_figures *program = &facts->profile->program;
	double handoff = program->segment_s[CPA_TIME_HANDOFF];
	double run_s = program->observed_path_s - program->segment_s[CPA_TIME_RUNQUEUE];
	uint64_t wakes = count_wakes(facts->profile);
	double between = wakes ? facts->work_s / (double)wakes : INFINITY;

	if (wakes < WAKES_MIN || between >= MUCH_S ||
	    (handoff < SHARE_HANDOFFS * run_s && between >= WAKE_S))
		return false;
	verdict->sentence = cpa_format_text(
		"Hand-offs limit this program: %s times a thread waits until another wakes it, "
		"with %s of work in between.",
		cpa_format_count(wakes).text, cpa_format_seconds(between).text);
	verdict->action = xstrdup("Hand over less often, in larger pieces, or let one thread do "
				  "both parts; shorter critical sections gain less.");
	return true;
}

/* What to do if the critical path is nearly as long as the work on the processors. */
static char *little_gain(const struct cpa_facts *facts, const char *on, const char *less)
{
	bool held = facts->lock && facts->lock_gain_s >= CPA_SHARE_GAIN * facts->path_s;
	char *lock = held ? name_of(facts->lock) : xstrdup("");
	char *text = cpa_format_text("More processors alone gain little%s%s%s. %c%s, only %s.",
				     held ? ": a lock keeps the path that long, the " : "", lock,
				     "", *on - 'a' + 'A', on + 1, less);

	free(lock);
	return text;
}

static bool is_processors(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	bool scarce = facts->least_s >= (1 + CPA_SHARE_GAIN) * facts->path_s;
	const struct cpa_component_figures *function;
	char *on, *less;

	if (facts->capacity_s < FULL * facts->path_s || facts->path_s <= 0)
		return false;
	on = on_processors(facts);
	function = find_function(facts, true);
	verdict->after_s = facts->path_s;
	verdict->sentence = cpa_format_text(
		"Too few processors limit this program: %s of work take %s %s, %s critical path %s "
		"%s.",
		cpa_format_seconds(facts->work_s).text, cpa_format_seconds(facts->capacity_s).text,
		on, scarce ? "but the" : "and the", scarce ? "is" : "is as long,",
		cpa_format_seconds(facts->path_s).text);
	if (function) {
		char *name = name_of(function);

		less = cpa_format_text("less work: the %s has %s of the CPU time", name,
				       cpa_format_percent(function->total_s, facts->work_s).text);
		free(name);
	} else {
		less = xstrdup("less work, of which no function has much");
	}
	if (scarce)
		verdict->action = cpa_format_text(
			"More processors: at most %.2f times as fast. %c%s, only %s.",
			facts->least_s / facts->path_s, *on - 'a' + 'A', on + 1, less);
	else
		verdict->action = little_gain(facts, on, less);
	verdict->options = ask(facts, NULL, "--cores %.0f,%.0f,%.0f", facts->processors,
			       2 * facts->processors, 4 * facts->processors);
	free(on);
	free(less);
	return true;
}

/* Whether @gain_s is worth a verdict and no more general structure, of @other_s, gains clearly more. */
static bool matters(const struct cpa_facts *facts, double gain_s, double other_s)
{
	return gain_s >= CPA_SHARE_GAIN * facts->path_s && gain_s * CLEARLY >= other_s;
}

/* Whether @gain_s is a small part of the path, and a function gains clearly more. */
static bool is_outweighed(const struct cpa_facts *facts, double gain_s)
{
	const struct cpa_component_figures *function = find_function(facts, false);

	return gain_s < MUCH * facts->path_s && function && function->saved_s >= TWICE * gain_s;
}

static bool is_lock(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	double others = fmax(facts->queue_gain_s, fmax(facts->uneven_gain_s, facts->serial_gain_s));
	const struct cpa_component_figures *lock = facts->lock;
	char *name, *gains;

	if (!lock || !matters(facts, facts->lock_gain_s, others) ||
	    is_outweighed(facts, facts->lock_gain_s))
		return false;
	name = name_of(lock);
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - facts->lock_gain_s);
	verdict->sentence = cpa_format_text(
		"A lock limits this program: the %s is held for %s of the %s of the critical path.",
		name, cpa_format_seconds(lock->critical_path_s).text,
		cpa_format_seconds(facts->path_s).text);
	verdict->action =
		cpa_format_text("Do less under it, or split it into several locks: %s.", gains);
	if (!lock->shared)
		verdict->options =
			ask(facts, lock->name, "--what-if 'lock:%s=split:8'", lock->name);
	verdict->slot = lock->slot;
	free(name);
	free(gains);
	return true;
}

static bool is_queue(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_queue_figures *queue = facts->queue;
	const char *noun;
	char *gains;

	if (!queue ||
	    !matters(facts, facts->queue_gain_s, fmax(facts->uneven_gain_s, facts->serial_gain_s)))
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
		verdict->options = ask(facts, queue->name, "--what-if 'queue:%s workers=%u'",
				       queue->name, 2 * queue->consumers);
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
	const struct cpa_component_figures *function = find_function(facts, false);
	char *name, *text;

	if (!function || function->critical_path_s < part_s / 2)
		return xstrdup("");
	name = name_of(function);
	text = cpa_format_text(", most of it in the %s", name);
	free(name);
	return text;
}

/* " (of its 2 processes 4711, git gc, has 85.3% of the work)"; "" if there are not several. The caller frees it. */
static char *in_process(const struct cpa_profile *profile, uint32_t slot)
{
	struct cpa_processes_of of = cpa_find_processes(profile, slot);
	char *title, *text;

	if (of.n < 2)
		return xstrdup("");
	title = cpa_thread_title(profile, of.most);
	text = cpa_format_text(" (of its %zu processes %u%s%s%s has %s of the work)", of.n,
			       of.most->tid, title ? ", " : "", title ? title : "",
			       title ? "," : "",
			       cpa_format_percent(of.most->process_s, of.work_s).text);
	free(title);
	return text;
}

static bool is_stage(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *stage = facts->stage;
	const char *name, *other;
	char *gains, *function, *process;

	if (!stage || !matters(facts, stage->saved_s, facts->queue_gain_s))
		return false;
	name = facts->stream->from;
	other = facts->stream->to;
	if (stage->slot != facts->stream->writer.slot) {
		name = facts->stream->to;
		other = facts->stream->from;
	}
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - stage->saved_s);
	function = in_function(facts, stage->critical_path_s);
	process = in_process(facts->profile, stage->slot);
	verdict->sentence = cpa_format_text(
		"A stage limits this program: %s waits for %s, which has %s of the %s of the "
		"critical path (%s)%s.",
		other, name, cpa_format_seconds(stage->critical_path_s).text,
		cpa_format_seconds(facts->path_s).text,
		cpa_format_percent(stage->critical_path_s, facts->path_s).text, function);
	verdict->action = cpa_format_text(
		"Make %s cheaper, or divide its work among several%s; faster others gain nothing: %s.",
		name, process, gains);
	verdict->options = ask(facts, stage->name, "--what-if 'thread:%s=0.5'", stage->name);
	verdict->slot = stage->slot;
	free(process);
	free(function);
	free(gains);
	return true;
}

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

/* Parallel regions of OpenMP that have one thread each. */
static bool is_alone(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_region *region = &facts->region;
	double gain_s = region->alone_s * (1 - 1 / facts->processors);
	char *gains;

	if (!region->alone || !matters(facts, gain_s, fmax(region->gain_s, region->serial_s)))
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

/* A parallel region of OpenMP whose threads do not share its work well. */
static bool is_region(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_region *region = &facts->region;
	double serial_s = region->serial_s * (1 - 1 / facts->processors);
	char *gains, *what;

	if (is_alone(facts, verdict))
		return true;
	if (!region->component || !matters(facts, region->gain_s, serial_s))
		return false;
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
static bool is_imbalance(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_class *class = &facts->uneven;
	double mean = class->threads ? class->work_s / class->threads : 0;
	double chain = class->component ? class->component->critical_path_s : 0;
	char *gains, *name, *region;

	/* A damaged dump may have threads without their class. */
	if (!class->component || !matters(facts, facts->uneven_gain_s, facts->serial_gain_s) ||
	    (class->most_s - mean < facts->uneven_gain_s / 2 && !has_barriers(facts->profile)))
		return false;
	gains = cpa_verdict_gain(facts, verdict, facts->path_s - facts->uneven_gain_s);
	name = routine(class);
	region = in_region(facts->profile, chain);
	verdict->sentence = cpa_format_text(
		"Uneven work limits this program: its %u %s of %s have %s of work each on "
		"average, but the busiest has %s, and the longest chain of them is %s%s.",
		class->threads, noun(class), name, cpa_format_seconds(mean).text,
		cpa_format_seconds(class->most_s).text, cpa_format_seconds(chain).text, region);
	verdict->action =
		cpa_format_text("Divide the work evenly among these %s: %s.", noun(class), gains);
	verdict->slot = class->component->slot;
	free(region);
	free(name);
	free(gains);
	return true;
}

static bool is_turns(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_class *class = &facts->uneven;
	double chain = class->component ? class->component->critical_path_s : 0;
	char *gains, *name;

	if (!class->component || !matters(facts, facts->uneven_gain_s, facts->serial_gain_s))
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

static bool is_serial(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_verdict_class *class = &facts->serial;
	const struct cpa_component_figures *function = facts->serial_function;
	double share = facts->serial_gain_s, regions_s = facts->path_s - facts->region.serial_s;
	bool alone = class->threads == 1;
	char *gains, *name = NULL;

	if (!class->component || share < CPA_SHARE_GAIN * facts->path_s ||
	    is_outweighed(facts, share))
		return false;
	gains = cpa_verdict_gain(facts, verdict,
				 facts->path_s - share * (1 - 1 / facts->processors));
	if (regions_s >= CPA_SHARE_GAIN * facts->path_s) {
		function = NULL; /* it may be in the regions */
		verdict->sentence = cpa_format_text(
			"A serial part limits this program: outside its parallel regions are %s%s of "
			"the %s of the critical path.",
			facts->region.tasks_s > 0 ? "at most " : "",
			cpa_format_seconds(facts->region.serial_s).text,
			cpa_format_seconds(facts->path_s).text);
	} else {
		name = function ? name_of(function) : NULL;
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

static bool is_work(const struct cpa_facts *facts, struct cpa_verdict *verdict)
{
	const struct cpa_component_figures *function = find_function(facts, false);
	char *name;

	verdict->sentence = cpa_format_text(
		"The work itself limits this program: no lock, queue or uneven division costs much "
		"of the critical path of %s.",
		cpa_format_seconds(facts->path_s).text);
	if (!function) {
		verdict->action = xstrdup("No function stands out either; more threads may help "
					  "while there are processors for them.");
		return true;
	}
	name = name_of(function);
	verdict->action =
		cpa_format_text("Make the %s cheaper (it has %s of the path), or use more threads "
				"while there are processors for them.",
				name, cpa_format_seconds(function->critical_path_s).text);
	verdict->slot = function->slot;
	free(name);
	return true;
}

/* See verdict_kinds.h before you add a row. */
const struct cpa_verdict_kind cpa_verdict_kinds[] = {
	{ "unseen", "--level component", is_unseen },
	{ "idle", "--level thread", cpa_verdict_is_idle },
	{ "io", "--level component", cpa_verdict_is_io },
	{ "sleep", "--level component", cpa_verdict_is_asleep },
	{ "hand-offs", "--level object", is_handoffs },
	{ "processors", "--level component", is_processors },
	{ "lock", "--level object", is_lock },
	{ "queue", "--level queue", is_queue },
	{ "region", "--level region", is_region },
	{ "stage", "--level stream", is_stage },
	{ "imbalance", "--level thread", is_imbalance },
	{ "turns", "--level object", is_turns },
	{ "serial", "--level component", is_serial },
	{ "work", "--level component", is_work },
};
