/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/verdict_text.c - the verdict, and reasons to doubt the figures, as text and JSON
 */
#include "analysis/render/verdict_text.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/json_put.h"
#include "analysis/util/format.h"

#define INDENT 2

/* The command that looks closer. The caller frees it. */
static char *command(const struct cpa_profile *profile, const struct cpa_verdict *verdict)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789./_-+,:@%=";
	const char *file = profile->file ? profile->file : "DUMP";
	bool quoted = file[strspn(file, plain)] && !strchr(file, '\'');

	return cpa_format_text("cpa-report %s %s%s%s", verdict->options, quoted ? "'" : "", file,
			       quoted ? "'" : "");
}

void cpa_text_verdict(const struct cpa_page *page, const struct cpa_profile *profile,
		      const struct cpa_verdict *verdict)
{
	char *closer = command(profile, verdict);
	char *text = cpa_format_text("Look closer: %s", closer);

	if (verdict->doubt)
		cpa_page_paragraph(page, CPA_ALARM, INDENT, verdict->doubt);
	cpa_page_paragraph(page, CPA_STRONG, INDENT, verdict->sentence);
	cpa_page_paragraph(page, CPA_PLAIN, INDENT, verdict->action);
	if (verdict->beside)
		cpa_page_paragraph(page, CPA_PLAIN, INDENT, verdict->beside);
	cpa_page_paragraph(page, CPA_PLAIN, INDENT, text);
	free(text);
	free(closer);
}

void cpa_text_doubts(const struct cpa_page *page, const struct cpa_profile *profile,
		     const struct cpa_guidance *guidance)
{
	const struct cpa_diagnostics_figures *diagnostics = &profile->diagnostics;
	char *text;

	if (guidance->warnings + diagnostics->notes == 0)
		return;
	cpa_page_heading(page, "How far to trust these figures");
	for (size_t i = 0; i < guidance->warnings; i++) {
		text = cpa_format_text("Warning: %s", guidance->warning[i]);
		cpa_page_paragraph(page, CPA_ALARM, INDENT, text);
		free(text);
	}
	for (size_t i = 0; i < diagnostics->notes; i++) {
		text = cpa_format_text("- %s", diagnostics->note[i]);
		cpa_page_paragraph(page, CPA_PLAIN, INDENT, text);
		free(text);
	}
}

json_t *cpa_json_verdict(const struct cpa_profile *profile, const struct cpa_verdict *verdict)
{
	json_t *object = json_object();
	char *closer = command(profile, verdict);

	put_text(object, "kind", verdict->kind);
	if (verdict->doubt)
		put_text(object, "doubt", verdict->doubt);
	put_text(object, "sentence", verdict->sentence);
	put_text(object, "action", verdict->action);
	if (verdict->beside)
		put_text(object, "beside", verdict->beside);
	put_text(object, "command", closer);
	put_real(object, "critical_path_s", verdict->path_s);
	put_real(object, "least_s", verdict->least_s);
	put_real(object, "after_s", verdict->after_s);
	put_real(object, "others_s", verdict->others_s);
	free(closer);
	return object;
}
