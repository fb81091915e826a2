/* SPDX-License-Identifier: MIT */
/* analysis/render/timeline.c - text chart: the share of each component in the path over time */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>

#include "analysis/util/format.h"
#include "analysis/derived/find.h"
#include "analysis/profile/components.h"
#include "analysis/profile/intervals.h"
#include "analysis/symbols/names.h"
#include "analysis/render/sections.h"

#define COLUMNS 16u /* largest number of columns */
#define FEWEST	4u  /* samples needed for a chart */

/*
 * One character per column of samples, by the share of @slot in the path's growth. The caller frees
 * it.
 */
static char *draw(const struct cpa_page *page, const struct cpa_intervals *v, uint32_t slot,
		  size_t each)
{
	static const char *const bars[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const plain[] = { " ", "_", ".", ":", "-", "=", "+", "*", "#" };
	char *text = xstrdup("");

	for (size_t i = 0; i < v->samples; i += each) {
		size_t to = i + each < v->samples ? i + each : v->samples;
		double share = cpa_intervals_share(v, slot, i ? i - 1 : SIZE_MAX, to - 1);
		size_t step = (size_t)fmax(ceil(share * 8 - 0.05), 0);
		char *longer =
			cpa_format_text("%s%s", text, page->unicode ? bars[step] : plain[step]);

		free(text);
		text = longer;
	}
	return text;
}

static void put_row(struct cpa_table_text *table, const struct cpa_page *page,
		    const struct cpa_intervals *v, const struct cpa_component_figures *component,
		    size_t each)
{
	char *line = draw(page, v, component->slot, each);

	cpa_table_row(table, (const char *const[]){ line, cpa_names_component_kind(component->kind),
						    component->name });
	free(line);
}

void cpa_text_intervals(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	const struct cpa_intervals *v = profile->intervals;
	size_t each = (v->samples + COLUMNS - 1) / COLUMNS, shown = 0;
	struct cpa_table_text table = { 0 };
	char *note;

	if (v->samples < FEWEST)
		return;
	cpa_page_heading(page, "When it was on the critical path");
	cpa_table_column(&table, "start to end", true);
	cpa_table_column(&table, "kind", true);
	cpa_table_column(&table, "component", true);
	for (unsigned last = 0; last < 2; last++) {
		for (size_t i = 0; i < profile->components && shown < top; i++) {
			const struct cpa_component_figures *component = &profile->component[i];

			if (component->critical_path_s <= 0 ||
			    cpa_comes_last(profile, component) != last)
				continue;
			shown++;
			put_row(&table, page, v, component, each);
		}
	}
	cpa_table_end(&table, page);
	note = cpa_format_text(
		"Each character stands for %s and shows the component's share of the critical "
		"path in it: %s is all of it, a blank none. The chart follows the final critical "
		"path.",
		cpa_format_seconds(v->period_s * (double)each).text, page->unicode ? "█" : "#");
	cpa_page_foot(page, 0, 0, note);
	free(note);
}
