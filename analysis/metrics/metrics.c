/* SPDX-License-Identifier: MIT */
#include "analysis/metrics/metrics.h"

#include <inttypes.h>
#include <libiberty/libiberty.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/util/format.h"
#include "analysis/profile/components.h"
#include "analysis/profile/pag.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/threads.h"

#define PROGRAM	  [CPA_AT_PROGRAM] = true
#define MACHINE	  PROGRAM, [CPA_AT_MACHINE] = true
#define PROCESS	  MACHINE, [CPA_AT_PROCESS] = true
#define THREAD	  PROCESS, [CPA_AT_THREAD] = true
#define PROCEDURE [CPA_AT_PROCEDURE] = true
#define EVENT	  [CPA_AT_EVENT] = true

/* clang-format off */
/* Columns: symbol, JSON key, meaning, unit, levels that have it. */
static const struct cpa_metric_about metrics[CPA_METRICS] = {
	[CPA_METRIC_MACHINES] = {
		"N_m", "n_m", "machines",
		CPA_IN_NUMBERS, { PROGRAM }
	},
	[CPA_METRIC_PROCESSES] = {
		"N_p", "n_p", "processes (address spaces)",
		CPA_IN_NUMBERS, { MACHINE }
	},
	[CPA_METRIC_THREADS] = {
		"N_t", "n_t", "threads",
		CPA_IN_NUMBERS, { PROCESS }
	},
	[CPA_METRIC_TIME] = {
		"T", "t_s", "time by the clock",
		CPA_IN_SECONDS, { THREAD, EVENT }
	},
	[CPA_METRIC_CPU] = {
		"T_cpu", "t_cpu_s", "at work on a processor",
		CPA_IN_SECONDS, { THREAD, PROCEDURE }
	},
	[CPA_METRIC_WAIT] = {
		"T_wait", "t_wait_s", "waiting in synchronization",
		CPA_IN_SECONDS, { THREAD, EVENT }
	},
	[CPA_METRIC_WAIT_CPU] = {
		"T_wait_cpu", "t_wait_cpu_s", "ready, without a processor",
		CPA_IN_SECONDS, { THREAD }
	},
	[CPA_METRIC_EXTERNAL] = {
		"T_ext", "t_ext_s", "blocked outside synchronization",
		CPA_IN_SECONDS, { THREAD }
	},
	[CPA_METRIC_PROBE] = {
		"T_probe", "t_probe_s", "in the profiler",
		CPA_IN_SECONDS, { THREAD }
	},
	[CPA_METRIC_RESPONSE] = {
		"R", "r", "response ratio, T / T_cpu",
		CPA_IN_RATIOS, { THREAD }
	},
	[CPA_METRIC_LOAD] = {
		"L", "l", "load factor, (T_cpu + T_wait_cpu) / T_cpu",
		CPA_IN_RATIOS, { THREAD }
	},
	[CPA_METRIC_PARALLELISM] = {
		"P", "p", "parallelism, T_cpu / T",
		CPA_IN_RATIOS, { PROCESS }
	},
	[CPA_METRIC_MOST_PARALLELISM] = {
		"P_max", "p_max", "upper bound of P, (T_cpu + T_ext) / critical path",
		CPA_IN_RATIOS, { PROGRAM }
	},
	[CPA_METRIC_UTILIZATION] = {
		"rho", "rho", "utilization, P / processors",
		CPA_IN_RATIOS, { THREAD }
	},
	[CPA_METRIC_PROGRESS] = {
		"PR", "pr", "progress ratio, T_cpu / T_wait",
		CPA_IN_RATIOS, { THREAD }
	},
	[CPA_METRIC_OPERATIONS] = {
		"M_m", "m_m_per_s", "events of synchronization a second",
		CPA_IN_RATES, { THREAD, PROCEDURE, EVENT }
	},
	[CPA_METRIC_BYTES] = {
		"M_b", "m_b_per_s", "bytes a second by read, write, send, recv, stdio",
		CPA_IN_RATES, { THREAD }
	},
	[CPA_METRIC_CALLS] = {
		"C", "c", "procedure calls (instrumented builds)",
		CPA_IN_NUMBERS, { PROCESS, PROCEDURE }
	},
};
/* clang-format on */

const struct cpa_metric_about *cpa_metric_about(enum cpa_metric metric)
{
	return &metrics[metric];
}

