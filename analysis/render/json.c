/* SPDX-License-Identifier: MIT */
/* analysis/render/json.c - a profile as JSON, with stable keys */
#include "analysis/render/json.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/derived/teams.h"
#include "analysis/profile/components.h"
#include "analysis/profile/intervals.h"
#include "analysis/profile/modules.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/parts.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/threads.h"
#include "analysis/render/json_put.h"
#include "analysis/render/verdict_text.h"
#include "analysis/symbols/names.h"

#define DIGITS 15 /* significant digits that restore a double exactly */

/* What external time consists of. */
static void put_classes(json_t *object, const double blocked_s[CPA_EXT_CLASSES])
{
	put_real(object, "service_s", blocked_s[CPA_EXT_SERVICE]);
	put_real(object, "idle_s", blocked_s[CPA_EXT_IDLE]);
	put_real(object, "unknown_wait_s", blocked_s[CPA_EXT_WAIT]);
}

/* The observed path's time, by kind. */
static json_t *segments_json(const double segment_s[CPA_TIME_KINDS])
{
	static const char *const segments[CPA_TIME_KINDS] = {
		[CPA_TIME_PROCESS] = "process_s",   [CPA_TIME_EXTERNAL] = "external_s",
		[CPA_TIME_RUNQUEUE] = "runqueue_s", [CPA_TIME_HANDOFF] = "handoff_s",
		[CPA_TIME_PROBE] = "probe_s",
	};
	json_t *object = json_object();

	for (unsigned i = 0; i < CPA_TIME_KINDS; i++)
		put_real(object, segments[i], segment_s[i]);
	return object;
}

/* The date and time of the start; not in dumps that do not have it. */
static void put_start(json_t *object, const struct cpa_program_figures *program)
{
	char text[32];
	struct tm when;

	if (program->started_at && gmtime_r(&program->started_at, &when) &&
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &when))
		put_text(object, "started_at", text);
}

static json_t *program_json(const struct cpa_program_figures *program)
{
	json_t *object = json_object(), *blocked;

	put_text(object, "name", program->name);
	put_text(object, "exe", program->exe);
	put_text(object, "host", program->host);
	put_start(object, program);
	put_count(object, "pid", program->pid);
	put_count(object, "session_format", program->format);
	put_count(object, "sample_hz", program->sample_hz);
	if (program->by_callers)
		put_count(object, "by_callers", program->by_callers);
	put_real(object, "wall_s", program->wall_s);
	put_real(object, "run_s", program->run_s);
	if (program->sampled)
		put_bool(object, "sampled", true);
	put_real(object, "cpu_s", program->cpu_s);
	put_real(object, "wait_cpu_s", program->wait_cpu_s);
	put_real(object, "external_s", program->external_s);
	put_classes(object, program->blocked_s);
	put_real(object, "critical_path_s", program->critical_path_s);
	if (program->idle_path_s > 0)
		put_real(object, "critical_path_with_idle_s", program->idle_path_s);
	put_real(object, "observed_path_s", program->observed_path_s);
	put_count(object, "observed_path_thread", program->observed_thread);
	put_real(object, "parallelism", program->parallelism);
	put_real(object, "max_parallelism", program->max_parallelism);
	put_real(object, "utilization", program->utilization);
	put_count(object, "cores", program->cores);
	put_bool(object, "complete", program->complete);
	json_object_set_new(object, "observed_segments", segments_json(program->segment_s));
	blocked = json_object();
	put_classes(blocked, program->segment_blocked_s);
	json_object_set_new(object, "observed_external", blocked);
	return object;
}

/* Times of a thread or a process. */
static void put_times(json_t *object, double cpu, double wait, double external, double runqueue,
		      double probe)
{
	put_real(object, "cpu_s", cpu);
	put_real(object, "wait_s", wait);
	put_real(object, "external_s", external);
	put_real(object, "runqueue_s", runqueue);
	put_real(object, "probe_s", probe);
}

