/* SPDX-License-Identifier: MIT */
/* analysis/render/csv.c - one table of a profile as comma-separated values (RFC 4180) */
#include "analysis/render/csv.h"

#include "analysis/derived/context_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analysis/profile/balance.h"
#include "analysis/profile/components.h"
#include "analysis/profile/intervals.h"
#include "analysis/profile/objects.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/queues.h"
#include "analysis/profile/streams.h"
#include "analysis/profile/threads.h"
#include "analysis/derived/teams.h"
#include "analysis/verdict/verdict.h"
#include "analysis/symbols/names.h"

/* Each put_ function writes one field; the first field of a row has no comma before it. */
struct csv {
	FILE *out;
	bool inside; /* a field of this row was written */
};

static void separate(struct csv *csv)
{
	if (csv->inside)
		fputc(',', csv->out);
	csv->inside = true;
}

static void end_row(struct csv *csv)
{
	fputs("\r\n", csv->out);
	csv->inside = false;
}

static void put_text(struct csv *csv, const char *text)
{
	separate(csv);
	if (!text)
		return;
	fputc('"', csv->out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', csv->out);
		fputc(*text, csv->out);
	}
	fputc('"', csv->out);
}

static void put_count(struct csv *csv, uint64_t count)
{
	separate(csv);
	fprintf(csv->out, "%" PRIu64, count);
}

static void put_known(struct csv *csv, bool known, double value)
{
	separate(csv);
	if (known)
		fprintf(csv->out, "%.9f", value);
}

static void put_real(struct csv *csv, double value)
{
	put_known(csv, true, value);
}

/* A margin of error; empty if it is not known, as of a run without windows. */
static void put_margin(struct csv *csv, double margin)
{
	put_known(csv, !isnan(margin), margin);
}

/* The names of the columns, separated by commas. */
static void put_head(struct csv *csv, const char *names)
{
	fputs(names, csv->out);
	end_row(csv);
}

static void put_verdict(struct csv *csv, const struct cpa_profile *profile)
{
	struct cpa_verdict verdict;

	cpa_verdict_init(&verdict, profile);
	put_head(csv, "kind,doubt,sentence,action,beside,critical_path_s,least_s,after_s,others_s");
	put_text(csv, verdict.kind);
	put_text(csv, verdict.doubt);
	put_text(csv, verdict.sentence);
	put_text(csv, verdict.action);
	put_text(csv, verdict.beside);
	put_real(csv, verdict.path_s);
	put_real(csv, verdict.least_s);
	put_real(csv, verdict.after_s);
	put_real(csv, verdict.others_s);
	end_row(csv);
	cpa_verdict_fini(&verdict);
}

static void put_program(struct csv *csv, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;

	put_head(csv, "exe,wall_s,cpu_s,external_s,critical_path_s,observed_path_s,parallelism,"
		      "max_parallelism,utilization,cores,complete,wait_s,windows,wait_margin_s,"
		      "parallelism_margin,max_parallelism_margin,utilization_margin,"
		      "critical_path_margin_s,cpu_margin_s,service_margin_s,idle_margin_s");
	put_text(csv, program->exe);
	put_real(csv, program->wall_s);
	put_real(csv, program->cpu_s);
	put_real(csv, program->external_s);
	put_real(csv, program->critical_path_s);
	put_real(csv, program->observed_path_s);
	put_real(csv, program->parallelism);
	put_real(csv, program->max_parallelism);
	put_real(csv, program->utilization);
	put_count(csv, program->cores);
	put_text(csv, program->complete ? "true" : "false");
	put_real(csv, program->wait_s);
	put_count(csv, program->windows);
	put_margin(csv, program->wait_margin_s);
	put_margin(csv, program->parallelism_margin);
	put_margin(csv, program->max_parallelism_margin);
	put_margin(csv, program->utilization_margin);
	put_margin(csv, program->critical_path_margin_s);
	put_margin(csv, program->cpu_margin_s);
	put_margin(csv, program->blocked_margin_s[CPA_EXT_SERVICE]);
	put_margin(csv, program->blocked_margin_s[CPA_EXT_IDLE]);
	end_row(csv);
}

