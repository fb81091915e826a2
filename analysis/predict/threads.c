/* SPDX-License-Identifier: MIT */
/*
 * analysis/predict/threads.c - the critical path with other numbers of threads in the parallel
 * regions
 */
#include "analysis/predict/threads.h"

#include <jansson.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/exact/chunks.h"
#include "analysis/exact/exact.h"
#include "analysis/exact/pieces.h"
#include "analysis/derived/teams.h"
#include "analysis/symbols/names.h"
#include "analysis/util/format.h"

static const char *const limits[] = {
	"Each thread has a processor. Tasks, and chunks of loops that the journal has (schedule dynamic, guided, or "
	"runtime), go to the next free thread. Other loops are divided among the threads as unevenly as they were, "
	"and work that one thread had alone stays so.",
	"Not in it: waits for locks and ordered sections, the time of the runtime, caches and memory.",
};

static const char off[] =
	"The model's path is more than 5 % off the recorded one, because this program depends on things "
	"that the model leaves out. Do not rely on the figures below.";

#define SHORT_S 0.001 /* of work in a region: for less, the time to start its threads may matter */
#define OFF	0.05  /* of the recorded path: a model that is so far off is told apart */

struct region {
	const char *name;
	uint64_t rounds, tasks;
	uint32_t threads;  /* most of an instance */
	double work, span; /* ticks; span: with any number of threads */
};

struct answer {
	const struct cpa_profile *profile;
	const struct cpa_team_sizes *sizes;
	struct cpa_journal_file file;
	struct cpa_stints *stints;
	struct cpa_pieces *pieces;
	struct cpa_chunks *chunks;
	size_t chunk; /* the first of the next round */
	struct cpa_names names;
	struct cpa_stint_finder finder;
	size_t regions;
	struct region *region;
	uint64_t recorded, serial; /* ticks: the critical path, and that outside all regions */
	double model;		   /* of the recorded path */
	double path[CPA_TEAMS_MAX];
};

const char *cpa_team_sizes_parse(struct cpa_team_sizes *sizes, const char *text)
{
	static const char expected[] = "at most 8 numbers from 1 to 4096 expected, as in 1,2,4";

	do {
		char *end;
		unsigned long size = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || size < 1 || size > CPA_TEAM_MAX ||
		    (*end && *end != ',') || sizes->count == CPA_TEAMS_MAX)
			return expected;
		sizes->size[sizes->count++] = (uint32_t)size;
		text = end;
	} while (*text++ == ',');
	return NULL;
}

static struct region *region_of(struct answer *a, uint32_t component)
{
	const struct cpa_place *place = cpa_names_component(&a->names, component);
	const char *name = place->name ? place->name : "a region";

	for (size_t i = 0; i < a->regions; i++)
		if (strcmp(a->region[i].name, name) == 0)
			return &a->region[i];
	a->region = XRESIZEVEC(struct region, a->region, a->regions + 1);
	a->region[a->regions] = (struct region){ .name = name };
	return &a->region[a->regions++];
}

/* What the @count chunks of @round, and what is around them, take with @threads threads; ticks. */
static double dealt(const struct cpa_round *round, const struct cpa_chunk *chunk, size_t count,
		    uint32_t threads)
{
	double rest = (double)round->work;

	for (size_t i = 0; i < count; i++)
		rest -= (double)chunk[i].work;
	return cpa_chunks_ticks(chunk, count, rest, threads);
}

static void add_round(struct answer *a, const struct cpa_round *round)
{
	struct region *region = region_of(a, round->stint->region);
	const struct cpa_chunk *chunk = &a->chunks->chunk[a->chunk];
	size_t count = cpa_chunks_of(a->chunks, a->stints, a->chunk, round->stint);
	bool known = count && !round->tasks &&
		     !(count == round->threads && cpa_chunks_are_shares(chunk, count));

	a->chunk += count;
	region->rounds++;
	region->tasks += round->tasks;
	region->work += (double)round->work;
	region->span += cpa_round_ticks(a->pieces, round, 0);
	if (round->threads > region->threads)
		region->threads = round->threads;
	a->model += cpa_round_ticks(a->pieces, round, round->threads);
	for (size_t i = 0; i < a->sizes->count; i++)
		a->path[i] += known ? dealt(round, chunk, count, a->sizes->size[i]) :
				      cpa_round_ticks(a->pieces, round, a->sizes->size[i]);
}

static void weigh(void *argument, size_t strand, uint32_t number, uint64_t weight, uint64_t *lanes)
{
	struct answer *a = argument;

	lanes[1] = cpa_stints_of(&a->finder, strand, number)->open ? 0 : weight;
}