/* What the thread spent most in: functions, and calls in which it was blocked. */
static json_t *spends_json(const struct cpa_profile *profile,
			   const struct cpa_thread_figures *thread)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < thread->spends; i++) {
		const struct cpa_spend_figures *spend = &thread->spend[i];
		const struct cpa_component_figures *component =
			cpa_profile_component(profile, spend->slot, spend->kind);
		json_t *object = json_object();

		put_text(object, "kind", cpa_names_component_kind(spend->kind));
		put_text(object, "name", component ? component->name : NULL);
		put_real(object, "time_s", spend->seconds);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *threads_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];
		json_t *object = json_object();

		put_count(object, "id", thread->tid);
		put_count(object, "number", thread->id);
		put_count(object, "process", thread->process);
		put_text(object, "name", thread->name);
		put_text(object, "start_routine", thread->start_routine);
		put_times(object, thread->cpu_s, thread->wait_s, thread->external_s,
			  thread->runqueue_s, thread->probe_s);
		put_real(object, "wait_cpu_s", thread->wait_cpu_s);
		put_margin(object, "cpu_margin_s", thread->cpu_margin_s);
		put_margin(object, "wait_margin_s", thread->wait_margin_s);
		put_real(object, "critical_path_s", thread->critical_path_s);
		put_count(object, "events", thread->events);
		put_count(object, "bytes_read", thread->bytes_read);
		put_count(object, "bytes_written", thread->bytes_written);
		put_count(object, "earlier_threads", thread->earlier);
		put_real(object, "begun_s", thread->begun_s);
		put_real(object, "last_event_s", thread->begun_s + thread->lived_s);
		json_object_set_new(object, "spends", spends_json(profile, thread));
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *processes_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->processes; i++) {
		const struct cpa_process_figures *process = &profile->process[i];
		json_t *object = json_object();

		put_count(object, "id", process->id);
		put_count(object, "parent", process->parent);
		put_count(object, "pid", process->pid);
		put_text(object, "name", process->name);
		if (process->argument)
			put_text(object, "argument", process->argument);
		put_count(object, "count", process->count);
		put_count(object, "threads", process->threads);
		put_count(object, "programs", process->images);
		put_text(object, "state", cpa_ending_word(process->ending));
		if (process->waited)
			json_object_set_new(object, "status", json_integer(process->status));
		put_real(object, "start_s", process->start_s);
		if (process->end_s > 0)
			put_real(object, "end_s", process->end_s);
		put_times(object, process->cpu_s, process->wait_s, process->external_s,
			  process->runqueue_s, process->probe_s);
		put_margin(object, "cpu_margin_s", process->cpu_margin_s);
		put_margin(object, "wait_margin_s", process->wait_margin_s);
		json_array_append_new(array, object);
	}
	return array;
}

/* Unused rows are empty objects, so that the numbers of the others hold. */
static json_t *modules_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->modules; i++) {
		const struct cpa_module_figures *module = &profile->module[i];
		json_t *object = json_object();

		if (module->path) {
			put_text(object, "path", module->path);
			put_text(object, "build_id", module->build_id);
		}
		json_array_append_new(array, object);
	}
	return array;
}

static void put_part(json_t *object, const struct cpa_part_of_function *part)
{
	json_t *array = json_array();

	for (size_t i = 0; i < part->callers; i++)
		json_array_append_new(array, json_string(part->caller[i]));
	put_text(object, "function", part->function);
	json_object_set_new(object, "called_by", array);
}

