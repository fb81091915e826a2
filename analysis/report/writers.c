/* SPDX-License-Identifier: MIT */
#include "analysis/report/writers.h"

#include <libiberty/libiberty.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/render/callers_text.h"
#include "analysis/render/csv.h"
#include "analysis/export/folded.h"
#include "analysis/page/html.h"
#include "analysis/render/json.h"
#include "analysis/render/metrics_text.h"
#include "analysis/export/perfetto.h"
#include "analysis/render/phases_text.h"
#include "analysis/export/pprof.h"
#include "analysis/export/prometheus.h"
#include "analysis/export/speedscope.h"
#include "analysis/export/sqlite.h"

static int no_stacks(void)
{
	fputs("cpa-report: no stacks were taken in this run (run it again without CPA_STACKS=0)\n",
	      stderr);
	return 1;
}

static uint32_t callers_of(const struct cpa_selection *show)
{
	return show->callers ? show->callers : CPA_CALLERS_ALL;
}

/* Write metrics, a histogram or phases if requested; they replace the usual sections. */
static int write_text(struct cpa_dump *dump, const struct cpa_profile *profile,
		      const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump;
	if (show->level == CPA_LEVEL_CONTEXT) {
		if (!profile->contexts)
			return no_stacks();
		cpa_text_contexts(page, profile, callers_of(show), show->top);
		return 0;
	}
	if (!show->metrics && !show->phases && !profile->histogram) {
		cpa_text_write(profile, page, show->level, show->top);
		return 0;
	}
	cpa_text_program(page, profile);
	if (profile->histogram)
		cpa_text_histogram(page, profile->histogram, show->top);
	else if (show->metrics)
		cpa_text_metrics(page, profile->metrics, show->metric_level, show->top);
	if (show->phases)
		cpa_text_phases(page, profile, profile->phases, show->top);
	return 0;
}

static int write_json(struct cpa_dump *dump, const struct cpa_profile *profile,
		      const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump, (void)show, (void)page;
	return cpa_json_write(profile, stdout);
}

static int write_csv(struct cpa_dump *dump, const struct cpa_profile *profile,
		     const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump, (void)page;
	if (profile->histogram)
		cpa_csv_histogram(profile->histogram, stdout);
	else if (show->metrics)
		cpa_csv_metrics(profile->metrics, show->metric_level, stdout);
	else if (show->phases)
		cpa_csv_phases(profile->phases, stdout);
	else if (show->level == CPA_LEVEL_CONTEXT && !profile->contexts)
		return no_stacks();
	else if (show->level == CPA_LEVEL_CONTEXT)
		cpa_csv_contexts(profile, callers_of(show), stdout);
	else
		cpa_csv_write(profile, show->level, stdout);
	return 0;
}

static int write_html(struct cpa_dump *dump, const struct cpa_profile *profile,
		      const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)page;
	return cpa_html_write(dump, profile, show->core, show->cores, stdout);
}

static int write_pprof(struct cpa_dump *dump, const struct cpa_profile *profile,
		       const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump, (void)show;
	return cpa_pprof_write(profile, page->out);
}

static int write_folded(struct cpa_dump *dump, const struct cpa_profile *profile,
			const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump;
	return cpa_folded_write(profile, show->weight, page->out);
}

static int write_prometheus(struct cpa_dump *dump, const struct cpa_profile *profile,
			    const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump;
	return cpa_prometheus_write(profile, show->top, page->out);
}

static int write_sqlite(struct cpa_dump *dump, const struct cpa_profile *profile,
			const struct cpa_selection *show, const struct cpa_page *page)
{
	(void)dump, (void)show;
	return cpa_sqlite_write(profile, page->out);
}

/* @ret of a writer that may find that there is no journal; *@error then says so, and is freed. */
static int journal_result(int ret, char *error)
{
	if (ret > 0) {
		fprintf(stderr, "cpa-report: %s\n", error);
		free(error);
	}
	return ret;
}

static int write_speedscope(struct cpa_dump *dump, const struct cpa_profile *profile,
			    const struct cpa_selection *show, const struct cpa_page *page)
{
	char *error = NULL;
	int ret = cpa_speedscope_write(dump, profile, page->out, &error);

	(void)show;
	return journal_result(ret, error);
}

static int write_perfetto(struct cpa_dump *dump, const struct cpa_profile *profile,
			  const struct cpa_selection *show, const struct cpa_page *page)
{
	char *error = NULL;
	int ret = cpa_perfetto_write(dump, profile, page->out, &error);

	(void)show;
	return journal_result(ret, error);
}

static const struct cpa_writer writers[] = {
	{ .name = "text", .write = write_text },
	{ .name = "json", .has_sites = true, .is_json = true, .write = write_json },
	{ .name = "csv", .has_sites = true, .write = write_csv },
	{ .name = "html", .has_sites = true, .is_page = true, .write = write_html },
	{ .name = "pprof", .has_lines = true, .is_binary = true, .write = write_pprof },
	{ .name = "folded", .has_stacks = true, .write = write_folded },
	{ .name = "speedscope", .has_stacks = true, .write = write_speedscope },
	{ .name = "perfetto", .is_binary = true, .write = write_perfetto },
	{ .name = "prometheus", .write = write_prometheus },
	{ .name = "sqlite", .has_sites = true, .is_binary = true, .write = write_sqlite },
};

const struct cpa_writer *const cpa_writer_text = &writers[0];

enum cpa_graph cpa_writer_graph(const struct cpa_writer *writer, const struct cpa_selection *show,
				bool stacks)
{
	if (writer->has_sites || show->level == CPA_LEVEL_PAG || show->metrics)
		return CPA_GRAPH_ALL;
	if (writer->has_lines)
		return CPA_GRAPH_LINES;
	return stacks || writer->has_stacks || show->level == CPA_LEVEL_CONTEXT ? CPA_GRAPH_STACKS :
										  CPA_GRAPH_EDGES;
}

const struct cpa_writer *cpa_writer_find(const char *name)
{
	for (unsigned i = 0; i < ARRAY_SIZE(writers); i++)
		if (strcmp(name, writers[i].name) == 0)
			return &writers[i];
	return NULL;
}
