/* SPDX-License-Identifier: MIT */
/* analysis/render/text.c - the report as text */
#include "analysis/render/text.h"

#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "analysis/derived/nameless.h"
#include "analysis/util/format.h"
#include "analysis/derived/find.h"
#include "analysis/symbols/names.h"
#include "analysis/render/callers_text.h"
#include "analysis/render/phases_text.h"
#include "analysis/util/printable.h"
#include "analysis/render/parts_text.h"
#include "analysis/render/processes_text.h"
#include "analysis/render/construct_text.h"
#include "analysis/render/sections.h"
#include "analysis/render/streams_text.h"
#include "analysis/render/teams_text.h"
#include "analysis/render/threads_text.h"
#include "analysis/render/verdict_text.h"
#include "analysis/profile/components.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"

#define LABEL	    15	/* columns of a label in the heading */
#define SHOWN	    6u	/* components with a line in the timeline */
#define MOSTLY_WORK 0.9 /* of CPU time: then work is not shown apart */

const char *cpa_level_name(enum cpa_level level)
{
	static const char *const names[CPA_LEVELS] = {
		[CPA_LEVEL_ALL] = "all",	 [CPA_LEVEL_VERDICT] = "verdict",
		[CPA_LEVEL_PROGRAM] = "program", [CPA_LEVEL_COMPONENT] = "component",
		[CPA_LEVEL_PROCESS] = "process", [CPA_LEVEL_THREAD] = "thread",
		[CPA_LEVEL_OBJECT] = "object",	 [CPA_LEVEL_QUEUE] = "queue",
		[CPA_LEVEL_STREAM] = "stream",	 [CPA_LEVEL_INTERVAL] = "interval",
		[CPA_LEVEL_PAG] = "pag",	 [CPA_LEVEL_REGION] = "region",
		[CPA_LEVEL_CONTEXT] = "context",
	};

	return names[level];
}

/* How the run ended, as far as known. The caller frees it. */
static char *describe_end(const struct cpa_program_figures *program)
{
	const int status = program->status;

	if (program->complete)
		return program->waited && WIFEXITED(status) && WEXITSTATUS(status) ?
			       cpa_format_text("ran to its end, status %d", WEXITSTATUS(status)) :
			       xstrdup("ran to its end");
	if (program->state == CPA_EXECED)
		return xstrdup("replaced by exec");
	if (program->copied)
		return xstrdup("copied while it ran");
	if (program->running)
		return xstrdup("running");
	if (!program->waited)
		return xstrdup("END NOT SEEN");
	if (WIFEXITED(status))
		return cpa_format_text("ended%s, status %d",
				       program->left_by_handler ? "" : " by exit_group",
				       WEXITSTATUS(status));
	return cpa_format_text("DID NOT FINISH: signal %d (%s)", WTERMSIG(status),
			       strsignal(WTERMSIG(status)));
}

/* Whether the program ended normally or still runs. */
static bool ended_well(const struct cpa_program_figures *program)
{
	return program->complete || program->running || program->copied ||
	       (program->waited && WIFEXITED(program->status));
}

/* Say what the figures cover if the program did not report its own end. */
static void put_end(const struct cpa_page *page, const struct cpa_program_figures *program)
{
	const char *why = "";
	char *text, *late = NULL;

	if (program->complete || program->state == CPA_EXECED)
		return;
	if (!program->running && !program->copied && !program->waited)
		why = "It is not known how the program ended: it was killed, it called exit_group "
		      "directly, or it runs where cpa-report cannot see it. Start it with cpa run "
		      "to record this. ";
	else if (!ended_well(program))
		why = "The program was killed. ";
	else if (program->left_by_handler)
		why = "A signal handler jumped out of cpa's own code, or ended the program there: that "
		      "ends the profile of its thread. ";
	if (program->waited && program->end_s > program->wall_s)
		late = cpa_format_text(", %s before its end",
				       cpa_format_seconds(program->end_s - program->run_s).text);
	text = cpa_format_text("%sThe figures cover the run up to its last recorded event%s.", why,
			       late ? late : "");
	cpa_page_paragraph(page, ended_well(program) ? CPA_PLAIN : CPA_ALARM, 0, text);
	free(late);
	free(text);
}