const char *cpa_metric_level_name(enum cpa_metric_level level)
{
	static const char *const names[CPA_METRIC_LEVELS] = {
		[CPA_AT_PROGRAM] = "program",	  [CPA_AT_MACHINE] = "machine",
		[CPA_AT_PROCESS] = "process",	  [CPA_AT_THREAD] = "thread",
		[CPA_AT_PROCEDURE] = "procedure", [CPA_AT_EVENT] = "event",
	};

	return names[level];
}

struct cpa_metric_base cpa_metric_base_none(void)
{
	return (struct cpa_metric_base){ NAN, NAN, NAN, NAN, NAN, NAN, NAN,
					 NAN, NAN, NAN, NAN, NAN, NAN, NAN };
}

static double ratio(double a, double b)
{
	return b > 0 ? a / b : NAN;
}

void cpa_metrics_derive(const struct cpa_metric_base *b, enum cpa_metric_level level,
			double value[CPA_METRICS])
{
	const double all[CPA_METRICS] = {
		[CPA_METRIC_MACHINES] = b->machines,
		[CPA_METRIC_PROCESSES] = b->processes,
		[CPA_METRIC_THREADS] = b->threads,
		[CPA_METRIC_TIME] = b->time,
		[CPA_METRIC_CPU] = b->cpu,
		[CPA_METRIC_WAIT] = b->wait,
		[CPA_METRIC_WAIT_CPU] = b->runqueue,
		[CPA_METRIC_EXTERNAL] = b->external,
		[CPA_METRIC_PROBE] = b->probe,
		[CPA_METRIC_RESPONSE] = ratio(b->time, b->cpu),
		[CPA_METRIC_LOAD] = ratio(b->cpu + b->runqueue, b->cpu),
		[CPA_METRIC_PARALLELISM] = ratio(b->cpu, b->time),
		[CPA_METRIC_MOST_PARALLELISM] = ratio(b->cpu + b->external, b->path),
		[CPA_METRIC_UTILIZATION] = ratio(ratio(b->cpu, b->time), b->cores),
		[CPA_METRIC_PROGRESS] = ratio(b->cpu, b->wait),
		[CPA_METRIC_OPERATIONS] = ratio(b->events, b->time),
		[CPA_METRIC_BYTES] = ratio(b->bytes, b->time),
		[CPA_METRIC_CALLS] = b->calls,
	};

	for (unsigned i = 0; i < CPA_METRICS; i++)
		value[i] = cpa_metric_about(i)->at[level] ? all[i] : NAN;
}

/* Append an empty row for the caller to fill. The pointer is valid until the next call. */
static struct cpa_metric_row *add_row(struct cpa_metrics *m, enum cpa_metric_level level)
{
	size_t count = m->rows[level]++;

	m->row[level] = xrealloc(m->row[level], (count + 1) * sizeof(*m->row[level]));
	m->row[level][count] = (struct cpa_metric_row){ .base = cpa_metric_base_none() };
	return &m->row[level][count];
}

static void add_threads(struct cpa_metrics *m, const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];
		struct cpa_metric_row *row = add_row(m, CPA_AT_THREAD);
		struct cpa_metric_base *base = &row->base;

		row->name = xstrdup(thread->start_routine);
		row->where = *thread->name ? xstrdup(thread->name) : NULL;
		row->id = thread->tid;
		row->row = thread->row;
		base->threads = 1 + thread->earlier;
		base->cores = 1;
		base->cpu = thread->process_s;
		base->wait = thread->wait_s;
		base->runqueue = thread->runqueue_s;
		base->external = thread->external_s;
		base->probe = thread->probe_s;
		base->events = (double)thread->events;
		base->bytes = (double)thread->bytes_read + (double)thread->bytes_written;
		/* A row shared by several threads in turn has only the sums of them all. */
		base->time = thread->earlier ? base->cpu + base->wait + base->runqueue +
						       base->external + base->probe :
					       thread->profiled_s;
	}
}

