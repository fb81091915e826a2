/* SPDX-License-Identifier: MIT */
#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/compare/side.h"
#include "analysis/input/find_dump.h"
#include "analysis/input/history.h"
#include "analysis/report/span.h"
#include "analysis/util/format.h"

/*
 * Add what the session in @file had since @before; NULL: since its start. @at: when that was, for
 * its name.
 */
static int add_piece(struct cpa_side *side, const char *file, const char *at,
		     const struct cpa_profile *before, char **error)
{
	json_t *run = cpa_side_read(file, before, error);
	char *name;

	if (!run)
		return -1;
	name = cpa_format_text("%s, up to %s", at, file);
	cpa_side_add_run(side, name, run);
	free(name);
	return 0;
}

/* When the copy @file was made. Return false if it is the session itself. */
static bool time_of(const char *file, time_t *when)
{
	const char *slash = strrchr(file, '/');

	return cpa_history_time(slash ? slash + 1 : file, when);
}

int cpa_side_add_span(struct cpa_side *side, const char *session, const char *at, time_t seconds,
		      char **error)
{
	uint32_t pid;
	time_t when, end;
	bool more = true;
	int ret;

	if (cpa_span_time(at, &when, error) < 0)
		return -1;
	end = when + seconds;
	do {
		struct cpa_profile *before = NULL;
		char *file = cpa_dump_find(session, &pid, error);

		ret = file ? cpa_span_at(at, when, &file, &before, error) : -1;
		if (ret == 0)
			ret = add_piece(side, file, at, before, error);
		more = ret == 0 && time_of(file, &when) && when < end;
		if (before)
			cpa_profile_free(before);
		free(file);
	} while (more);
	return ret;
}