static void put_components(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "kind,name,location,cpu_s,total_s,critical_path_s,observed_path_s,saved_s,"
		      "calls,inclusive_s,inclusive_critical_path_s,inclusive_saved_s,"
		      "critical_path_margin_s,saved_margin_s,total_margin_s,"
		      "inclusive_critical_path_margin_s,inclusive_saved_margin_s,"
		      "run_share,run_share_margin");
	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];

		put_text(csv, cpa_names_component_kind(component->kind));
		put_text(csv, component->name);
		put_text(csv, component->location);
		put_real(csv, component->kind == CPA_EXTERNAL ? 0 : component->total_s);
		put_real(csv, component->total_s);
		put_real(csv, component->critical_path_s);
		put_real(csv, component->observed_path_s);
		put_real(csv, component->saved_s);
		put_count(csv, component->calls);
		put_known(csv, component->calls > 0, component->inclusive_s);
		put_known(csv, component->has_whole, component->whole_critical_path_s);
		put_known(csv, component->has_whole, component->whole_saved_s);
		put_margin(csv, component->critical_path_margin_s);
		put_margin(csv, component->saved_margin_s);
		put_margin(csv, component->total_margin_s);
		put_margin(csv, component->whole_critical_path_margin_s);
		put_margin(csv, component->whole_saved_margin_s);
		put_margin(csv, component->run_share);
		put_margin(csv, component->run_share_margin);
		end_row(csv);
	}
}

static void put_threads(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "id,name,start_routine,cpu_s,wait_s,external_s,runqueue_s,probe_s,"
		      "critical_path_s,events,cpu_margin_s,wait_margin_s,earlier_threads,process");
	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		put_count(csv, thread->tid);
		put_text(csv, thread->name);
		put_text(csv, thread->start_routine);
		put_real(csv, thread->cpu_s);
		put_real(csv, thread->wait_s);
		put_real(csv, thread->external_s);
		put_real(csv, thread->runqueue_s);
		put_real(csv, thread->probe_s);
		put_real(csv, thread->critical_path_s);
		put_count(csv, thread->events);
		put_margin(csv, thread->cpu_margin_s);
		put_margin(csv, thread->wait_margin_s);
		put_count(csv, thread->earlier);
		put_count(csv, thread->process);
		end_row(csv);
	}
}

static void put_processes(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "id,parent,pid,name,count,threads,programs,start_s,end_s,cpu_s,wait_s,"
		      "external_s,runqueue_s,probe_s,state,cpu_margin_s,wait_margin_s");
	for (size_t i = 0; i < profile->processes; i++) {
		const struct cpa_process_figures *process = &profile->process[i];

		put_count(csv, process->id);
		put_count(csv, process->parent);
		put_count(csv, process->pid);
		put_text(csv, process->name);
		put_count(csv, process->count);
		put_count(csv, process->threads);
		put_count(csv, process->images);
		put_real(csv, process->start_s);
		put_known(csv, process->ending != CPA_ENDING_NONE, process->end_s);
		put_real(csv, process->cpu_s);
		put_real(csv, process->wait_s);
		put_real(csv, process->external_s);
		put_real(csv, process->runqueue_s);
		put_real(csv, process->probe_s);
		put_text(csv, cpa_ending_word(process->ending));
		put_margin(csv, process->cpu_margin_s);
		put_margin(csv, process->wait_margin_s);
		end_row(csv);
	}
}

static void put_objects(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "kind,class,location,queue,objects,acquisitions,contended,handoffs,wait_s,"
		      "hold_s,saved_s,critical_path_s,critical_path_margin_s,saved_margin_s,"
		      "wait_margin_s,hold_margin_s");
	for (size_t i = 0; i < profile->objects; i++) {
		const struct cpa_object_figures *object = &profile->object[i];

		put_text(csv, object->kind);
		put_text(csv, object->class);
		put_text(csv, object->location);
		put_text(csv, object->queue);
		put_count(csv, object->objects);
		put_count(csv, object->acquisitions);
		put_count(csv, object->contended);
		put_count(csv, object->handoffs);
		put_real(csv, object->wait_s);
		put_real(csv, object->hold_s);
		put_known(csv, object->has_slot, object->saved_s);
		put_known(csv, object->has_slot, object->critical_path_s);
		put_margin(csv, object->critical_path_margin_s);
		put_margin(csv, object->saved_margin_s);
		put_margin(csv, object->wait_margin_s);
		put_margin(csv, object->hold_margin_s);
		end_row(csv);
	}
}

