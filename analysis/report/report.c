/* SPDX-License-Identifier: MIT */
/* analysis/report/report.c - cpa-report */
#include <errno.h>
#include <libiberty/libiberty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analysis/exact/context.h"
#include "analysis/exact/teams.h"
#include "analysis/input/load.h"
#include "analysis/input/find_dump.h"
#include "analysis/util/browse.h"
#include "analysis/predict/predict.h"
#include "analysis/render/annotate_text.h"
#include "analysis/render/callers_text.h"
#include "analysis/report/options.h"
#include "analysis/report/pager.h"
#include "analysis/report/span.h"
#include "analysis/input/process.h"
#include "analysis/util/progress.h"
#include "analysis/exact/verify.h"
#include "analysis/exact/weigh.h"

/* Say why, free it, and return the exit status. */
static int bad_dump(char *error)
{
	fprintf(stderr, "cpa-report: %s\n", error);
	free(error);
	return CPA_EXIT_BAD_DUMP;
}

/* Read only what the sections need: looking up the names of sites takes time. */
static enum cpa_graph graph_for(const struct cpa_report_options *options)
{
	if (options->histogram != CPA_METRICS)
		return CPA_GRAPH_ALL;
	if (options->lines || options->annotate)
		return CPA_GRAPH_LINES;
	return cpa_writer_graph(options->writer, &options->show, options->callers || options->tree);
}

/* A range behind the end of the run has no figures. */
static void check_ranges(const struct cpa_profile *profile,
			 const struct cpa_report_options *options)
{
	for (size_t i = 0; i < options->ranges; i++)
		if (options->range[i].from_s >= profile->program.wall_s)
			cpa_report_usage("--phase", options->range[i].name,
					 "a beginning before the end of the run expected");
}

static void add_details(struct cpa_dump *dump, struct cpa_profile *profile,
			const struct cpa_report_options *options)
{
	const struct cpa_phase_settings settings = { .step = options->phase_step,
						     .ranges = options->ranges,
						     .range = options->range };

	check_ranges(profile, options);
	profile->teams = cpa_teams_read(dump, profile);
	if (options->show.level == CPA_LEVEL_STREAM ||
	    ((options->writer->is_json || options->writer->is_page) && cpa_predict_is_brief(dump)))
		cpa_predict_streams(dump, profile, options->show.top);
	profile->metrics = cpa_metrics_build(profile);
	profile->phases = cpa_phases_build(profile, &settings);
	if (options->histogram == CPA_METRICS)
		return;
	profile->histogram = cpa_histogram_build(profile, profile->metrics, options->histogram,
						 options->show.metric_level);
	if (!profile->histogram)
		cpa_report_usage("--histogram", cpa_metric_about(options->histogram)->symbol,
				 "not sampled over time at this level of --metrics");
}

static void free_details(struct cpa_profile *profile)
{
	cpa_histogram_free(profile->histogram);
	cpa_phases_free(profile->phases);
	cpa_metrics_free(profile->metrics);
	cpa_teams_free(profile->teams);
}

/* Send standard output to @file. Return 0, or an exit status after a line on stderr. */
static int write_to(const char *file)
{
	if (freopen(file, "we", stdout))
		return 0;
	fprintf(stderr, "cpa-report: --html %s: %s (name a file that can be written)\n", file,
		strerror(errno));
	return CPA_EXIT_BAD_USAGE;
}

/* Write what @options ask for. Return 0, or an exit status after a line on stderr. */
static int write_answer(struct cpa_dump *dump, const struct cpa_profile *profile,
			const struct cpa_report_options *options)
{
	struct cpa_page page = cpa_terminal_page(options->color, options->width);
	char *error = NULL;
	int ret = 0, written;

	if (options->writer == cpa_writer_text && !options->no_pager)
		cpa_pager_start();
	if (!options->writer->is_page && cpa_question_asked(&options->question))
		ret = cpa_question_answer(&options->question, dump, profile, &page,
					  options->writer->is_json);
	else if (options->threads.count)
		ret = cpa_threads_answer(dump, profile, &options->threads, &page, options->show.top,
					 options->writer->is_json, &error);
	else if (options->zero)
		ret = cpa_context_zero(dump, profile, options->zero, &page, options->show.top,
				       options->writer->is_json, &error);
	else if (options->callers)
		cpa_text_callers(&page, profile, options->callers, options->show.top, &error);
	else if (options->annotate)
		cpa_text_annotate(&page, profile, options->annotate, &error);
	else if (options->tree)
		cpa_text_tree(&page, profile, options->show.top, &error);
	else if (options->paths)
		ret = cpa_context_paths(dump, profile, &page, options->show.top,
					options->writer->is_json, &error);
	else
		ret = options->writer->write(dump, profile, &options->show, &page);
	written = cpa_pager_end();
	if (error)
		return bad_dump(error);
	if (ret > 0)
		return ret;
	if (written || ret < 0) {
		fprintf(stderr, "cpa-report: cannot write the report: %s\n", strerror(errno));
		return CPA_EXIT_BAD_DUMP;
	}
	return 0;
}

