/* SPDX-License-Identifier: MIT */
/* analysis/verdict/verdict.c - the facts behind a verdict, and what else lengthened the run */
#include "analysis/verdict/verdict.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/components.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"
#include "analysis/derived/find.h"
#include "analysis/verdict/jobs.h"
#include "analysis/verdict/rivals.h"
#include "analysis/verdict/verdict_kinds.h"
#include "analysis/util/format.h"

#define SIDE	     0.50 /* share of the path that makes a side of a queue or stream the slow one */
#define LITTLE	     0.01 /* of the work: threads that have less do nothing but wait */
#define SHARE_OTHERS 0.10 /* of the run's processors: taken by other programs */
#define SHARE_READY  0.10 /* of the observed path */
#define ALONE	     1.01 /* threads of a region, on average: it hardly ever had a second one */

/* What @thread was blocked in services: idle time and waits are no work. *@slept: in sleeps. */
static double service_s(const struct cpa_profile *profile, const struct cpa_thread_figures *thread,
			double *slept)
{
	double sum = 0;

	for (uint32_t i = 0; i < thread->spends; i++) {
		const struct cpa_spend_figures *spend = &thread->spend[i];
		const struct cpa_component_figures *external =
			spend->kind == CPA_EXTERNAL ?
				cpa_profile_component(profile, spend->slot, CPA_EXTERNAL) :
				NULL;

		if (!external || external->class != CPA_EXT_SERVICE)
			continue;
		sum += spend->seconds;
		if (strcmp(external->name, "sleep") == 0)
			*slept += spend->seconds;
	}
	return sum;
}

static struct cpa_verdict_class sum_class(const struct cpa_profile *profile,
					  const struct cpa_component_figures *component)
{
	struct cpa_verdict_class class = { .component = component };
	double begin_s = INFINITY, end_s = 0, lived_s = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];
		double work_s;

		if (thread->slot != component->slot)
			continue;
		work_s = thread->process_s + service_s(profile, thread, &class.slept_s);
		class.threads += 1 + thread->earlier;
		class.work_s += work_s;
		/* Of a row of several only their sum is known. */
		class.most_s = fmax(class.most_s, work_s / (1 + thread->earlier));
		begin_s = fmin(begin_s, thread->begun_s);
		end_s = fmax(end_s, thread->begun_s + thread->lived_s);
		lived_s += thread->lived_s;
	}
	class.in_turn = class.threads == 1 || (lived_s > 0 && lived_s <= end_s - begin_s);
	return class;
}

/* Whether no two threads of @class are of one process. */
static bool are_apart(const struct cpa_profile *profile, const struct cpa_component_figures *class)
{
	const struct cpa_thread_figures *thread = profile->thread;

	if (cpa_jobs_are(profile, class))
		return true;
	for (size_t i = 0; i < profile->threads; i++) {
		if (thread[i].slot != class->slot)
			continue;
		if (thread[i].earlier || !thread[i].process)
			return false;
		for (size_t k = 0; k < i; k++)
			if (thread[k].slot == class->slot && thread[k].process == thread[i].process)
				return false;
	}
	return true;
}

/* The work of the busiest thread of @class, if that is one of processes of which many had one row of threads. */
static void find_busiest(struct cpa_verdict_class *class, const struct cpa_profile *profile)
{
	const struct cpa_process_figures *busiest;

	if (!cpa_jobs_are(profile, class->component))
		return;
	busiest = cpa_jobs_busiest(profile, class->component->name);
	if (!busiest || busiest->process_s < class->most_s)
		return;
	class->most_s = busiest->process_s;
	class->busiest = busiest;
}

/*
 * Whether threads of the class of slot @slot write to others, or read what they write: processes of
 * one name are then stages, and no division of work.
 */
static bool has_streams(const struct cpa_profile *profile, uint32_t slot)
{
	for (size_t i = 0; i < profile->streams; i++)
		if (cpa_stream_is_inside(&profile->stream[i]) &&
		    (profile->stream[i].writer.slot == slot ||
		     profile->stream[i].reader.slot == slot))
			return true;
	return false;
}

