/* SPDX-License-Identifier: MIT */
#include "analysis/report/span.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analysis/input/history.h"
#include "analysis/derived/since.h"
#include "analysis/util/format.h"
#include "analysis/util/printable.h"

static int fail(char **error, const char *option, const char *value, const char *why)
{
	char *text = cpa_printable(value, SIZE_MAX);

	*error = cpa_format_text("%s %s: %s", option, text, why);
	free(text);
	return -1;
}

static int read_copy(const char *file, struct cpa_profile **profile, char **error)
{
	struct cpa_dump dump;
	int ret = 0;

	if (cpa_dump_open(&dump, file, error) < 0)
		return -1;
	*profile = cpa_profile_build(&dump, CPA_GRAPH_NODES);
	if (!cpa_dump_whole(&dump)) {
		ret = fail(error, "--since", file, "the file became unreadable (try again)");
		cpa_profile_free(*profile);
		*profile = NULL;
	}
	cpa_dump_close(&dump);
	return ret;
}

int cpa_span_since(const char *since, const char *file, struct cpa_profile **before, char **error)
{
	char *copy, *later;
	time_t when;
	int ret;

	if (access(since, F_OK) == 0)
		return read_copy(since, before, error);
	if (!cpa_history_parse(since, time(NULL), &when))
		return fail(error, "--since", since,
			    "neither a copy by cpa ctl snapshot nor a time (as 10m, 14:05 or "
			    "'2026-11-25 14:05')");
	cpa_history_find(file, when, &copy, &later);
	free(later);
	if (!copy)
		return fail(error, "--since", since,
			    "the history has no copy of before (cpa run --every 1m makes one each "
			    "minute)");
	ret = read_copy(copy, before, error);
	free(copy);
	return ret;
}

/* Whether the program of the copy @file began after @when. */
static bool has_begun_after(const char *file, time_t when)
{
	struct cpa_dump dump;
	char *error = NULL;
	bool later;

	if (cpa_dump_open(&dump, file, &error) < 0) {
		free(error);
		return true;
	}
	later = (time_t)(dump.header.start_real_ns / 1000000000) > when;
	cpa_dump_close(&dump);
	return later;
}

int cpa_span_time(const char *at, time_t *when, char **error)
{
	if (cpa_history_parse(at, time(NULL), when))
		return 0;
	return fail(error, "--at", at, CPA_HISTORY_TIMES " expected");
}

int cpa_span_at(const char *at, time_t when, char **file, struct cpa_profile **before, char **error)
{
	char *copy, *later;
	int ret = 0;

	cpa_history_find(*file, when, &copy, &later);
	if (!copy && (!later || has_begun_after(later, when)))
		return fail(error, "--at", at,
			    "not in the history (cpa run --every 1m makes a copy each minute)");
	if (later) {
		free(*file);
		*file = later;
	}
	if (copy)
		ret = read_copy(copy, before, error);
	free(copy);
	return ret;
}

/* When the file of @profile last changed: a copy was made then. */
static struct cpa_figure time_of(const struct cpa_profile *profile)
{
	struct cpa_figure figure = { "?" };
	time_t now = time(NULL);
	struct stat st;
	struct tm tm;

	if (!profile->file || stat(profile->file, &st) < 0)
		return figure;
	if (localtime_r(profile->program.running ? &now : &st.st_mtim.tv_sec, &tm))
		strftime(figure.text, sizeof(figure.text), "%Y-%m-%d %H:%M:%S", &tm);
	return figure;
}

int cpa_span_apply(struct cpa_profile *profile, const struct cpa_profile *before, char **error)
{
	if (!cpa_profile_since(profile, before))
		return fail(error, "--since", before->file ? before->file : "?",
			    "not an earlier copy of this session");
	cpa_profile_note(profile,
			 "All figures but those of the profiler itself are of the time from %s to "
			 "%s. Queues, streams and values over time are not shown for it.",
			 time_of(before).text, time_of(profile).text);
	return 0;
}
