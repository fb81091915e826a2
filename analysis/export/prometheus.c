/* SPDX-License-Identifier: MIT */
#include "analysis/export/prometheus.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analysis/symbols/names.h"
#include "analysis/profile/components.h"
#include "analysis/profile/queues.h"

/* A metric of the program: all of them have one sample. */
struct metric {
	const char *name, *type, *help;
	double value;
};

/* A metric of components or queues, with a sample a row. */
struct column {
	const char *name, *type, *help;
	double (*value)(const struct cpa_profile *profile, size_t row);
};

/* What labels a row. Several rows may have the same labels, which the format forbids. */
struct labels {
	const char *kind; /* or NULL */
	const char *name, *location;
};

static void put_head(FILE *out, const char *name, const char *type, const char *help)
{
	fprintf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void put_value(FILE *out, double value)
{
	if (isnan(value))
		fputs(" NaN\n", out);
	else
		fprintf(out, " %.9f\n", value);
}

/* Names are valid UTF-8 without control characters: analysis/util/printable.h. */
static void put_label(FILE *out, const char *before, const char *label, const char *text)
{
	fprintf(out, "%s%s=\"", before, label);
	for (; text && *text; text++) {
		if (*text == '\\' || *text == '"')
			fputc('\\', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void put_labels(FILE *out, const struct cpa_profile *profile, const struct labels *labels)
{
	put_label(out, "{", "program", profile->program.name);
	if (labels->kind)
		put_label(out, ",", "kind", labels->kind);
	if (labels->name) {
		put_label(out, ",", "name", labels->name);
		put_label(out, ",", "location", labels->location);
	}
	fputc('}', out);
}

static void put_metrics(const struct cpa_profile *profile, const struct metric *metric,
			size_t metrics, FILE *out)
{
	const struct labels none = { 0 };

	for (size_t i = 0; i < metrics; i++) {
		put_head(out, metric[i].name, metric[i].type, metric[i].help);
		fputs(metric[i].name, out);
		put_labels(out, profile, &none);
		put_value(out, metric[i].value);
	}
}

static void put_program(const struct cpa_profile *profile, FILE *out)
{
	const struct cpa_program_figures *p = &profile->program;
	const struct metric metrics[] = {
		{ "cpa_profiled_seconds_total", "counter", "Time of the run that was profiled.",
		  p->wall_s },
		{ "cpa_run_seconds_total", "counter", "Time of the run, profiled or not.",
		  p->run_s },
		{ "cpa_cpu_seconds_total", "counter",
		  "CPU time of all threads in the profiled time.", p->cpu_s },
		{ "cpa_critical_path_seconds_total", "counter",
		  "Length of the critical path of the profiled time.", p->critical_path_s },
		{ "cpa_observed_path_seconds_total", "counter",
		  "Length of the observed path of the profiled time.", p->observed_path_s },
		{ "cpa_parallelism", "gauge", "CPU time of work over profiled time.",
		  p->parallelism },
		{ "cpa_max_parallelism", "gauge", "Work and service over the critical path.",
		  p->max_parallelism },
	};
	const struct metric margins[] = {
		{ "cpa_parallelism_margin", "gauge",
		  "Half of the 95 % interval of cpa_parallelism.", p->parallelism_margin },
		{ "cpa_max_parallelism_margin", "gauge",
		  "Half of the 95 % interval of cpa_max_parallelism.", p->max_parallelism_margin },
	};

	put_metrics(profile, metrics, sizeof(metrics) / sizeof(*metrics), out);
	if (p->batches)
		put_metrics(profile, margins, sizeof(margins) / sizeof(*margins), out);
}

static bool is_same(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

/* Whether a row before @row has the labels that @labels_of gives it. */
static bool is_double(const struct cpa_profile *profile, size_t row,
		      struct labels (*labels_of)(const struct cpa_profile *profile, size_t row))
{
	struct labels own = labels_of(profile, row);

	for (size_t i = 0; i < row; i++) {
		struct labels other = labels_of(profile, i);

		if (is_same(own.kind, other.kind) && is_same(own.name, other.name) &&
		    is_same(own.location, other.location))
			return true;
	}
	return false;
}

static void put_columns(const struct cpa_profile *profile, const struct column *column,
			size_t columns, size_t rows,
			struct labels (*labels_of)(const struct cpa_profile *profile, size_t row),
			FILE *out)
{
	for (size_t i = 0; rows && i < columns; i++) {
		put_head(out, column[i].name, column[i].type, column[i].help);
		for (size_t row = 0; row < rows; row++) {
			struct labels labels = labels_of(profile, row);

			if (is_double(profile, row, labels_of))
				continue;
			fputs(column[i].name, out);
			put_labels(out, profile, &labels);
			put_value(out, column[i].value(profile, row));
		}
	}
}

static struct labels of_component(const struct cpa_profile *profile, size_t row)
{
	const struct cpa_component_figures *c = &profile->component[row];

	return (struct labels){ cpa_names_component_kind(c->kind), c->name ? c->name : "",
				c->location };
}

static struct labels of_queue(const struct cpa_profile *profile, size_t row)
{
	const struct cpa_queue_figures *q = &profile->queue[row];

	return (struct labels){ NULL, q->name ? q->name : "", q->location };
}

/* NaN if there is no path. */
static double share(const struct cpa_profile *profile, double seconds)
{
	double path = profile->program.critical_path_s;

	return path > 0 ? seconds / path : NAN;
}

static double component_share(const struct cpa_profile *profile, size_t row)
{
	return share(profile, profile->component[row].critical_path_s);
}

static double component_saved(const struct cpa_profile *profile, size_t row)
{
	return share(profile, profile->component[row].saved_s);
}

static double component_share_margin(const struct cpa_profile *profile, size_t row)
{
	return share(profile, profile->component[row].critical_path_margin_s);
}

static double component_saved_margin(const struct cpa_profile *profile, size_t row)
{
	return share(profile, profile->component[row].saved_margin_s);
}

static double queue_depth(const struct cpa_profile *profile, size_t row)
{
	return (double)profile->queue[row].never_dequeued;
}

static double queue_mean(const struct cpa_profile *profile, size_t row)
{
	return profile->queue[row].mean_depth;
}

static double queue_most(const struct cpa_profile *profile, size_t row)
{
	return (double)profile->queue[row].max_depth;
}

static double queue_entered(const struct cpa_profile *profile, size_t row)
{
	return (double)profile->queue[row].enqueued;
}

static double queue_left(const struct cpa_profile *profile, size_t row)
{
	return (double)profile->queue[row].dequeued;
}

int cpa_prometheus_write(const struct cpa_profile *profile, size_t top, FILE *out)
{
	static const struct column components[] = {
		{ "cpa_component_critical_path_ratio", "gauge",
		  "Share of the critical path that is the component's.", component_share },
		{ "cpa_component_saved_ratio", "gauge",
		  "Share of the critical path that goes if the component takes no time.",
		  component_saved },
	};
	static const struct column margins[] = {
		{ "cpa_component_critical_path_ratio_margin", "gauge",
		  "Half of the 95 % interval of cpa_component_critical_path_ratio.",
		  component_share_margin },
		{ "cpa_component_saved_ratio_margin", "gauge",
		  "Half of the 95 % interval of cpa_component_saved_ratio.",
		  component_saved_margin },
	};
	static const struct column queues[] = {
		{ "cpa_queue_depth", "gauge", "Items in the queue.", queue_depth },
		{ "cpa_queue_mean_depth", "gauge", "Items in the queue, mean of the run.",
		  queue_mean },
		{ "cpa_queue_max_depth", "gauge", "Items in the queue at most.", queue_most },
		{ "cpa_queue_enqueued_total", "counter", "Items that entered the queue.",
		  queue_entered },
		{ "cpa_queue_dequeued_total", "counter", "Items that left the queue.", queue_left },
	};
	size_t rows = profile->components < top ? profile->components : top;

	put_program(profile, out);
	put_columns(profile, components, sizeof(components) / sizeof(*components), rows,
		    of_component, out);
	if (profile->program.batches)
		put_columns(profile, margins, sizeof(margins) / sizeof(*margins), rows,
			    of_component, out);
	put_columns(profile, queues, sizeof(queues) / sizeof(*queues), profile->queues, of_queue,
		    out);
	return fflush(out) || ferror(out) ? -1 : 0;
}
