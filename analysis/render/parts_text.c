/* SPDX-License-Identifier: MIT */
#include "analysis/render/parts_text.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analysis/verdict/rivals.h"
#include "analysis/profile/parts.h"

#define PARTS_SHOWN 4

/* What a +- means, or why there is none. */
static void put_sample(const struct cpa_page *page, const struct cpa_program_figures *program)
{
	char *text = cpa_sample_sentence(program);

	if (text)
		cpa_page_paragraph(page, CPA_PLAIN, 2, text);
	free(text);
}

/* "2 parts of the run: 1.00 s to 2.00 s, 5.00 s to 9.00 s; 5.00 s of 10.0 s" */
void cpa_text_parts(const struct cpa_page *page, const struct cpa_profile *profile)
{
	uint64_t earlier = profile->program.earlier_parts;
	size_t listed = profile->parts < PARTS_SHOWN ? profile->parts : PARTS_SHOWN;
	size_t all = earlier + profile->parts;
	char *text, *longer;

	if (!profile->parts)
		return;
	text = cpa_format_text("%zu part%s of the run:%s", all, all == 1 ? "" : "s",
			       all > listed ? " ..." : "");
	for (size_t i = profile->parts - listed; i < profile->parts; i++) {
		longer = cpa_format_text("%s%s %s to %s", text, i || earlier ? "," : "",
					 cpa_format_seconds(profile->part[i].from_s).text,
					 cpa_format_seconds(profile->part[i].to_s).text);
		free(text);
		text = longer;
	}
	longer = cpa_format_text("%s; %s of %s", text,
				 cpa_format_seconds(profile->program.wall_s).text,
				 cpa_format_seconds(profile->program.run_s).text);
	cpa_page_paragraph(page, CPA_PLAIN, 2, longer);
	free(longer);
	free(text);
	put_sample(page, &profile->program);
}

struct cpa_figure cpa_text_margin(double margin, struct cpa_figure (*format)(double))
{
	struct cpa_figure figure = { "" };

	if (!isnan(margin))
		snprintf(figure.text, sizeof(figure.text), "%.20s", format(margin).text);
	return figure;
}

struct cpa_figure cpa_text_margin_percent(double margin, double whole)
{
	struct cpa_figure figure = { "" };

	if (!isnan(margin) && whole > 0)
		snprintf(figure.text, sizeof(figure.text), "%.1f%%", 100 * margin / whole);
	return figure;
}

void cpa_text_rivals(const struct cpa_page *page, const struct cpa_profile *profile)
{
	char *text = cpa_rivals_sentence(profile);

	if (text)
		cpa_page_paragraph(page, CPA_PLAIN, 0, text);
	free(text);
}