static void put_queues(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "name,location,queues,enqueued,dequeued,never_dequeued,enqueued_twice,"
		      "unmatched,max_depth,mean_depth,item_wait_s,item_wait_p50_s,item_wait_p99_s,"
		      "service_s,services,producers,consumers,critical_path_s,observed_path_s,"
		      "saved_s,limit,critical_path_margin_s,saved_margin_s,item_wait_margin_s");
	for (size_t i = 0; i < profile->queues; i++) {
		const struct cpa_queue_figures *queue = &profile->queue[i];

		put_text(csv, queue->name);
		put_text(csv, queue->location);
		put_count(csv, queue->queues);
		put_count(csv, queue->enqueued);
		put_count(csv, queue->dequeued);
		put_count(csv, queue->never_dequeued);
		put_count(csv, queue->twice);
		put_count(csv, queue->unmatched);
		put_count(csv, queue->max_depth);
		put_real(csv, queue->mean_depth);
		put_real(csv, queue->wait_s);
		put_real(csv, queue->wait_p50_s);
		put_real(csv, queue->wait_p99_s);
		put_real(csv, queue->service_s);
		put_count(csv, queue->services);
		put_count(csv, queue->producers);
		put_count(csv, queue->consumers);
		put_known(csv, queue->slot, queue->critical_path_s);
		put_known(csv, queue->slot, queue->observed_path_s);
		put_known(csv, queue->slot, queue->saved_s);
		put_text(csv, cpa_balance_word(queue->limit));
		put_margin(csv, queue->critical_path_margin_s);
		put_margin(csv, queue->saved_margin_s);
		put_margin(csv, queue->wait_margin_s);
		end_row(csv);
	}
}

static void put_streams(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "kind,from,to,streams,bytes,writes,reads,messages,stay_s,stay_p99_s,"
		      "reader_waits,reader_wait_s,writer_waits,writer_wait_s,unmatched,uncertain,"
		      "from_critical_path_s,to_critical_path_s,limit,saved_s,"
		      "from_observed_path_s,to_observed_path_s,from_critical_path_margin_s,"
		      "to_critical_path_margin_s,reader_wait_margin_s,writer_wait_margin_s");
	for (size_t i = 0; i < profile->streams; i++) {
		const struct cpa_stream_figures *stream = &profile->stream[i];

		put_text(csv, cpa_stream_word(stream->kind));
		put_text(csv, stream->from);
		put_text(csv, stream->to);
		put_count(csv, stream->streams);
		put_count(csv, stream->bytes);
		put_count(csv, stream->writes);
		put_count(csv, stream->reads);
		put_count(csv, stream->messages);
		put_real(csv, stream->stay_s);
		put_real(csv, stream->stay_p99_s);
		put_count(csv, stream->waits);
		put_real(csv, stream->waited_s);
		put_count(csv, stream->blocks);
		put_real(csv, stream->blocked_s);
		put_count(csv, stream->unmatched);
		put_count(csv, stream->uncertain);
		put_real(csv, stream->writer.critical_path_s);
		put_real(csv, stream->reader.critical_path_s);
		put_text(csv, cpa_stream_limit(stream));
		put_known(csv, !isnan(stream->saved_s), stream->saved_s);
		put_real(csv, stream->writer.observed_path_s);
		put_real(csv, stream->reader.observed_path_s);
		put_margin(csv, stream->writer.critical_path_margin_s);
		put_margin(csv, stream->reader.critical_path_margin_s);
		put_margin(csv, stream->waited_margin_s);
		put_margin(csv, stream->blocked_margin_s);
		end_row(csv);
	}
}

