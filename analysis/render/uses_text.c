/* SPDX-License-Identifier: MIT */
#include "analysis/render/uses_text.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/profile/contexts.h"
#include "analysis/derived/find.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/uses.h"
#include "analysis/util/format.h"

#define FRAMES 8u /* callers in a line */

static const struct {
	enum cpa_use_kind kind;
	const char *heading;
} tables[] = {
	{ CPA_USE_WAIT, "waits: function, and who called it" },
	{ CPA_USE_HOLD, "holds: what ran or waited meanwhile, and who called it" },
	{ CPA_USE_FIRST, "first use: function, and who called it" },
};

/* "f <- g <- h", from the function outwards. */
static char *chain(const struct cpa_contexts *contexts, uint32_t context)
{
	char *text = cpa_context_label(&contexts->context[context - 1]), *label, *longer;

	for (unsigned n = 0; n < FRAMES; n++) {
		context = contexts->context[context - 1].caller;
		if (!context)
			break;
		label = cpa_context_label(&contexts->context[context - 1]);
		longer = cpa_format_text("%s <- %s", text, label);
		free(label);
		free(text);
		text = longer;
	}
	return text;
}

static void put_uses(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_object_figures *object, size_t table, size_t top)
{
	struct cpa_table_text text = { 0 };
	size_t count;
	const struct cpa_use_figures *use =
		cpa_uses_of(profile, object->row, tables[table].kind, &count);
	double whole_s = 0;

	if (!count)
		return;
	for (size_t i = 0; i < count; i++)
		whole_s += use[i].time_s;
	cpa_table_column(&text, "time", false);
	cpa_table_column(&text, "share", false);
	cpa_table_column(&text, "stacks", false);
	cpa_table_column(&text, tables[table].heading, true);
	for (size_t i = 0; i < count && i < top; i++) {
		struct cpa_figure time = cpa_format_seconds(use[i].time_s);
		struct cpa_figure share = cpa_format_percent(use[i].time_s, whole_s);
		struct cpa_figure stacks = cpa_format_count(use[i].stacks);
		char *line = chain(profile->contexts, use[i].context);
		const char *cells[] = { time.text, share.text, stacks.text, line };

		cpa_table_row(&text, cells);
		free(line);
	}
	cpa_table_end(&text, page);
}

size_t cpa_text_uses(const struct cpa_page *page, const struct cpa_profile *profile,
		     const char *pattern, size_t top)
{
	size_t found = 0;

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];
		char *heading;

		if (!cpa_is_named(profile, CPA_LOCK, object->slot, object->class, pattern))
			continue;
		heading = cpa_format_text("%s %s: %s waited for by all threads, %s held",
					  object->kind, object->class,
					  cpa_format_seconds(object->wait_s).text,
					  cpa_format_seconds(object->hold_s).text);
		cpa_page_heading(page, heading);
		free(heading);
		for (size_t t = 0; t < sizeof(tables) / sizeof(*tables); t++)
			put_uses(page, profile, object, t, top);
		found++;
	}
	return found;
}