void cpa_text_program(const struct cpa_page *page, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	char *work = xstrdup(""), *end = describe_end(program);
	char *text;

	/* Without this line parallelism, which counts work only, would look wrong. */
	if (program->work_s < MOSTLY_WORK * program->cpu_s) {
		free(work);
		work = cpa_format_text(" (%s work)", cpa_format_seconds(program->work_s).text);
	}
	text = cpa_format_text("%s: %s wall, %s CPU%s, %zu thread%s, %u core%s, %s", program->name,
			       cpa_format_seconds(program->wall_s).text,
			       cpa_format_seconds(program->cpu_s).text, work, program->threads,
			       program->threads == 1 ? "" : "s", program->cores,
			       program->cores == 1 ? "" : "s", end);
	free(end);
	free(work);
	cpa_page_paragraph(page, ended_well(program) ? CPA_STRONG : CPA_ALARM, 2, text);
	free(text);
	cpa_text_parts(page, profile);
	put_end(page, program);
}

#define WORTH 0.0005 /* of the observed path: idle time and waits below it are not named */

/* Between a figure and its margin. */
static const char *sign_of(double margin)
{
	return isnan(margin) ? "" : " +- ";
}

/* What the observed path consists of, in percent of it. */
static void put_segments(const struct cpa_page *page, const struct cpa_program_figures *program)
{
	const double *time = program->segment_s, *blocked = program->segment_blocked_s;
	const struct {
		const char *word;
		double seconds;
		bool always;
	} segments[] = {
		{ "process", time[CPA_TIME_PROCESS], true },
		{ "service", blocked[CPA_EXT_SERVICE], true },
		{ "idle", blocked[CPA_EXT_IDLE], false },
		{ "wait not known for whom", blocked[CPA_EXT_WAIT], false },
		{ "run queue", time[CPA_TIME_RUNQUEUE], true },
		{ "hand-off", time[CPA_TIME_HANDOFF], true },
		{ "probe", time[CPA_TIME_PROBE], true },
	};
	char *text = xstrdup("  ");

	for (size_t i = 0; i < ARRAY_SIZE(segments); i++) {
		char *longer;

		if (!segments[i].always && segments[i].seconds <= WORTH * program->observed_path_s)
			continue;
		longer = cpa_format_text(
			"%s%s%s %s", text, i ? ", " : "", segments[i].word,
			cpa_format_percent(segments[i].seconds, program->observed_path_s).text);
		free(text);
		text = longer;
	}
	cpa_page_paragraph(page, CPA_PLAIN, LABEL, text);
	free(text);
}

static void put_parallelism(const struct cpa_page *page, const struct cpa_program_figures *program)
{
	char *text = cpa_format_text(
		"%-*s%8s%s%s  %s%s%s with unlimited processors; utilization %s%s%s", LABEL,
		"parallelism", cpa_format_ratio(program->parallelism).text,
		sign_of(program->parallelism_margin),
		cpa_text_margin(program->parallelism_margin, cpa_format_ratio).text,
		cpa_format_ratio(program->max_parallelism).text,
		sign_of(program->max_parallelism_margin),
		cpa_text_margin(program->max_parallelism_margin, cpa_format_ratio).text,
		cpa_format_percent(program->utilization, 1).text,
		sign_of(program->utilization_margin),
		cpa_text_margin_percent(program->utilization_margin, 1).text);

	cpa_page_paragraph(page, CPA_PLAIN, LABEL, text);
	free(text);
}

static void put_paths(const struct cpa_page *page, const struct cpa_program_figures *program)
{
	char *text = cpa_format_text(
		"%-*s%8s%s%s  the longest chain of work: more processors cannot shorten it", LABEL,
		"critical path", cpa_format_seconds(program->critical_path_s).text,
		sign_of(program->critical_path_margin_s),
		cpa_text_margin(program->critical_path_margin_s, cpa_format_seconds).text);

	cpa_page_paragraph(page, CPA_PLAIN, LABEL, text);
	free(text);
	text = cpa_format_text("%-*s%8s  what the run waited for, from its start to its end", LABEL,
			       "observed path", cpa_format_seconds(program->observed_path_s).text);
	cpa_page_paragraph(page, CPA_PLAIN, LABEL, text);
	free(text);
	put_segments(page, program);
	put_parallelism(page, program);
}

static bool is_shown(const struct cpa_component_figures *component)
{
	if (component->kind == CPA_EXTERNAL && component->class != CPA_EXT_SERVICE)
		return false; /* it has a table of its own: cpa_text_idle() */
	return component->saved_s > 0 || component->critical_path_s > 0 ||
	       component->observed_path_s > 0 || component->total_s > 0;
}