/* Sums over all threads, including those that are not profiled individually. */
static struct cpa_metric_base sum_threads(const struct cpa_metrics *m,
					  const struct cpa_profile *profile)
{
	struct cpa_metric_base sum = {
		.machines = 1,
		.cores = profile->program.cores,
		.time = profile->program.wall_s,
		.path = profile->program.critical_path_s,
		.calls = NAN,
	};

	for (size_t i = 0; i < m->rows[CPA_AT_THREAD]; i++) {
		const struct cpa_metric_base *base = &m->row[CPA_AT_THREAD][i].base;

		sum.threads += base->threads;
		sum.cpu += base->cpu;
		sum.wait += base->wait;
		sum.runqueue += base->runqueue;
		sum.external += base->external;
		sum.probe += base->probe;
		sum.events += base->events;
		sum.bytes += base->bytes;
	}
	for (size_t i = 0; i < profile->components; i++)
		if (profile->component[i].calls)
			sum.calls = (isnan(sum.calls) ? 0 : sum.calls) +
				    (double)profile->component[i].calls;
	return sum;
}

/* Count events and bytes of @process, if all of its threads have rows of their own. */
static void count_events(const struct cpa_profile *profile,
			 const struct cpa_process_figures *process, struct cpa_metric_base *base)
{
	uint64_t threads = 0;
	double events = 0, bytes = 0;

	for (size_t i = 0; i < profile->threads; i++) {
		const struct cpa_thread_figures *thread = &profile->thread[i];

		if (thread->process != process->id)
			continue;
		threads += 1 + (uint64_t)thread->earlier;
		events += (double)thread->events;
		bytes += (double)thread->bytes_read + (double)thread->bytes_written;
	}
	if (threads != process->threads)
		return;
	base->events = events;
	base->bytes = bytes;
}

/* Add a process, or the sum of all processes of one command. */
static void add_process(struct cpa_metrics *m, const struct cpa_profile *profile,
			const struct cpa_process_figures *process)
{
	struct cpa_metric_row *row = add_row(m, CPA_AT_PROCESS);
	struct cpa_metric_base *base = &row->base;

	row->id = process->pid;
	row->name = process->count == 1 ? cpa_process_title(process) :
					  cpa_format_text("%s, %" PRIu64 " processes",
							  process->name, process->count);
	base->threads = process->threads;
	base->cores = profile->program.cores;
	base->cpu = process->process_s;
	base->wait = process->wait_s;
	base->runqueue = process->runqueue_s;
	base->external = process->external_s;
	base->probe = process->probe_s;
	if (process->count > 1)
		return;
	base->time = fmax(0, (process->end_s > 0 ? process->end_s : profile->program.wall_s) -
				     process->start_s);
	count_events(profile, process, base);
}

/* The machine's metrics are those of the program; so are the process's, if there is only one. */
static void add_wholes(struct cpa_metrics *m, const struct cpa_profile *profile)
{
	const struct cpa_program_figures *program = &profile->program;
	struct cpa_metric_base base = sum_threads(m, profile);
	bool several = profile->processes > 1;

	base.processes = !several;
	for (size_t i = 0; several && i < profile->processes; i++) {
		base.processes += (double)profile->process[i].count;
		add_process(m, profile, &profile->process[i]);
	}
	for (enum cpa_metric_level level = CPA_AT_PROGRAM;
	     level <= (several ? CPA_AT_MACHINE : CPA_AT_PROCESS); level++) {
		struct cpa_metric_row *row = add_row(m, level);

		row->base = base;
		row->id = level == CPA_AT_PROCESS ? program->pid : 0;
		row->name = xstrdup(level == CPA_AT_MACHINE ? program->host : program->exe);
	}
}