static json_t *components_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];
		bool external = component->kind == CPA_EXTERNAL;
		json_t *object = json_object();

		put_text(object, "kind", cpa_names_component_kind(component->kind));
		put_text(object, "name", component->name);
		if (component->part)
			put_part(object, component->part);
		put_text(object, "location", component->location);
		if (component->module) {
			put_count(object, "module", component->module - 1);
			put_count(object, "offset", component->offset);
		}
		if (external)
			put_text(object, "class", cpa_blocked_word(component->class));
		put_real(object, "cpu_s", external ? 0 : component->total_s);
		put_real(object, "total_s", component->total_s);
		put_real(object, "critical_path_s", component->critical_path_s);
		put_real(object, "observed_path_s", component->observed_path_s);
		put_real(object, "saved_s", component->saved_s);
		put_margin(object, "total_margin_s", component->total_margin_s);
		put_margin(object, "critical_path_margin_s", component->critical_path_margin_s);
		put_margin(object, "saved_margin_s", component->saved_margin_s);
		put_margin(object, "run_share", component->run_share);
		put_margin(object, "run_share_margin", component->run_share_margin);
		put_bool(object, "shared", component->shared);
		if (component->among) {
			put_count(object, "among", component->among);
			put_real(object, "since_s", component->since_s);
			put_real(object, "since_critical_path_s", component->since_path_s);
			put_real(object, "before_at_most_s", component->before_s);
			put_real(object, "error_at_most_s", component->error_s);
		}
		if (component->calls) {
			put_count(object, "calls", component->calls);
			put_real(object, "inclusive_s", component->inclusive_s);
			put_known(object, "inclusive_critical_path_s", component->has_whole,
				  component->whole_critical_path_s);
			put_known(object, "inclusive_saved_s", component->has_whole,
				  component->whole_saved_s);
			put_margin(object, "inclusive_critical_path_margin_s",
				   component->whole_critical_path_margin_s);
			put_margin(object, "inclusive_saved_margin_s",
				   component->whole_saved_margin_s);
		}
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *objects_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *class = &profile->object[i];
		json_t *object = json_object();

		put_text(object, "kind", class->kind);
		put_text(object, "class", class->class);
		put_text(object, "location", class->location);
		if (class->queue)
			put_text(object, "queue", class->queue);
		put_count(object, "objects", class->objects);
		put_count(object, "acquisitions", class->acquisitions);
		put_count(object, "contended", class->contended);
		put_real(object, "wait_s", class->wait_s);
		put_real(object, "hold_s", class->hold_s);
		put_count(object, "handoffs", class->handoffs);
		put_known(object, "saved_s", class->has_slot, class->saved_s);
		put_known(object, "critical_path_s", class->has_slot, class->critical_path_s);
		put_margin(object, "wait_margin_s", class->wait_margin_s);
		put_margin(object, "hold_margin_s", class->hold_margin_s);
		put_margin(object, "saved_margin_s", class->saved_margin_s);
		put_margin(object, "critical_path_margin_s", class->critical_path_margin_s);
		json_array_append_new(array, object);
	}
	return array;
}

static json_t *marks_json(const struct cpa_profile *profile)
{
	json_t *array = json_array();

	for (size_t i = 0; i < profile->marks; i++) {
		const struct cpa_mark_figures *mark = &profile->mark[i];
		json_t *object = json_object();

		put_text(object, "name", mark->name);
		put_real(object, "at_s", mark->at_s);
		if (mark->tid)
			put_count(object, "thread", mark->tid);
		else
			json_object_set_new(object, "thread", json_null());
		put_real(object, "critical_path_s", mark->critical_path_s);
		json_array_append_new(array, object);
	}
	return array;
}

/* "push (queue.c:88)" */
static void put_site(json_t *object, const struct cpa_node_figures *node)
{
	json_t *text = node->site && node->location ?
			       json_sprintf("%s (%s)", node->site, node->location) :
		       node->site ? json_string(node->site) :
				    json_null();

	json_object_set_new(object, "site", text);
}

static json_t *edge_json(const struct cpa_edge_figures *edge)
{
	json_t *object = json_object(), *functions = json_array();

	put_count(object, "from", edge->from);
	put_count(object, "to", edge->to);
	put_text(object, "type", edge->dependency ? "dependency" : "activity");
	put_count(object, "count", edge->count);
	put_real(object, "weight_s", edge->weight_s);
	put_known(object, "on_path_s", edge->own_slot || edge->dependency, edge->on_path_s);
	put_known(object, "observed_s", edge->own_slot, edge->observed_s);
	put_count(object, "followed", edge->followed);
	for (uint32_t i = 0; i < edge->functions; i++) {
		json_t *function = json_object();

		put_text(function, "name", edge->function[i].function);
		put_real(function, "share", edge->function[i].share);
		json_array_append_new(functions, function);
	}
	json_object_set_new(object, "functions", functions);
	return object;
}