static void put_component(struct cpa_table_text *table, const struct cpa_profile *profile,
			  const struct cpa_component_figures *component)
{
	const struct cpa_program_figures *program = &profile->program;
	struct cpa_figure saves = cpa_format_seconds(component->saved_s);
	struct cpa_figure critical =
		cpa_format_percent(component->critical_path_s, program->critical_path_s);
	struct cpa_figure observed =
		cpa_format_percent(component->observed_path_s, program->observed_path_s);
	struct cpa_figure cpu = cpa_format_percent(component->total_s, program->cpu_s);
	struct cpa_figure saves_margin =
		cpa_text_margin(component->saved_margin_s, cpa_format_seconds);
	struct cpa_figure margin = cpa_text_margin_percent(component->critical_path_margin_s,
							   program->critical_path_s);
	struct cpa_figure run = cpa_text_margin_percent(component->run_share, 1);
	struct cpa_columns columns = cpa_columns_of(component);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = saves.text;
	if (program->batches)
		cells[count++] = saves_margin.text;
	cells[count++] = critical.text;
	if (program->batches)
		cells[count++] = margin.text;
	if (profile->uneven.count)
		cells[count++] = run.text;
	cells[count++] = observed.text;
	cells[count++] = component->kind == CPA_EXTERNAL ? "-" : cpu.text;
	cells[count++] = cpa_names_component_kind(component->kind);
	cells[count++] = columns.name;
	cells[count++] = columns.where;
	cpa_table_row(table, cells);
	cpa_columns_fini(&columns);
}

static void put_nameless(const struct cpa_page *page, const struct cpa_profile *profile)
{
	struct cpa_nameless nameless;
	char *text;

	cpa_nameless_init(&nameless, profile);
	text = cpa_nameless_sentence(&nameless, profile);
	if (text)
		cpa_page_paragraph(page, CPA_PLAIN, 0, text);
	free(text);
	cpa_nameless_fini(&nameless);
}

static void put_components(const struct cpa_page *page, const struct cpa_profile *profile,
			   size_t top)
{
	struct cpa_table_text table = { 0 };
	size_t shown = 0;

	cpa_page_heading(page, "What the run would gain if one component cost nothing");
	cpa_table_column(&table, "saves", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "path", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	if (profile->uneven.count)
		cpa_table_column(&table, "run", false);
	cpa_table_column(&table, "wall", false);
	cpa_table_column(&table, "CPU", false);
	cpa_table_column(&table, "kind", true);
	cpa_table_column(&table, "component", true);
	if (profile->program.by_callers)
		cpa_table_chains(&table);
	cpa_table_remark(&table, "where");
	for (unsigned last = 0; last < 2; last++) {
		for (size_t i = 0; i < profile->components; i++) {
			const struct cpa_component_figures *component = &profile->component[i];

			if (is_shown(component) && cpa_comes_last(profile, component) == last &&
			    shown++ < top)
				put_component(&table, profile, component);
		}
	}
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, shown, top,
		"saves: what the run would gain. path, wall: shares of the critical and of the "
		"observed path. Savings of overlapping components (a lock and the code that runs "
		"under it, a thread and its functions) do not add up.");
	if (profile->uneven.count)
		cpa_page_paragraph(
			page, CPA_FAINT, 0,
			"run: path, with each window weighted by the time that it stands for.");
	if (profile->program.by_callers)
		cpa_page_paragraph(
			page, CPA_FAINT, 0,
			"f <- g: function f where g called it (cpa run --by). What all of f "
			"would save is not known; of a run with a journal --zero "
			"function:f tells it.");
	cpa_text_rivals(page, profile);
	cpa_text_called_by(page, profile);
	put_nameless(page, profile);
}

/* "3.10 s", with a star for the largest. */
static struct cpa_figure mark(double seconds, double largest)
{
	struct cpa_figure figure = cpa_format_seconds(seconds);
	size_t length = strlen(figure.text);

	snprintf(figure.text + length, sizeof(figure.text) - length, "%s",
		 seconds > 0 && seconds >= largest ? "*" : " ");
	return figure;
}

char *cpa_text_class(const struct cpa_object_figures *object)
{
	const char *own = object->queue ? "+ " : "";

	if (object->by != CPA_BY_VARIABLE)
		return cpa_format_text("%s%s", own, object->class);
	return cpa_format_text("%s%s %s", own, object->kind, object->class);
}

bool cpa_text_hands_off(const struct cpa_object_figures *object)
{
	static const char *const kinds[] = { "mutex", "spin", "rwlock", "condition", "annotation" };

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(object->kind, kinds[i]) == 0)
			return true;
	return false;
}

struct cpa_figure cpa_text_handoffs(const struct cpa_object_figures *object)
{
	return cpa_text_hands_off(object) ? cpa_format_count(object->handoffs) :
					    (struct cpa_figure){ "-" };
}