/* A row for each component and sample, and one per sample for the program, without a component. */
static void put_intervals(struct csv *csv, const struct cpa_profile *profile)
{
	const struct cpa_intervals *v = profile->intervals;

	put_head(csv, "at_s,path_changed,kind,name,critical_path_s,saved_s,cpu_s");
	for (size_t i = 0; i < v->samples; i++) {
		put_real(csv, v->sample[i].at_s);
		put_count(csv, v->sample[i].path_changed);
		put_text(csv, "program");
		put_text(csv, profile->program.exe);
		put_real(csv, v->sample[i].critical_path_s);
		put_known(csv, false, 0);
		put_real(csv, v->sample[i].cpu_s);
		end_row(csv);
		for (size_t k = 0; k < profile->components; k++) {
			const struct cpa_component_figures *component = &profile->component[k];
			const struct cpa_slot_intervals *s = cpa_intervals_slot(v, component->slot);

			if (!s)
				continue;
			put_real(csv, v->sample[i].at_s);
			put_count(csv, v->sample[i].path_changed);
			put_text(csv, cpa_names_component_kind(component->kind));
			put_text(csv, component->name);
			put_real(csv, s->path_s[i]);
			put_real(csv, s->saved_s[i]);
			put_known(csv, component->kind != CPA_EXTERNAL, s->total_s[i]);
			end_row(csv);
		}
	}
}

static void put_teams(struct csv *csv, const struct cpa_profile *profile)
{
	const struct cpa_teams *teams = profile->teams;

	put_head(csv, "kind,name,location,instances,threads,elapsed_s,work_s,wait_s,most_s,even_s,"
		      "chain_s,saved_s,balanced_saved_s,load_balance,serialisation,transfer");
	for (size_t i = 0; teams && i < teams->rows; i++) {
		const struct cpa_team_figures *row = &teams->row[i];
		const struct cpa_efficiency *e = &row->efficiency;

		put_text(csv, row->construct ? "construct" : "region");
		put_text(csv, row->name);
		put_text(csv, row->location);
		put_count(csv, row->instances);
		put_count(csv, row->threads);
		put_known(csv, !row->construct, row->elapsed_s);
		put_real(csv, row->work_s);
		put_real(csv, row->wait_s);
		put_real(csv, row->most_s);
		put_real(csv, row->even_s);
		put_real(csv, row->chain_s);
		put_known(csv, row->has_saved, row->saved_s);
		put_real(csv, row->balanced_saved_s);
		put_known(csv, e->load_balance > 0, e->load_balance);
		put_known(csv, e->serialisation > 0, e->serialisation);
		put_known(csv, e->transfer > 0, e->transfer);
		end_row(csv);
	}
}

static void put_node(struct csv *csv, const struct cpa_profile *profile, uint32_t id)
{
	const struct cpa_node_figures *node = cpa_profile_node(profile, id);

	put_text(csv, node ? node->kind : NULL);
	put_text(csv, node ? node->site : NULL);
	put_text(csv, node ? node->location : NULL);
	put_text(csv, node ? node->class : NULL);
}

static void put_edges(struct csv *csv, const struct cpa_profile *profile)
{
	put_head(csv, "type,from_kind,from_site,from_location,from_class,to_kind,to_site,"
		      "to_location,to_class,count,weight_s,on_path_s,observed_s,followed");
	for (size_t i = 0; i < profile->edges; i++) {
		const struct cpa_edge_figures *edge = &profile->edge[i];

		put_text(csv, edge->dependency ? "dependency" : "activity");
		put_node(csv, profile, edge->from);
		put_node(csv, profile, edge->to);
		put_count(csv, edge->count);
		put_real(csv, edge->weight_s);
		put_known(csv, edge->own_slot || edge->dependency, edge->on_path_s);
		put_known(csv, edge->own_slot, edge->observed_s);
		put_count(csv, edge->followed);
		end_row(csv);
	}
}

static void put_parts(struct csv *csv, const struct cpa_profile *profile, uint32_t callers)
{
	struct cpa_context_parts parts = cpa_context_parts(profile, callers);

	put_head(csv, "function,location,callers,saved_most_s,critical_path_s,error_s,"
		      "stacks_on_path,cpu_s");
	for (size_t i = 0; i < parts.count; i++) {
		const struct cpa_context_part *part = &parts.part[i];

		put_text(csv, part->name);
		put_text(csv, part->location);
		put_text(csv, part->callers);
		put_real(csv, part->saved_most_s);
		put_real(csv, part->path_s);
		put_real(csv, part->error_s);
		put_count(csv, part->stacks);
		put_real(csv, part->cpu_s);
		end_row(csv);
	}
	cpa_context_parts_fini(&parts);
}