/* Path time of locks that make threads wait: uneven work does not explain it. */
static double contested_s(const struct cpa_profile *profile)
{
	double sum = 0;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].kind == CPA_LOCK &&
		    cpa_is_contested(profile, &profile->component[i]))
			sum += profile->component[i].critical_path_s;
	return sum;
}

#define SAME 1e-6 /* relative: the difference of two sums of the same times */

/* Whether threads of @class may be in rows that threads of several classes had, of which only the sums are known. */
static bool is_partly_known(const struct cpa_profile *profile,
			    const struct cpa_component_figures *class)
{
	bool mixed = false;
	double known_s = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		mixed = mixed || profile->thread[i].mixed;
		if (profile->thread[i].slot == class->slot)
			known_s += profile->thread[i].process_s;
	}
	return mixed && class->total_s > known_s * (1 + SAME);
}

/* Find the class of several threads whose work is most uneven, and the largest of one thread. */
static void find_classes(struct cpa_facts *facts)
{
	const struct cpa_profile *profile = facts->profile;
	double locks_s = contested_s(profile);

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];
		struct cpa_verdict_class class;
		double gain;

		if (component->kind != CPA_THREAD || component->shared || component->slot == 0 ||
		    cpa_teams_are_pool(profile, component))
			continue;
		if (is_partly_known(profile, component)) {
			facts->unknown_s += component->critical_path_s;
			continue;
		}
		class = sum_class(profile, component);
		if (class.in_turn && component->saved_s > facts->serial_gain_s &&
		    class.slept_s <= class.work_s / 2) {
			facts->serial = class;
			facts->serial_gain_s = component->saved_s;
		}
		if (class.in_turn)
			continue;
		gain = component->critical_path_s - locks_s - class.work_s / class.threads;
		if (gain <= facts->uneven_gain_s)
			continue;
		class.apart = are_apart(profile, component);
		if (class.apart && has_streams(profile, component->slot))
			continue;
		facts->uneven = class;
		facts->uneven_gain_s = gain;
	}
}

/* The function in which the threads of @class spent most, of those that stand out; NULL: none. */
static const struct cpa_component_figures *function_of(const struct cpa_profile *profile,
						       const struct cpa_verdict_class *class)
{
	const struct cpa_component_figures *found = NULL;
	double most = 0, least = CPA_SHARE_GAIN * profile->program.critical_path_s;

	for (size_t i = 0; class->component && i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		for (uint32_t k = 0; thread->slot == class->component->slot && k < thread->spends;
		     k++) {
			const struct cpa_component_figures *each =
				cpa_profile_component(profile, thread->spend[k].slot, CPA_FUNCTION);

			if (thread->spend[k].kind != CPA_FUNCTION || !each || each->shared ||
			    each->slot == CPA_SLOT_UNSAMPLED || each->critical_path_s < least ||
			    thread->spend[k].seconds <= most)
				continue;
			most = thread->spend[k].seconds;
			found = each;
		}
	}
	return found;
}

static void find_queue(struct cpa_facts *facts)
{
	const struct cpa_profile *profile = facts->profile;

	for (size_t i = 0; i < profile->queues; i++) {
		const struct cpa_queue_figures *queue = &profile->queue[i];
		bool consumers = queue->critical_path_s >= SIDE * facts->path_s;
		bool producers = queue->producers_path_s >= SIDE * facts->path_s && !consumers;

		if (queue->dequeued < CPA_BALANCE_ITEMS || !(consumers || producers))
			continue;
		if (consumers && queue->saved_s > facts->queue_gain_s) {
			facts->queue = queue;
			facts->queue_gain_s = queue->saved_s;
		} else if (producers && queue->producers == 1 && facts->queue_gain_s == 0) {
			facts->queue = queue;
			facts->queue_gain_s = facts->serial_gain_s;
		}
	}
}

static void add_alone(struct cpa_verdict_region *region,
		      const struct cpa_component_figures *component)
{
	region->alone_s += component->critical_path_s;
	if (!region->alone || component->critical_path_s > region->alone->critical_path_s)
		region->alone = component;
}