static json_t *pag_json(const struct cpa_profile *profile)
{
	json_t *pag = json_object(), *nodes = json_array(), *edges = json_array();

	for (size_t i = 0; i < profile->nodes; i++) {
		const struct cpa_node_figures *node = &profile->node[i];
		json_t *object = json_object();

		put_count(object, "id", node->id);
		put_text(object, "kind", node->kind);
		put_site(object, node);
		put_text(object, "class", node->class);
		json_array_append_new(nodes, object);
	}
	for (size_t i = 0; i < profile->edges; i++)
		json_array_append_new(edges, edge_json(&profile->edge[i]));
	json_object_set_new(pag, "nodes", nodes);
	json_object_set_new(pag, "edges", edges);
	return pag;
}

static json_t *sample_json(const struct cpa_interval_sample *sample)
{
	json_t *object = json_object();

	put_real(object, "at_s", sample->at_s);
	put_real(object, "critical_path_s", sample->critical_path_s);
	put_real(object, "cpu_s", sample->cpu_s);
	put_real(object, "external_s", sample->external_s);
	put_real(object, "runqueue_s", sample->runqueue_s);
	put_real(object, "wait_s", sample->wait_s);
	put_real(object, "probe_s", sample->probe_s);
	put_count(object, "events", sample->events);
	json_object_set_new(object, "observed", segments_json(sample->segment_s));
	put_bool(object, "path_changed", sample->path_changed);
	return object;
}

/* Sampled sums of one thread. */
static json_t *thread_curves_json(const struct cpa_profile *profile,
				  const struct cpa_thread_intervals *thread)
{
	static const char *const keys[CPA_CURVES] = {
		[CPA_CURVE_CPU] = "process_s",	     [CPA_CURVE_EXTERNAL] = "external_s",
		[CPA_CURVE_RUNQUEUE] = "runqueue_s", [CPA_CURVE_WAIT] = "wait_s",
		[CPA_CURVE_PROBE] = "probe_s",	     [CPA_CURVE_EVENTS] = "events",
		[CPA_CURVE_BYTES] = "bytes",
	};
	json_t *object = json_object();

	for (size_t i = 0; i < profile->threads; i++)
		if (profile->thread[i].row == thread->row)
			put_count(object, "number", profile->thread[i].id);
	for (unsigned i = 0; i < CPA_CURVES; i++)
		json_object_set_new(object, keys[i],
				    reals_json(thread->value[i], profile->intervals->samples));
	return object;
}

/* Values are cumulative: an interval has the difference of two. */
static json_t *intervals_json(const struct cpa_profile *profile)
{
	const struct cpa_intervals *v = profile->intervals;
	json_t *object = json_object(), *samples = json_array(), *components = json_array();
	json_t *threads = json_array();

	for (size_t i = 0; i < v->samples; i++)
		json_array_append_new(samples, sample_json(&v->sample[i]));
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];
		const struct cpa_slot_intervals *s = cpa_intervals_slot(v, component->slot);
		json_t *one;

		if (!s)
			continue;
		one = json_object();
		put_text(one, "kind", cpa_names_component_kind(component->kind));
		put_text(one, "name", component->name);
		json_object_set_new(one, "critical_path_s", reals_json(s->path_s, v->samples));
		json_object_set_new(one, "saved_s", reals_json(s->saved_s, v->samples));
		if (component->kind != CPA_EXTERNAL)
			json_object_set_new(one, "cpu_s", reals_json(s->total_s, v->samples));
		json_array_append_new(components, one);
	}
	for (size_t i = 0; i < v->threads; i++)
		json_array_append_new(threads, thread_curves_json(profile, &v->thread[i]));
	put_real(object, "start_s", 0);
	put_real(object, "period_s", v->period_s);
	json_object_set_new(object, "samples", samples);
	json_object_set_new(object, "components", components);
	json_object_set_new(object, "threads", threads);
	return object;
}

static json_t *texts_json(char *const *texts, size_t count)
{
	json_t *array = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_string(texts[i]));
	return array;
}

/* Values that were not measured are left out. */
static json_t *machine_json(const struct cpa_machine_figures *machine)
{
	json_t *object = json_object();
	const struct {
		const char *name;
		double seconds;
	} times[] = {
		{ "counter_s", machine->counter_s }, { "look_s", machine->look_s },
		{ "wake_s", machine->wake_s },	     { "interrupt_s", machine->interrupt_s },
		{ "brief_s", machine->brief_s },
	};

	put_text(object, "source", machine->source);
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i].seconds > 0)
			put_real(object, times[i].name, times[i].seconds);
	if (machine->most_hz)
		put_count(object, "most_hz", machine->most_hz);
	return object;
}