static void put_contexts(struct csv *csv, const struct cpa_profile *profile)
{
	put_parts(csv, profile, CPA_CALLERS_ALL);
}

void cpa_csv_contexts(const struct cpa_profile *profile, uint32_t callers, FILE *out)
{
	put_parts(&(struct csv){ .out = out }, profile, callers);
}

void cpa_csv_write(const struct cpa_profile *profile, enum cpa_level level, FILE *out)
{
	static void (*const tables[CPA_LEVELS])(struct csv *, const struct cpa_profile *) = {
		[CPA_LEVEL_ALL] = put_components,   [CPA_LEVEL_VERDICT] = put_verdict,
		[CPA_LEVEL_PROGRAM] = put_program,  [CPA_LEVEL_COMPONENT] = put_components,
		[CPA_LEVEL_THREAD] = put_threads,   [CPA_LEVEL_PROCESS] = put_processes,
		[CPA_LEVEL_OBJECT] = put_objects,   [CPA_LEVEL_QUEUE] = put_queues,
		[CPA_LEVEL_STREAM] = put_streams,   [CPA_LEVEL_INTERVAL] = put_intervals,
		[CPA_LEVEL_PAG] = put_edges,	    [CPA_LEVEL_REGION] = put_teams,
		[CPA_LEVEL_CONTEXT] = put_contexts,
	};

	tables[level](&(struct csv){ .out = out }, profile);
}

static void put_metric_heads(struct csv *csv, const char *first, enum cpa_metric_level level)
{
	fputs(first, csv->out);
	for (unsigned i = 0; i < CPA_METRICS; i++)
		if (cpa_metric_about(i)->at[level])
			fprintf(csv->out, ",%s", cpa_metric_about(i)->key);
	end_row(csv);
}

static void put_metrics(struct csv *csv, const double value[CPA_METRICS],
			enum cpa_metric_level level)
{
	for (unsigned i = 0; i < CPA_METRICS; i++)
		if (cpa_metric_about(i)->at[level])
			put_known(csv, !isnan(value[i]), value[i]);
	end_row(csv);
}

void cpa_csv_metrics(const struct cpa_metrics *metrics, enum cpa_metric_level level, FILE *out)
{
	struct csv csv = { .out = out };

	if (level == CPA_METRIC_LEVELS)
		level = CPA_AT_THREAD;
	put_metric_heads(&csv, "id,name,where", level);
	for (size_t i = 0; i < metrics->rows[level]; i++) {
		const struct cpa_metric_row *row = &metrics->row[level][i];

		put_count(&csv, row->id);
		put_text(&csv, row->name);
		put_text(&csv, row->where);
		put_metrics(&csv, row->value, level);
	}
}

void cpa_csv_histogram(const struct cpa_histogram *h, FILE *out)
{
	struct csv csv = { .out = out };

	fprintf(out, "until_s,id,name,%s", cpa_metric_about(h->metric)->key);
	end_row(&csv);
	for (size_t i = 0; i < h->rows * h->bins; i++) {
		const struct cpa_metric_row *row = h->row[i / h->bins];

		put_real(&csv, h->until_s[i % h->bins]);
		put_count(&csv, row->id);
		put_text(&csv, row->name);
		put_known(&csv, !isnan(h->value[i]), h->value[i]);
		end_row(&csv);
	}
}

void cpa_csv_phases(const struct cpa_phases *p, FILE *out)
{
	struct csv csv = { .out = out };

	put_metric_heads(&csv, "name,by,from_s,to_s,critical_path_s", CPA_AT_PROGRAM);
	for (size_t i = 0; i < p->count; i++) {
		const struct cpa_phase *phase = &p->phase[i];

		put_text(&csv, phase->name);
		put_text(&csv, cpa_phase_by_name(phase->by));
		put_real(&csv, phase->from_s);
		put_real(&csv, phase->to_s);
		put_known(&csv, phase->sampled, phase->path_s);
		put_metrics(&csv, phase->value, CPA_AT_PROGRAM);
	}
}