/* The largest figures over all classes. */
struct records {
	double wait_s, hold_s, saved_s;
};

static struct records find_records(const struct cpa_profile *profile)
{
	struct records most = { 0 };

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];

		most.wait_s = fmax(object->wait_s, most.wait_s);
		most.hold_s = fmax(object->hold_s, most.hold_s);
		most.saved_s = fmax(object->saved_s, most.saved_s);
	}
	return most;
}

static bool has_record(const struct cpa_object_figures *object, const struct records *most)
{
	return (object->wait_s > 0 && object->wait_s >= most->wait_s) ||
	       (object->hold_s > 0 && object->hold_s >= most->hold_s) ||
	       (object->saved_s > 0 && object->saved_s >= most->saved_s);
}

static void put_object(struct cpa_table_text *table, const struct cpa_object_figures *object,
		       const struct records *most, bool has_margins)
{
	struct cpa_figure waited = mark(object->wait_s, most->wait_s);
	struct cpa_figure held = mark(object->hold_s, most->hold_s);
	struct cpa_figure saves = mark(object->saved_s, most->saved_s);
	struct cpa_figure acquired = cpa_format_count(object->acquisitions);
	struct cpa_figure contended =
		cpa_format_percent((double)object->contended, (double)object->acquisitions);
	struct cpa_figure handoffs = cpa_text_handoffs(object);
	struct cpa_figure margin = cpa_text_margin(object->saved_margin_s, cpa_format_seconds);
	struct cpa_figure wait_margin = cpa_text_margin(object->wait_margin_s, cpa_format_seconds);
	char *class = cpa_text_class(object);
	const char *cells[CPA_TABLE_COLUMNS];
	size_t count = 0;

	cells[count++] = waited.text;
	if (has_margins)
		cells[count++] = wait_margin.text;
	cells[count++] = held.text;
	cells[count++] = object->has_slot ? saves.text : "? ";
	if (has_margins)
		cells[count++] = margin.text;
	cells[count++] = acquired.text;
	cells[count++] = contended.text;
	cells[count++] = handoffs.text;
	cells[count++] = class;
	cpa_table_row(table, cells);
	free(class);
}

static void put_objects(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct records most = find_records(profile);
	struct cpa_table_text table = { 0 };
	size_t room = top, records = 0;
	bool queues = false;

	if (profile->objects == 0)
		return;
	cpa_page_heading(page, "Locks and other objects, by class");
	cpa_table_column(&table, "waited ", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "held ", false);
	cpa_table_column(&table, "saves ", false);
	if (profile->program.batches)
		cpa_table_column(&table, "+-", false);
	cpa_table_column(&table, "acquired", false);
	cpa_table_column(&table, "contended", false);
	if (profile->program.batches) { /* else there is no room for names */
		cpa_table_scarce(&table);
		cpa_table_spare(&table, "hand-offs");
	} else {
		cpa_table_column(&table, "hand-offs", false);
	}
	cpa_table_column(&table, "class", true);
	for (size_t i = 0; i < profile->objects; i++) {
		queues |= profile->object[i].queue != NULL;
		records += has_record(&profile->object[i], &most);
	}
	/* The objects are sorted by wait; those with a star are always shown. */
	for (size_t i = 0; i < profile->objects && room > 0; i++) {
		bool record = has_record(&profile->object[i], &most);

		records -= record;
		if (!record && room <= records)
			continue;
		put_object(&table, &profile->object[i], &most, profile->program.batches);
		room--;
	}
	cpa_table_end(&table, page);
	cpa_page_foot(
		page, profile->objects, top,
		queues ? "* largest of its column. + belongs to a queue: on the critical path, the "
			 "queue's items are the dependencies." :
			 "* largest of its column.");
}

