/* SPDX-License-Identifier: MIT */
#include "analysis/verdict/jobs.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"

#define LEAST 0.10 /* of the critical path: a command that has less is none that matters */

static bool is_of(const struct cpa_process_figures *process, const char *command)
{
	return strcmp(process->name, command) == 0;
}

bool cpa_jobs_are(const struct cpa_profile *profile, const struct cpa_component_figures *class)
{
	if (class->kind != CPA_THREAD || class->by != CPA_BY_NAME || class->shared)
		return false;
	for (size_t i = 0; i < profile->processes; i++)
		if (is_of(&profile->process[i], class->name))
			return true;
	return false;
}

const struct cpa_process_figures *cpa_jobs_busiest(const struct cpa_profile *profile,
						   const char *command)
{
	const struct cpa_process_figures *most = NULL;

	for (size_t i = 0; i < profile->processes; i++) {
		const struct cpa_process_figures *each = &profile->process[i];

		if (is_of(each, command) && each->pid && each->threads <= each->images &&
		    (!most || each->process_s > most->process_s))
			most = each;
	}
	return most;
}

/* The class of processes with most of the critical path; NULL: none has much. */
static const struct cpa_component_figures *find_class(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *most = NULL;
	double least = LEAST * profile->program.critical_path_s;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *each = &profile->component[i];

		if (each->critical_path_s >= (most ? most->critical_path_s : least) &&
		    cpa_jobs_are(profile, each))
			most = each;
	}
	return most;
}

/* The processes of one command. */
struct jobs {
	uint64_t n;
	const struct cpa_process_figures *last;
	double others_s; /* end of the last but one */
};

static struct jobs find_jobs(const struct cpa_profile *profile, const char *command)
{
	struct jobs jobs = { 0 };

	for (size_t i = 0; i < profile->processes; i++) {
		const struct cpa_process_figures *each = &profile->process[i];

		if (!is_of(each, command) || each->end_s <= 0)
			continue;
		jobs.n += each->count;
		if (!jobs.last || each->end_s > jobs.last->end_s) {
			jobs.others_s = jobs.last ? jobs.last->end_s : 0;
			jobs.last = each;
		} else {
			jobs.others_s = fmax(jobs.others_s, each->end_s);
		}
	}
	return jobs;
}

static int compare_starts(const void *a, const void *b)
{
	const struct cpa_process_figures *const *x = a, *const *y = b;

	return (*x)->start_s < (*y)->start_s ? -1 : (*x)->start_s > (*y)->start_s;
}

/* Whether two processes of @command, of those that are known one by one, ran at the same time. */
static bool overlap(const struct cpa_profile *profile, const char *command)
{
	const struct cpa_process_figures **job =
		xcalloc(profile->processes + 1, sizeof(const struct cpa_process_figures *));
	double end_s = INFINITY;
	bool found = false;
	size_t n = 0;

	for (size_t i = 0; i < profile->processes; i++)
		if (is_of(&profile->process[i], command) && profile->process[i].pid)
			job[n++] = &profile->process[i];
	qsort(job, n, sizeof(const struct cpa_process_figures *), compare_starts);
	for (size_t i = 0; i < n && !found; i++) {
		found = job[i]->start_s < end_s && i > 0;
		end_s = job[i]->end_s;
	}
	free(job);
	return found;
}

char *cpa_jobs_last(const struct cpa_profile *profile)
{
	const struct cpa_component_figures *class = find_class(profile);
	struct jobs jobs = { 0 };
	char *title, *text;

	if (class)
		jobs = find_jobs(profile, class->name);
	if (jobs.n < 2 || !jobs.last->pid || !jobs.last->argument || !overlap(profile, class->name))
		return NULL;
	title = cpa_process_title(jobs.last);
	text = cpa_format_text(
		"The last job was %s: %s of CPU time, from %s to %s; the other %" PRIu64
		" of %s had ended by %s.",
		title, cpa_format_seconds(jobs.last->cpu_s).text,
		cpa_format_seconds(jobs.last->start_s).text,
		cpa_format_seconds(jobs.last->end_s).text, jobs.n - 1, class->name,
		cpa_format_seconds(jobs.others_s).text);
	free(title);
	return text;
}