static int compare_names(const void *a, const void *b)
{
	const struct cpa_metric_row *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static struct cpa_metric_row *find_procedure(struct cpa_metrics *m, size_t sorted, const char *name)
{
	const struct cpa_metric_row key = { .name = (char *)(uintptr_t)name };
	struct cpa_metric_row *row, *rows = m->row[CPA_AT_PROCEDURE];

	row = bsearch(&key, rows, sorted, sizeof(*rows), compare_names);
	for (size_t i = sorted; !row && i < m->rows[CPA_AT_PROCEDURE]; i++)
		row = strcmp(rows[i].name, name) == 0 ? &rows[i] : NULL;
	return row;
}

/*
 * Count events by node, with the activity that each ends, and waits by the dependencies that ended
 * them.
 */
static void count_nodes(struct cpa_metrics *m, const struct cpa_profile *profile)
{
	for (size_t i = 0; i < profile->nodes; i++) {
		const struct cpa_node_figures *node = &profile->node[i];
		struct cpa_metric_row *row = add_row(m, CPA_AT_EVENT);

		row->name = node->class ? cpa_format_text("%s %s", node->kind, node->class) :
					  xstrdup(node->kind);
		if (node->site)
			row->where = xstrdup(node->site);
		row->id = node->id;
		row->base.events = row->base.wait = row->base.time = 0;
	}
	for (size_t i = 0; i < profile->edges; i++) {
		const struct cpa_edge_figures *edge = &profile->edge[i];
		const struct cpa_node_figures *node = cpa_profile_node(profile, edge->to);
		struct cpa_metric_base *base;

		if (!node)
			continue;
		base = &m->row[CPA_AT_EVENT][node - profile->node].base;
		/* The time before a thread's start is not a wait of the thread. */
		if (edge->dependency && strcmp(node->kind, "start") != 0) {
			base->wait += edge->weight_s;
		} else if (!edge->dependency) {
			base->events += (double)edge->count;
			base->time += edge->weight_s;
		}
	}
}

static void add_procedures(struct cpa_metrics *m, const struct cpa_profile *profile)
{
	size_t sorted;

	for (size_t i = 0; i < profile->components; i++) {
		const struct cpa_component_figures *component = &profile->component[i];
		struct cpa_metric_row *row;

		if (component->kind != CPA_FUNCTION)
			continue;
		row = add_row(m, CPA_AT_PROCEDURE);
		row->name = xstrdup(component->name);
		row->where = component->location ? xstrdup(component->location) : NULL;
		row->slot = component->slot;
		row->base.time = profile->program.wall_s;
		row->base.cpu = component->total_s;
		row->base.events = 0;
		if (component->calls)
			row->base.calls = (double)component->calls;
	}
	sorted = m->rows[CPA_AT_PROCEDURE];
	qsort(m->row[CPA_AT_PROCEDURE], sorted, sizeof(struct cpa_metric_row), compare_names);
	for (size_t i = 0; i < profile->nodes; i++) {
		const struct cpa_node_figures *node = &profile->node[i];
		struct cpa_metric_row *row;

		if (!node->site)
			continue;
		row = find_procedure(m, sorted, node->site);
		if (!row) {
			row = add_row(m, CPA_AT_PROCEDURE);
			row->name = xstrdup(node->site);
			row->where = node->location ? xstrdup(node->location) : NULL;
			row->base.time = profile->program.wall_s;
			row->base.cpu = row->base.events = 0;
		}
		row->base.events += m->row[CPA_AT_EVENT][i].base.events;
	}
}

static double rank(const struct cpa_metric_row *row)
{
	return isnan(row->base.cpu) ? row->base.wait : row->base.cpu;
}

static int compare_rows(const void *a, const void *b)
{
	const struct cpa_metric_row *x = a, *y = b;

	if (rank(x) != rank(y))
		return rank(x) > rank(y) ? -1 : 1;
	if (x->base.events != y->base.events)
		return x->base.events > y->base.events ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->name, y->name);
}

struct cpa_metrics *cpa_metrics_build(const struct cpa_profile *profile)
{
	struct cpa_metrics *m = xcalloc(1, sizeof(*m));

	for (unsigned level = 0; level < CPA_METRIC_LEVELS; level++)
		m->row[level] = xcalloc(1, sizeof(*m->row[level])); /* never NULL, for qsort() */
	add_threads(m, profile);
	add_wholes(m, profile);
	count_nodes(m, profile);
	add_procedures(m, profile);
	for (unsigned level = 0; level < CPA_METRIC_LEVELS; level++) {
		for (size_t i = 0; i < m->rows[level]; i++) {
			struct cpa_metric_row *row = &m->row[level][i];
			struct cpa_metric_base base = row->base;

			/* Rates of events are per second of the program's time. */
			if (level == CPA_AT_EVENT)
				base.time = profile->program.wall_s;
			cpa_metrics_derive(&base, level, row->value);
			if (level == CPA_AT_EVENT)
				row->value[CPA_METRIC_TIME] = row->base.time;
		}
		qsort(m->row[level], m->rows[level], sizeof(*m->row[level]), compare_rows);
	}
	return m;
}

void cpa_metrics_free(struct cpa_metrics *m)
{
	for (unsigned level = 0; m && level < CPA_METRIC_LEVELS; level++) {
		for (size_t i = 0; i < m->rows[level]; i++) {
			free(m->row[level][i].name);
			free(m->row[level][i].where);
		}
		free(m->row[level]);
	}
	free(m);
}