/* The row of the region with @slot; NULL: no journal, or not there. */
static const struct cpa_team_figures *team_of(const struct cpa_profile *profile, uint32_t slot)
{
	const struct cpa_teams *teams = profile->teams;

	for (size_t i = 0; teams && i < teams->rows; i++)
		if (!teams->row[i].construct && teams->row[i].slot == slot)
			return &teams->row[i];
	return NULL;
}

static void find_region(struct cpa_facts *facts)
{
	const struct cpa_profile *profile = facts->profile;
	struct cpa_verdict_region *best = &facts->region;
	bool known = profile->teams && !profile->teams->trouble;
	double most_s = 0, locks_s = known ? 0 : contested_s(profile);

	best->serial_s = facts->path_s;
	for (size_t i = 0; cpa_teams_any(profile) && i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];
		double gain_s, threads = cpa_teams_threads(profile, component);
		const struct cpa_team_figures *team;

		if (cpa_teams_are_tasks(profile, component))
			best->tasks_s += component->critical_path_s;
		if (threads <= 0)
			continue;
		team = team_of(profile, component->slot);
		if (known) /* it may be in the row of another component of the same name */
			gain_s = team ? team->balanced_saved_s : 0;
		else
			gain_s = component->critical_path_s - component->total_s / threads;
		best->serial_s -= component->critical_path_s;
		if (threads < ALONE)
			add_alone(best, component);
		best->all_s += fmax(gain_s, 0);
		if (gain_s <= most_s)
			continue;
		most_s = gain_s;
		best->component = component;
		best->team = team;
		best->threads = threads;
	}
	best->gain_s = most_s - locks_s;
	best->all_s = known ? profile->teams->balanced_saved_s : best->all_s - locks_s;
	/* Tasks that threads run while they wait for a region's end are not in it, others are. */
	best->serial_s = fmin(best->serial_s, facts->path_s - best->tasks_s);
	/* Nor is that a master spins in the runtime until all threads of a team are there. */
	if (cpa_teams_any(profile))
		best->spun_s = facts->unexplained.shorter_s;
	best->serial_s = fmax(best->serial_s - best->spun_s, 0);
	/* A master is a class of one thread, but what it does in a region is no serial part. */
	facts->serial_gain_s = fmin(facts->serial_gain_s, best->serial_s);
}

/* Whether threads of the class of @slot do more than wait. 0, of several classes: they do. */
static bool does_work(const struct cpa_profile *profile, uint32_t slot)
{
	double work_s = 0;

	for (size_t i = 0; i < profile->threads; i++)
		if (profile->thread[i].slot == slot)
			work_s += profile->thread[i].process_s;
	return !slot || work_s >= LITTLE * profile->program.work_s;
}

/* The class of threads that @stream's other side waits for; NULL: none, or one of several. */
static const struct cpa_component_figures *find_stage(const struct cpa_profile *profile,
						      const struct cpa_stream_figures *stream)
{
	bool writer = strcmp(cpa_stream_limit(stream), "writer") == 0;
	bool reader = strcmp(cpa_stream_limit(stream), "reader") == 0;
	uint32_t slot = writer ? stream->writer.slot : reader ? stream->reader.slot : 0;
	uint32_t other = writer ? stream->reader.slot : stream->writer.slot;

	if (!cpa_stream_is_inside(stream) || !slot || slot == other || !does_work(profile, other))
		return NULL;
	return cpa_profile_component(profile, slot, CPA_THREAD);
}

/*
 * Find the stage that a stream waits for with the largest saving. The profile has streams by their
 * waits, so facts->stream is the one that waits longest for it.
 */
static void find_stream(struct cpa_facts *facts)
{
	const struct cpa_profile *profile = facts->profile;

	for (size_t i = 0; i < profile->streams; i++) {
		const struct cpa_component_figures *stage =
			find_stage(profile, &profile->stream[i]);

		if (!stage || stage->critical_path_s < SIDE * facts->path_s ||
		    (facts->stage && stage->saved_s <= facts->stage->saved_s))
			continue;
		facts->stream = &profile->stream[i];
		facts->stage = stage;
	}
}