/* Find the recorded path, and its part outside regions. Return false if events are missing. */
static bool find_paths(struct answer *a)
{
	struct cpa_exact *x = cpa_exact_new(&a->file);
	bool whole;

	cpa_stint_finder_init(&a->finder, a->stints, a->file.strands);
	x->lanes = 2;
	x->weigh = weigh;
	x->weigh_argument = a;
	cpa_exact_run(x);
	a->recorded = x->result[0];
	a->serial = x->result[1];
	whole = !a->file.overwritten && !a->file.refused && !x->broken && !x->missing;
	for (size_t i = 0; i < a->file.strands; i++)
		whole &= a->file.strand[i].dropped == 0;
	cpa_stint_finder_fini(&a->finder);
	cpa_exact_free(x);
	return whole;
}

static int compare_begins(const void *a, const void *b)
{
	const struct cpa_team_span *x = a, *y = b;

	return x->from < y->from ? -1 : x->from > y->from;
}

/* Whether two teams worked at a time: then their times do not add up. */
static bool overlaps(const struct cpa_stints *stints)
{
	struct cpa_team_span *team = XNEWVEC(struct cpa_team_span, stints->teams + 1);
	bool found = false;

	if (stints->teams)
		memcpy(team, stints->team, stints->teams * sizeof(*team));
	qsort(team, stints->teams, sizeof(*team), compare_begins);
	for (size_t i = 1; i < stints->teams; i++)
		found |= team[i].from < team[i - 1].to;
	free(team);
	return found;
}

/* Why the model says nothing of the run; NULL: it does. */
static const char *trouble(const struct answer *a, bool whole)
{
	if (!a->pieces->rounds)
		return "the run has no parallel regions of OpenMP";
	if (!whole)
		return "events of the run are missing in its journal (cpa run --journal=SIZE, larger)";
	if (a->pieces->nested || overlaps(a->stints))
		return "regions in each other, or of several threads at a time, are not predicted";
	if (a->pieces->odd)
		return "tasks with events (detach), or untied ones that were interrupted, are not "
		       "predicted";
	if (a->pieces->unknown)
		return "a region of one thread ran its tasks at once, so what they depend on is not "
		       "known (record it with two threads)";
	return NULL;
}

/* Fill @a. Return NULL, or why that is not possible. */
static const char *read_answer(struct answer *a)
{
	const char *why;

	a->stints = cpa_stints_read(&a->file);
	a->pieces = cpa_pieces_read(&a->file, a->stints);
	a->chunks = cpa_chunks_read(&a->file, a->stints);
	why = trouble(a, find_paths(a));
	for (size_t i = 0; !why && i < a->pieces->rounds; i++)
		add_round(a, &a->pieces->round[i]);
	a->model += (double)a->serial;
	for (size_t i = 0; i < a->sizes->count; i++)
		a->path[i] += (double)a->serial;
	return why;
}

static double seconds(const struct answer *a, double ticks)
{
	return ticks * a->profile->tick_s;
}

/* The number of threads beyond which tasks gain nothing; 0: not limited by tasks. */
static double enough(const struct region *region)
{
	return region->tasks && region->span > 0 ? ceil(region->work / region->span) : 0;
}

/* The relative error of the model for the recorded numbers of threads. */
static double error_of(const struct answer *a)
{
	return a->recorded ? a->model / (double)a->recorded - 1 : 0;
}

static bool is_off(const struct answer *a)
{
	return fabs(error_of(a)) > OFF;
}

/*
 * What starting more threads takes is not known from a run with one. Return what to say of that, which the caller
 * frees; NULL: the regions are long, or had several threads.
 */
static char *starts_text(const struct answer *a)
{
	double work = 0, teams = (double)a->stints->teams;
	uint32_t threads = 0;

	for (size_t i = 0; i < a->regions; i++) {
		work += a->region[i].work;
		threads = a->region[i].threads > threads ? a->region[i].threads : threads;
	}
	if (threads != 1 || seconds(a, work) >= teams * SHORT_S)
		return NULL;
	return cpa_format_text(
		"Each of the %s regions had one thread, and %s of work on average. To start more "
		"threads takes some us for each region, which is not in it: %s for each us.",
		cpa_format_count(a->stints->teams).text,
		cpa_format_seconds(seconds(a, work) / teams).text,
		cpa_format_seconds(teams / 1e6).text);
}

static void put_sizes(const struct answer *a, const struct cpa_page *page)
{
	struct cpa_table_text table = { 0 };
	double recorded_s = seconds(a, (double)a->recorded);

	cpa_table_column(&table, "threads", false);
	cpa_table_column(&table, "critical path", false);
	cpa_table_column(&table, "times as fast", false);
	for (size_t i = 0; i < a->sizes->count; i++) {
		double path_s = seconds(a, a->path[i]);
		char *size = cpa_format_text("%u", a->sizes->size[i]);

		cpa_table_row(
			&table,
			(const char *const[]){
				size, cpa_format_seconds(path_s).text,
				cpa_format_ratio(path_s > 0 ? recorded_s / path_s : 0).text });
		free(size);
	}
	cpa_table_end(&table, page);
}

