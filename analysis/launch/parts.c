/* SPDX-License-Identifier: MIT */
#include "analysis/launch/parts.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/ctl/control.h"
#include "shadow/store/timespec.h"

#define AGAIN_NS UINT64_C(10000000)
#define MOST_NS	 1e18

bool cpa_parts_time(const char *text, uint64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "ms", 1e6 }, { "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 }
	};
	char *end;
	double value = strtod(text, &end);

	if (text[strspn(text, "0123456789.")] != *end || end == text)
		return false;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(end, units[i].name) != 0 || !(value * units[i].ns < MOST_NS))
			continue;
		*ns = (uint64_t)(value * units[i].ns);
		return true;
	}
	return false;
}

/* Whether the next change switches profiling on; false: it switches off, or there is none. */
static bool starts(const struct cpa_parts *parts)
{
	return parts->done == 0 && parts->delay_ns;
}

/* The next change of the session. */
static uint64_t next_change(struct cpa_parts *parts)
{
	unsigned first = parts->delay_ns ? 1 : 0;

	if (parts->windows.budget > 0)
		return cpa_windows_next(&parts->windows);
	if (starts(parts))
		return parts->delay_ns;
	return parts->duration_ns && parts->done == first ? parts->delay_ns + parts->duration_ns :
							    UINT64_MAX;
}

uint64_t cpa_parts_next(struct cpa_parts *parts)
{
	uint64_t change = next_change(parts), copy = cpa_keep_next(&parts->keep);

	return change < copy ? change : copy;
}

static uint64_t since(uint64_t started_ns)
{
	return cpa_timespec_now_ns(CLOCK_MONOTONIC) - started_ns;
}

static void act_change(struct cpa_parts *parts, uint64_t started_ns)
{
	struct cpa_control control;
	bool on = starts(parts);
	char *error = NULL;

	if (parts->windows.budget > 0) {
		cpa_windows_act(&parts->windows, since(started_ns));
		return;
	}
	if (cpa_control_open(&control, parts->session, &error) == 0) {
		/* It may be in that state already, as the program may switch too. */
		cpa_control_switch(&control, on, &error);
		cpa_control_close(&control);
		parts->done++;
		if (on) /* The duration counts from here, however late that is. */
			parts->delay_ns = since(started_ns);
	} else if (on) {
		parts->delay_ns = since(started_ns) + AGAIN_NS;
	} else {
		parts->duration_ns = since(started_ns) + AGAIN_NS - parts->delay_ns;
	}
	free(error);
}

void cpa_parts_act(struct cpa_parts *parts, uint64_t started_ns)
{
	uint64_t now = since(started_ns);

	if (cpa_keep_next(&parts->keep) <= now)
		cpa_keep_act(&parts->keep, now);
	else
		act_change(parts, started_ns);
}