static struct cpa_facts find_facts(const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	struct cpa_facts facts = {
		.profile = profile,
		.processors = program->cores > 1 ? program->cores : 1,
		.path_s = program->critical_path_s,
		.work_s = program->work_s,
		.lock = cpa_find_best(profile, cpa_is_contested_lock),
	};

	facts.capacity_s = facts.work_s / facts.processors;
	facts.least_s = fmax(facts.path_s, facts.capacity_s);
	facts.lock_gain_s = facts.lock ? facts.lock->saved_s : 0;
	cpa_unexplained_init(&facts.unexplained, profile);
	find_classes(&facts);
	if (facts.uneven.component)
		find_busiest(&facts.uneven, profile);
	facts.serial_function = function_of(profile, &facts.serial);
	find_region(&facts);
	if (cpa_teams_any(profile))
		cpa_verdict_find_outside(&facts);
	find_queue(&facts);
	find_stream(&facts);
	return facts;
}

/*
 * Processor time that other programs took while a thread of the observed path was ready, at least:
 * all processors were busy then, and this program's other work fills no more than what it used.
 */
static double find_others(const struct cpa_profile *profile, double processors)
{
	const struct cpa_program_figures *program = &profile->program;
	double own = program->cpu_s - program->segment_s[CPA_TIME_PROCESS];
	double others = program->segment_s[CPA_TIME_RUNQUEUE] * processors - fmax(own, 0);

	return others >= SHARE_OTHERS * processors * program->wall_s ? others : 0;
}

/* What took the time that the report is about. */
static const struct took {
	const char *subject, *need, *their;
} took_run = { "run", "it needs", "its" }, took_parts = { "profiled parts", "they need", "their" };

static const struct took *what_took(const struct cpa_profile *profile)
{
	return profile->program.earlier_parts + profile->parts ? &took_parts : &took_run;
}

/* Explain a run that took longer than its path and its work on so many processors. */
static char *explain_rest(const struct cpa_verdict *verdict, const struct cpa_profile *profile)
{
	const struct cpa_processors_figures *processors = &profile->diagnostics.processors;
	const struct cpa_program_figures *program = &profile->program;
	const struct took *took = what_took(profile);
	double ready = program->segment_s[CPA_TIME_RUNQUEUE];
	/* Threads that wait in loops do so for longer where processors are missing. */
	char *busy = cpa_unexplained_busy(profile, SHARE_OTHERS);
	const char *hold = busy ? "" : " Times on the critical path hold all the same.";

	free(busy);
	if (verdict->others_s > 0 && processors->others_s > SHARE_OTHERS * processors->all_s)
		return cpa_format_text(
			"The %s took %s, more than %s: other programs used %s of the %u "
			"processor%s' time.%s",
			took->subject, cpa_format_seconds(program->wall_s).text, took->need,
			cpa_format_percent(processors->others_s, processors->all_s).text,
			program->cores, program->cores == 1 ? "" : "s", hold);
	if (verdict->others_s > 0)
		return cpa_format_text(
			"The %s took %s, more than %s: other programs, or a limit on its "
			"CPU time, took %s of the %u processor%s' time from it.%s",
			took->subject, cpa_format_seconds(program->wall_s).text, took->need,
			cpa_format_percent(verdict->others_s, program->wall_s * program->cores).text,
			program->cores, program->cores == 1 ? "" : "s", hold);
	if (strcmp(verdict->kind, "processors") == 0 || ready <= 0 ||
	    ready < SHARE_READY * program->observed_path_s)
		return NULL;
	return cpa_format_text(
		"For %s of the %s that the %s took, %s next step was ready and had no "
		"processor.",
		cpa_format_seconds(ready).text, cpa_format_seconds(program->wall_s).text,
		took->subject, took->their);
}

/* Fewer parts of the run than this are no sample of it. */
#define PARTS_SAMPLE 10