static json_t *diagnostics_json(const struct cpa_profile *profile)
{
	const struct cpa_diagnostics_figures *diagnostics = &profile->diagnostics;
	json_t *object = json_object();

	put_real(object, "probe_s", diagnostics->probe_s);
	put_text(object, "clock", diagnostics->clock);
	put_count(object, "samples", diagnostics->samples);
	put_count(object, "samples_lost", diagnostics->samples_lost);
	put_real(object, "samples_s", diagnostics->samples_s);
	json_object_set_new(object, "machine", machine_json(&diagnostics->machine));
	put_count(object, "objects_untracked", diagnostics->objects_untracked);
	put_count(object, "deepbind_libraries", diagnostics->deepbind);
	put_count(object, "namespace_libraries", diagnostics->namespaced);
	put_count(object, "untimed", diagnostics->untimed);
	put_count(object, "untimed_handoffs", diagnostics->untimed_handoffs);
	put_real(object, "untimed_handoffs_s", diagnostics->untimed_handoffs_s);
	put_count(object, "idle_sleeps", diagnostics->idle_sleeps);
	cpa_json_put_unexplained(object, profile);
	json_object_set_new(object, "missing_symbols", cpa_json_missing_symbols(profile));
	json_object_set_new(object, "notes", texts_json(diagnostics->note, diagnostics->notes));
	return object;
}

json_t *cpa_json_profile(const struct cpa_profile *profile)
{
	json_t *root = json_object();
	struct cpa_guidance guidance;
	struct cpa_verdict verdict;

	cpa_verdict_init(&verdict, profile);
	cpa_guidance_init(&guidance, profile, &verdict);
	put_count(root, "schema", CPA_JSON_SCHEMA);
	put_text(root, "cpa_version", CPA_VERSION);
	json_object_set_new(root, "verdict", cpa_json_verdict(profile, &verdict));
	json_object_set_new(root, "program", program_json(&profile->program));
	json_object_set_new(root, "parts", cpa_json_parts(profile));
	if (profile->program.windows)
		json_object_set_new(root, "windows", cpa_json_windows(profile));
	json_object_set_new(root, "processes", processes_json(profile));
	json_object_set_new(root, "threads", threads_json(profile));
	json_object_set_new(root, "modules", modules_json(profile));
	json_object_set_new(root, "components", components_json(profile));
	json_object_set_new(root, "objects", objects_json(profile));
	json_object_set_new(root, "lock_arrays", cpa_json_lock_arrays(profile));
	json_object_set_new(root, "queues", cpa_json_queues(profile));
	json_object_set_new(root, "streams", cpa_json_streams(profile));
	json_object_set_new(root, "marks", marks_json(profile));
	json_object_set_new(root, "intervals", intervals_json(profile));
	if (profile->teams && !profile->teams->trouble)
		json_object_set_new(root, "openmp", cpa_json_teams(profile->teams));
	if (profile->contexts)
		json_object_set_new(root, "callers", cpa_json_contexts(profile));
	if (profile->metrics)
		json_object_set_new(root, "metrics", cpa_json_metrics(profile->metrics));
	if (profile->histogram)
		json_object_set_new(root, "histogram", cpa_json_histogram(profile->histogram));
	if (profile->phases)
		json_object_set_new(root, "phases", cpa_json_phases(profile, profile->phases));
	json_object_set_new(root, "pag", pag_json(profile));
	json_object_set_new(root, "diagnostics", diagnostics_json(profile));
	json_object_set_new(root, "guidance", texts_json(guidance.advice, guidance.advices));
	json_object_set_new(root, "warnings", texts_json(guidance.warning, guidance.warnings));
	cpa_guidance_fini(&guidance);
	cpa_verdict_fini(&verdict);
	return root;
}

int cpa_json_write(const struct cpa_profile *profile, FILE *out)
{
	json_t *root = cpa_json_profile(profile);
	int ret = json_dumpf(root, out, JSON_INDENT(1) | JSON_REAL_PRECISION(DIGITS));

	if (ret == 0 && fputc('\n', out) == EOF)
		ret = -1;
	json_decref(root);
	return ret;
}