static void put_regions(const struct answer *a, const struct cpa_page *page, size_t top)
{
	struct cpa_table_text table = { 0 };

	cpa_page_heading(page, "Parallel regions");
	cpa_table_column(&table, "work", false);
	cpa_table_column(&table, "chain", false);
	cpa_table_column(&table, "n", false);
	cpa_table_column(&table, "tasks", false);
	cpa_table_column(&table, "enough", false);
	cpa_table_column(&table, "region", true);
	for (size_t i = 0; i < a->regions && i < top; i++) {
		const struct region *region = &a->region[i];
		char *most = enough(region) > 0 ? cpa_format_text("%.0f", enough(region)) :
						  xstrdup("-");

		cpa_table_row(&table,
			      (const char *const[]){
				      cpa_format_seconds(seconds(a, region->work)).text,
				      cpa_format_seconds(seconds(a, region->span)).text,
				      cpa_format_count(region->threads).text,
				      cpa_format_count(region->tasks).text, most, region->name });
		free(most);
	}
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, a->regions, top,
		"chain: the longest chain of dependent work, which more threads do not shorten. n: threads in the run. enough: "
		"threads beyond which its tasks gain nothing, work / chain.");
}

static void put_text(const struct answer *a, const struct cpa_page *page, size_t top)
{
	char *starts = starts_text(a);
	char *text = cpa_format_text(
		"%s: critical path %s, of it %s outside parallel regions; the model gives %s for the "
		"recorded threads (%+.1f%%)",
		a->profile->program.name, cpa_format_seconds(seconds(a, (double)a->recorded)).text,
		cpa_format_seconds(seconds(a, (double)a->serial)).text,
		cpa_format_seconds(seconds(a, a->model)).text, 100 * error_of(a));

	cpa_page_paragraph(page, CPA_STRONG, 2, text);
	free(text);
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		cpa_page_paragraph(page, CPA_PLAIN, 0, limits[i]);
	if (starts)
		cpa_page_paragraph(page, CPA_PLAIN, 0, starts);
	free(starts);
	if (is_off(a))
		cpa_page_paragraph(page, CPA_ALARM, 0, off);
	fputc('\n', page->out);
	put_sizes(a, page);
	put_regions(a, page, top);
}

static json_t *region_json(const struct answer *a, const struct region *region)
{
	double most = enough(region);

	return json_pack("{s:s, s:f, s:f, s:i, s:I, s:o}", "name", region->name, "work_s",
			 seconds(a, region->work), "chain_s", seconds(a, region->span), "threads",
			 (int)region->threads, "tasks", (json_int_t)region->tasks, "enough_threads",
			 most > 0 ? json_integer((json_int_t)most) : json_null());
}

static void put_json(const struct answer *a, const struct cpa_page *page)
{
	json_t *rows = json_array(), *regions = json_array(), *notes = json_array(), *object;
	char *starts = starts_text(a);

	for (size_t i = 0; i < a->sizes->count; i++)
		json_array_append_new(rows,
				      json_pack("{s:i, s:f}", "threads", (int)a->sizes->size[i],
						"critical_path_s", seconds(a, a->path[i])));
	for (size_t i = 0; i < a->regions; i++)
		json_array_append_new(regions, region_json(a, &a->region[i]));
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		json_array_append_new(notes, json_string(limits[i]));
	if (starts)
		json_array_append_new(notes, json_string(starts));
	free(starts);
	if (is_off(a))
		json_array_append_new(notes, json_string(off));
	object = json_pack("{s:f, s:f, s:f, s:o, s:o, s:o}", "critical_path_s",
			   seconds(a, (double)a->recorded), "outside_s",
			   seconds(a, (double)a->serial), "model_s", seconds(a, a->model),
			   "predictions", rows, "regions", regions, "notes", notes);
	json_dumpf(object, page->out, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
	fputc('\n', page->out);
	json_decref(object);
}

static int compare_regions(const void *a, const void *b)
{
	const struct region *x = a, *y = b;

	if (x->work != y->work)
		return x->work > y->work ? -1 : 1;
	return strcmp(x->name, y->name);
}

int cpa_threads_answer(struct cpa_dump *dump, const struct cpa_profile *profile,
		       const struct cpa_team_sizes *sizes, const struct cpa_page *page, size_t top,
		       bool json, char **error)
{
	struct answer a = { .profile = profile, .sizes = sizes };
	const char *why;

	*error = NULL;
	if (!cpa_journal_open(&a.file, dump, error)) {
		if (!*error)
			*error = xstrdup("--threads: the dump has no journal (cpa run --journal)");
		return -1;
	}
	cpa_names_init(&a.names, dump);
	why = read_answer(&a);
	if (why) {
		*error = cpa_format_text("--threads: %s", why);
	} else {
		qsort(a.region, a.regions, sizeof(*a.region), compare_regions);
		if (json)
			put_json(&a, page);
		else
			put_text(&a, page, top);
	}
	free(a.region);
	cpa_names_fini(&a.names);
	cpa_chunks_free(a.chunks);
	cpa_pieces_free(a.pieces);
	cpa_stints_free(a.stints);
	cpa_journal_close(&a.file);
	return why ? -1 : 0;
}