/* That little of the run was profiled. NULL: most was, or many parts. The caller frees it. */
static char *doubt_part(const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	uint64_t parts = program->earlier_parts + profile->parts;

	if (!parts || parts >= PARTS_SAMPLE || program->wall_s >= program->run_s / 2)
		return NULL;
	return cpa_format_text(
		"Only %s of the run's %s were profiled, in %llu part%s: the rest may "
		"be different.",
		cpa_format_seconds(program->wall_s).text, cpa_format_seconds(program->run_s).text,
		(unsigned long long)parts, parts == 1 ? "" : "s");
}

/*
 * That rows are missing which the verdict is made from. NULL: none is known to be. The caller frees
 * it.
 */
static char *doubt_rows(const struct cpa_profile *profile)
{
	unsigned long long rows = profile->diagnostics.lost_rows;

	if (!rows)
		return NULL;
	return cpa_format_text(
		"This may be off: the profile is cut off or damaged, and %llu row%s of "
		"its tables %s missing.",
		rows, rows == 1 ? "" : "s", rows == 1 ? "is" : "are");
}

/* That a process was killed long after its last event. NULL: none was. The caller frees it. */
static char *doubt_lost(const struct cpa_profile *profile)
{
	const struct cpa_process_figures *lost = profile->diagnostics.lost;

	if (!lost)
		return NULL;
	return cpa_format_text(
		"This may be off: what process %u (%s, %s) did in its last %s is in no figure.",
		lost->pid, lost->name, cpa_ending_word(lost->ending),
		cpa_format_seconds(profile->diagnostics.lost_s).text);
}

/* @a and then @b, which may be NULL and are freed. The caller frees it. */
static char *join(char *a, char *b)
{
	char *both;

	if (!a || !b)
		return a ? a : b;
	both = cpa_format_text("%s %s", a, b);
	free(a);
	free(b);
	return both;
}

/* Why the verdict may be wrong. NULL: nothing is known. The caller frees it. */
static char *find_doubt(const struct cpa_facts *facts, const struct cpa_profile *profile)
{
	char *part = doubt_rows(profile);

	if (!part)
		part = doubt_part(profile);
	part = join(part, cpa_uneven_sentence(profile));
	part = join(part, doubt_lost(profile));
	return join(part, cpa_unexplained_doubt(&facts->unexplained, profile));
}

/*
 * What is beside the verdict: which job was the last, that the component which it names saves about as
 * much as another, and why the run took longer. NULL: none of them.
 */
static char *find_beside(const struct cpa_verdict *verdict, const struct cpa_profile *profile)
{
	const struct cpa_component_figures *first = profile->rivals.first;
	char *all = cpa_jobs_last(profile);

	if (first && verdict->slot && verdict->slot == first->slot)
		all = join(all, cpa_rivals_sentence(profile));
	return join(all, explain_rest(verdict, profile));
}

void cpa_verdict_init(struct cpa_verdict *verdict, const struct cpa_profile *profile)
{
	struct cpa_facts facts = find_facts(profile);
	const struct cpa_verdict_kind *kind = cpa_verdict_kinds;

	*verdict = (struct cpa_verdict){
		.path_s = facts.path_s,
		.least_s = facts.least_s,
		.after_s = facts.least_s,
		.others_s = find_others(profile, facts.processors),
	};
	while (!kind->holds(&facts, verdict))
		kind++;
	verdict->kind = kind->word;
	if (!verdict->options)
		verdict->options = xstrdup(kind->options);
	verdict->beside = find_beside(verdict, profile);
	/* The verdict "unseen" says itself what was not seen. */
	if (strcmp(kind->word, "unseen") != 0)
		verdict->doubt = find_doubt(&facts, profile);
	else
		verdict->doubt = doubt_part(profile);
	cpa_unexplained_fini(&facts.unexplained);
}

void cpa_verdict_fini(struct cpa_verdict *verdict)
{
	free(verdict->doubt);
	free(verdict->sentence);
	free(verdict->action);
	free(verdict->beside);
	free(verdict->options);
}