static int compare_edges(const void *a, const void *b)
{
	const struct cpa_edge_figures *x = a, *y = b;

	if (x->own_slot != y->own_slot)
		return x->own_slot ? -1 : 1;
	if (x->own_slot && x->on_path_s != y->on_path_s)
		return x->on_path_s > y->on_path_s ? -1 : 1;
	if (x->weight_s != y->weight_s)
		return x->weight_s > y->weight_s ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* "unlock push (queue.c:90)" */
static char *describe_node(const struct cpa_profile *profile, uint32_t id)
{
	const struct cpa_node_figures *node = cpa_profile_node(profile, id);
	const char *where;

	if (!node || !node->site)
		return xstrdup(node ? node->kind : "?");
	where = cpa_printable_where(node->site, node->location);
	if (!*where)
		return cpa_format_text("%s %s", node->kind, node->site);
	return cpa_format_text("%s %s (%s)", node->kind, node->site, where);
}

void cpa_text_edges(const struct cpa_page *page, const struct cpa_profile *profile,
		    struct cpa_edge_figures *edges, size_t number, size_t top)
{
	struct cpa_table_text table = { 0 };

	cpa_table_column(&table, "on path", false);
	cpa_table_column(&table, "weight", false);
	cpa_table_column(&table, "count", false);
	cpa_table_column(&table, "type", true);
	cpa_table_column(&table, "from", true);
	cpa_table_column(&table, "to", true);
	qsort(edges, number, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < number && i < top; i++) {
		const struct cpa_edge_figures *edge = &edges[i];
		struct cpa_figure on_path = cpa_format_seconds(edge->on_path_s);
		struct cpa_figure weight = cpa_format_seconds(edge->weight_s);
		struct cpa_figure count = cpa_format_count(edge->count);
		char *from = describe_node(profile, edge->from);
		char *to = describe_node(profile, edge->to);

		cpa_table_row(&table,
			      (const char *const[]){
				      edge->own_slot || edge->dependency ? on_path.text : "?",
				      weight.text, count.text,
				      edge->dependency ? "dependency" : "activity", from, to });
		free(from);
		free(to);
	}
	cpa_table_end(&table, page);
}

static void put_pag(const struct cpa_page *page, const struct cpa_profile *profile, size_t top)
{
	struct cpa_edge_figures *edges = xcalloc(profile->edges + 1, sizeof(*edges));

	cpa_page_heading(page, "Activity graph, edges by time on the critical path");
	memcpy(edges, profile->edge, profile->edges * sizeof(*edges));
	cpa_text_edges(page, profile, edges, profile->edges, top);
	cpa_page_foot(page, profile->edges, top, NULL);
	free(edges);
}

static void put_advice(const struct cpa_page *page, const struct cpa_guidance *guidance)
{
	if (guidance->advices > 0)
		fputc('\n', page->out);
	for (size_t i = 0; i < guidance->advices; i++)
		cpa_page_paragraph(page, CPA_PLAIN, 0, guidance->advice[i]);
}

void cpa_text_write(const struct cpa_profile *profile, const struct cpa_page *page,
		    enum cpa_level level, size_t top)
{
	bool all = level == CPA_LEVEL_ALL, program = all || level == CPA_LEVEL_PROGRAM;
	struct cpa_verdict verdict;
	struct cpa_guidance guidance;

	cpa_verdict_init(&verdict, profile);
	cpa_guidance_init(&guidance, profile, &verdict);
	if (program || level == CPA_LEVEL_VERDICT)
		cpa_text_verdict(page, profile, &verdict);
	if (program)
		fputc('\n', page->out);
	if (level != CPA_LEVEL_VERDICT)
		cpa_text_program(page, profile);
	if (program) {
		put_paths(page, &profile->program);
		cpa_text_phase_line(page, profile->phases);
		cpa_text_doubts(page, profile, &guidance);
	}
	if (all || level == CPA_LEVEL_COMPONENT) {
		put_components(page, profile, top);
		cpa_text_idle(page, profile, top);
		cpa_text_procedures(page, profile, top);
	}
	if (program)
		put_advice(page, &guidance);
	if (all || level == CPA_LEVEL_REGION)
		cpa_text_teams(page, profile, top, !all);
	if (all || level == CPA_LEVEL_INTERVAL)
		cpa_text_intervals(page, profile, all && top > SHOWN ? SHOWN : top);
	if (all || level == CPA_LEVEL_QUEUE)
		cpa_text_queues(page, profile, top);
	if (all || level == CPA_LEVEL_STREAM)
		cpa_text_streams(page, profile, top);
	if (level == CPA_LEVEL_STREAM)
		cpa_text_traffic(page, profile, top);
	if (program)
		cpa_text_marks(page, profile, top);
	if ((all && profile->processes > 1) || level == CPA_LEVEL_PROCESS)
		cpa_text_processes(page, profile, top);
	if (all || level == CPA_LEVEL_THREAD)
		cpa_text_threads(page, profile, top);
	if (all || level == CPA_LEVEL_OBJECT)
		put_objects(page, profile, top);
	if (all || level == CPA_LEVEL_OBJECT)
		cpa_text_lock_arrays(page, profile, top);
	if (level == CPA_LEVEL_PAG)
		put_pag(page, profile, top);
	if (program)
		cpa_text_diagnostics(page, profile);
	cpa_guidance_fini(&guidance);
	cpa_verdict_fini(&verdict);
}