static int write_report(struct cpa_dump *dump, const struct cpa_profile *profile,
			const struct cpa_report_options *options)
{
	int ret = options->file ? write_to(options->file) : 0;

	return ret ? ret : write_answer(dump, profile, options);
}

/* As write_report(), to a temporary file, and open it. */
static int view_report(struct cpa_dump *dump, const struct cpa_profile *profile,
		       struct cpa_report_options *options)
{
	char *file = cpa_browse_file();
	int ret;

	if (!file) {
		fprintf(stderr,
			"cpa-report: --view: no temporary file: %s (set TMPDIR, or use "
			"--html FILE)\n",
			strerror(errno));
		return CPA_EXIT_BAD_DUMP;
	}
	options->file = file;
	ret = write_report(dump, profile, options);
	if (ret)
		unlink(file);
	else if (cpa_browse(file))
		fprintf(stderr, "cpa-report: page in %s\n", file);
	else
		fprintf(stderr,
			"cpa-report: page in %s: xdg-open not found, open it in a browser\n", file);
	free(file);
	return ret;
}

/* Compare the dump with its journal. Return the exit status. */
static int verify(struct cpa_dump *dump)
{
	char *error = NULL;
	int ret = cpa_verify(dump, stdout, &error);

	if (ret < 0) {
		bad_dump(error);
	} else if (fflush(stdout) || ferror(stdout)) {
		fprintf(stderr, "cpa-report: cannot write: %s\n", strerror(errno));
		ret = -1;
	}
	return ret ? CPA_EXIT_BAD_DUMP : 0;
}

/*
 * JSON and the page have both lengths of the critical path. Return false, with a message, if that
 * failed.
 */
static bool weigh_idle(struct cpa_dump *dump, struct cpa_profile *profile,
		       const struct cpa_report_options *options)
{
	char *error = NULL;

	if (!options->idle_weighs &&
	    ((options->writer != cpa_writer_find("json") && !options->writer->is_page) ||
	     !dump->header.journal))
		return true;
	if (cpa_weigh_idle(dump, profile, options->idle_weighs, &error) < 0 &&
	    options->idle_weighs) {
		bad_dump(error);
		return false;
	}
	free(error);
	return true;
}

int main(int argc, char **argv)
{
	struct cpa_report_options options = cpa_report_parse(argc, argv);
	struct cpa_profile *profile, *before = NULL;
	struct cpa_dump dump;
	uint32_t pid;
	time_t when;
	char *error, *file = cpa_dump_find(options.dump, &pid, &error);
	int ret;

	if (!file || (options.since && cpa_span_since(options.since, file, &before, &error) < 0) ||
	    (options.at && (cpa_span_time(options.at, &when, &error) < 0 ||
			    cpa_span_at(options.at, when, &file, &before, &error) < 0)))
		return bad_dump(error);
	ret = cpa_dump_open(&dump, file, &error);
	free(file);
	if (ret < 0)
		return bad_dump(error);
	if (options.verify) {
		ret = verify(&dump);
		cpa_dump_close(&dump);
		return ret;
	}
	cpa_progress_allow("cpa-report");
	profile = cpa_profile_build(&dump, graph_for(&options));
	profile->program.running = dump.live && cpa_process_writes(dump.header.pid, dump.file);
	if (!weigh_idle(&dump, profile, &options)) {
		cpa_profile_free(profile);
		cpa_dump_close(&dump);
		return CPA_EXIT_BAD_DUMP;
	}
	if (before && cpa_span_apply(profile, before, &error) < 0) {
		cpa_profile_free(profile);
		cpa_dump_close(&dump);
		return bad_dump(error);
	}
	if (!before)
		add_details(&dump, profile, &options);
	if (cpa_dump_whole(&dump)) {
		ret = options.view ? view_report(&dump, profile, &options) :
				     write_report(&dump, profile, &options);
	} else {
		fprintf(stderr,
			"cpa-report: %s: the file became unreadable during reading (try again)\n",
			dump.file);
		ret = CPA_EXIT_BAD_DUMP;
	}
	free_details(profile);
	cpa_profile_free(profile);
	if (before)
		cpa_profile_free(before);
	free(options.range);
	cpa_dump_close(&dump);
	cpa_question_fini(&options.question);
	return ret;
}
