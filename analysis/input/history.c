/* SPDX-License-Identifier: MIT */
#include "analysis/input/history.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"

#define DAY 86400

bool cpa_history_time(const char *name, time_t *when)
{
	struct tm tm = { 0 };
	const char *end = strptime(name, CPA_HISTORY_FORMAT, &tm);

	*when = timegm(&tm);
	return end && !*end;
}

static bool parse_span(const char *text, time_t now, time_t *when)
{
	static const struct {
		char name;
		double seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', DAY } };
	char *end;
	double number = strtod(text, &end);

	if (end == text || text[strspn(text, "0123456789.")] != *end || strlen(end) != 1)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
		if (*end == units[i].name && number * units[i].seconds < (double)now) {
			*when = now - (time_t)(number * units[i].seconds);
			return true;
		}
	return false;
}

bool cpa_history_parse(const char *text, time_t now, time_t *when)
{
	static const char *const formats[] = { "%H:%M", "%H:%M:%S", "%Y-%m-%d %H:%M",
					       "%Y-%m-%d %H:%M:%S" };

	for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
		struct tm tm;
		const char *end;

		localtime_r(&now, &tm);
		tm.tm_sec = 0;
		tm.tm_isdst = -1;
		end = strptime(text, formats[i], &tm);
		if (!end || *end)
			continue;
		*when = mktime(&tm);
		/* Of a time of day: yesterday's, if today's is still to come. */
		if (i < 2 && *when > now) {
			tm.tm_mday--;
			tm.tm_isdst = -1;
			*when = mktime(&tm);
		}
		return true;
	}
	return parse_span(text, now, when);
}

void cpa_history_find(const char *file, time_t when, char **before, char **after)
{
	char *folder = cpa_format_text("%s" CPA_HISTORY_SUFFIX, file);
	time_t earlier = 0, later = 0, at;
	DIR *open = opendir(folder);
	struct dirent *entry;

	*before = *after = NULL;
	while (open && (entry = readdir(open))) {
		if (!cpa_history_time(entry->d_name, &at))
			continue;
		if (at <= when && (!*before || at > earlier)) {
			free(*before);
			*before = cpa_format_text("%s/%s", folder, entry->d_name);
			earlier = at;
		} else if (at > when && (!*after || at < later)) {
			free(*after);
			*after = cpa_format_text("%s/%s", folder, entry->d_name);
			later = at;
		}
	}
	if (open)
		closedir(open);
	free(folder);
}
