/* SPDX-License-Identifier: MIT */
/* analysis/top_detail.c - one component: its figures, its last minute, its part of the graph */
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/format.h"
#include "analysis/names.h"
#include "analysis/printable.h"
#include "analysis/text.h"
#include "analysis/top_page.h"

static const struct cpa_component_figures *find_component(const struct cpa_top *top)
{
	const struct cpa_profile *profile = top->now.profile;

	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].slot == top->detail.slot &&
		    profile->component[i].kind == top->detail.kind)
			return &profile->component[i];
	return NULL;
}

/* The savings of the latest moments, oldest first, as bars of up to eight steps. */
static void put_history(const struct cpa_top *top, struct cpa_top_screen *screen)
{
	static const char *const bars[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char plain[] = "_.:-=+*#";
	size_t moments = top->moments < CPA_TOP_HISTORY ? top->moments : CPA_TOP_HISTORY;
	char *text = xstrdup("");
	double most = 0;

	for (size_t back = 0; back < moments; back++)
		most = fmax(most, cpa_top_saved(top, top->detail.slot, back));
	for (size_t back = moments; back-- > 0;) {
		double part = most > 0 ? cpa_top_saved(top, top->detail.slot, back) / most : 0;
		size_t step = (size_t)lround(part * (ARRAY_SIZE(bars) - 1));
		char *longer = top->ascii ? cpa_format_text("%s%c", text, plain[step]) :
					    cpa_format_text("%s%s", text, bars[step]);

		free(text);
		text = longer;
	}
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text("saves, in the last %zu readings; the highest is %s", moments,
				    cpa_format_seconds(most).text));
	cpa_top_put(screen, CPA_TOP_PLAIN, text);
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool node_is_of(const struct cpa_profile *profile, uint32_t id, const char *name)
{
	const struct cpa_node_figures *node = cpa_profile_node(profile, id);

	return node && (same(node->class, name) || same(node->site, name));
}

/* It begins or ends at an event of the component or in its code, or was spent in it. */
static bool touches(const struct cpa_profile *profile, const struct cpa_edge_figures *edge,
		    const char *name)
{
	if (node_is_of(profile, edge->from, name) || node_is_of(profile, edge->to, name))
		return true;
	for (uint32_t i = 0; i < edge->functions; i++)
		if (same(edge->function[i].function, name))
			return true;
	return false;
}

static void put_edges(const struct cpa_top *top, struct cpa_top_screen *screen, const char *name,
		      size_t below)
{
	const struct cpa_profile *profile = top->now.profile;
	struct cpa_edge_figures *edges = xcalloc(profile->edges + 1, sizeof(*edges));
	struct cpa_top_sheet sheet;
	size_t count = 0;

	if (!top->now.edges) {
		free(edges);
		cpa_top_put(screen, CPA_TOP_FAINT,
			    xstrdup("the activity graph comes with the next reading"));
		return;
	}
	for (size_t i = 0; i < profile->edges; i++)
		if (touches(profile, &profile->edge[i], name))
			edges[count++] = profile->edge[i];
	cpa_top_put(screen, CPA_TOP_FAINT,
		    cpa_format_text("%zu edges of the activity graph touch it", count));
	cpa_top_sheet_begin(&sheet, screen);
	cpa_text_edges(&sheet.page, profile, edges, count, screen->lines);
	cpa_top_sheet_end(&sheet, screen, SIZE_MAX - 1, below);
	free(edges);
}

static void put_figures(const struct cpa_top *top, struct cpa_top_screen *screen,
			const struct cpa_component_figures *component)
{
	const struct cpa_program_figures *program = &top->now.profile->program;

	cpa_top_put(screen, CPA_TOP_STRONG,
		    cpa_format_text("%s %s", cpa_names_component_kind(component->kind),
				    component->name));
	cpa_top_put(screen, CPA_TOP_PLAIN,
		    xstrdup(component->location ? component->location : "place not known"));
	cpa_top_put(screen, CPA_TOP_PLAIN,
		    cpa_format_text(
			    "saves %s; %s of the critical path, %s of the observed",
			    cpa_format_seconds(component->saved_s).text,
			    cpa_format_percent(component->critical_path_s, program->critical_path_s)
				    .text,
			    cpa_format_percent(component->observed_path_s, program->observed_path_s)
				    .text));
	cpa_top_put(screen, CPA_TOP_PLAIN,
		    cpa_format_text("%s of all threads%s",
				    cpa_format_seconds(component->total_s).text,
				    component->shared ? "; shares its slot with others" : ""));
}

void cpa_top_put_detail(const struct cpa_top *top, struct cpa_top_screen *screen, size_t below)
{
	const struct cpa_component_figures *component = find_component(top);

	if (!component) {
		cpa_top_put(screen, CPA_TOP_PLAIN, xstrdup("This component is no more."));
		return;
	}
	put_figures(top, screen, component);
	put_history(top, screen);
	put_edges(top, screen, component->name, below);
}
