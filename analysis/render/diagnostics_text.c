/* SPDX-License-Identifier: MIT */
/* analysis/render/diagnostics_text.c - the section on the profiler and on other programs */
#include <libiberty/libiberty.h>
#include <stdlib.h>

#include "analysis/render/sections.h"
#include "analysis/util/format.h"

static void put_line(const struct cpa_page *page, char *text)
{
	cpa_page_paragraph(page, CPA_PLAIN, 2, text);
	free(text);
}

static void put_processors(const struct cpa_page *page, const struct cpa_profile *profile)
{
	const struct cpa_processors_figures *processors = &profile->diagnostics.processors;
	double all_s = processors->all_s;

	if (all_s <= 0)
		return;
	put_line(page,
		 cpa_format_text(
			 "processors: other programs used %s of their time (%s), a hypervisor "
			 "gave %s to others",
			 cpa_format_percent(processors->others_s, all_s).text,
			 cpa_format_seconds(processors->others_s).text,
			 cpa_format_percent(processors->stolen_s, all_s).text));
}

void cpa_text_diagnostics(const struct cpa_page *page, const struct cpa_profile *profile)
{
	const struct cpa_diagnostics_figures *diagnostics = &profile->diagnostics;
	uint64_t sleeps = diagnostics->idle_sleeps;

	cpa_page_heading(page, "The profiler itself");
	put_line(page,
		 cpa_format_text("profiler: %s in probes, %s in sampling interrupts; clock %s; %s "
				 "samples, %s lost",
				 cpa_format_seconds(diagnostics->probe_s).text,
				 cpa_format_seconds(diagnostics->samples_s).text,
				 diagnostics->clock, cpa_format_count(diagnostics->samples).text,
				 cpa_format_count(diagnostics->samples_lost).text));
	put_processors(page, profile);
	if (sleeps)
		put_line(page,
			 cpa_format_text("idle: %s sleep%s of threads that do little but sleep",
					 cpa_format_count(sleeps).text, sleeps == 1 ? "" : "s"));
}
