/* SPDX-License-Identifier: MIT */
/* analysis/render/idle_text.c - the table of idle time and of waits for nobody known */
#include "analysis/render/sections.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"

#define WORTH 0.001 /* of the wall time of one thread: less is not shown */

static bool is_shown(const struct cpa_component_figures *component, double wall_s)
{
	return component->kind == CPA_EXTERNAL && component->class != CPA_EXT_SERVICE &&
	       component->total_s > WORTH * wall_s;
}

/* What the name of a kind means; NULL: the name says it. */
static const char *explain(const struct cpa_component_figures *component)
{
	static const struct {
		const char *name, *text;
	} known[] = {
		{ "timeout", "waits that ended by their time-out" },
		{ "input", "reads that answer no request: terminals, pipes, connections" },
		{ "sleep loop", "sleeps of threads that do little but sleep" },
		{ "blocked", "in no call that cpa wraps, without device input" },
		{ "in signal", "in or after a signal, broadcast or post: locks in the C library" },
		{ "in unlock", "in or after an unlock: locks in the C library or the kernel" },
		{ "in create", "in or after the creation of a thread or process" },
		{ "unseen", "in synchronization; cpa did not see the release" },
		{ "signal", "waits for signals" },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(component->name, known[i].name) == 0)
			return known[i].text;
	return NULL;
}

void cpa_text_idle(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	const struct cpa_program_figures *program = &profile->program;
	struct cpa_table_text table = { 0 };
	size_t shown = 0;

	for (size_t i = 0; i < profile->components; i++)
		shown += is_shown(&profile->component[i], program->wall_s);
	if (!shown)
		return;
	cpa_page_heading(page, "Idle time and waits for nobody known: not on the critical path");
	cpa_table_column(&table, "wall", false);
	cpa_table_column(&table, "all threads", false);
	cpa_table_column(&table, "class", true);
	cpa_table_column(&table, "in", true);
	cpa_table_remark(&table, "which are");
	shown = 0;
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];
		const char *text = explain(component);

		if (!is_shown(component, program->wall_s) || shown++ >= top)
			continue;
		cpa_table_row(&table,
			      (const char *const[]){ cpa_format_percent(component->observed_path_s,
									program->observed_path_s)
							     .text,
						     cpa_format_seconds(component->total_s).text,
						     cpa_blocked_word(component->class),
						     component->name, text ? text : "" });
	}
	cpa_table_end(&table, page);
	cpa_page_foot(page, shown, top, NULL);
}
