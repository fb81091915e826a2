/* SPDX-License-Identifier: MIT */
/*
 * analysis/metrics/metrics.h - the metrics of IPS, Table II, at the levels of its Table III
 *
 * Adapted to threads: what the papers call a process is sequential, so it is a thread here; a
 * process is all threads of one address space. A message is an event of synchronization. Each
 * definition, with its source, is in cpa-metrics(7) and, short, in cpa_metric_about().
 */
#ifndef CPA_ANALYSIS_METRICS_METRICS_H
#define CPA_ANALYSIS_METRICS_METRICS_H

#include "analysis/profile/profile.h"

enum cpa_metric_level {
	CPA_AT_PROGRAM,
	CPA_AT_MACHINE,
	CPA_AT_PROCESS,
	CPA_AT_THREAD,
	CPA_AT_PROCEDURE,
	CPA_AT_EVENT,
	CPA_METRIC_LEVELS
};

enum cpa_metric {
	CPA_METRIC_MACHINES,  /* N_m */
	CPA_METRIC_PROCESSES, /* N_p */
	CPA_METRIC_THREADS,   /* N_t */
	CPA_METRIC_TIME,      /* T */
	CPA_METRIC_CPU,	      /* T_cpu */
	CPA_METRIC_WAIT,      /* T_wait */
	CPA_METRIC_WAIT_CPU,  /* T_wait_cpu: ready, without a processor */
	CPA_METRIC_EXTERNAL,  /* T_ext */
	CPA_METRIC_PROBE,     /* T_probe */
	CPA_METRIC_RESPONSE,  /* R */
	CPA_METRIC_LOAD,      /* L */
	CPA_METRIC_PARALLELISM,
	CPA_METRIC_MOST_PARALLELISM, /* P_max */
	CPA_METRIC_UTILIZATION,	     /* rho */
	CPA_METRIC_PROGRESS,	     /* PR */
	CPA_METRIC_OPERATIONS,	     /* M_m, per second */
	CPA_METRIC_BYTES,	     /* M_b, per second */
	CPA_METRIC_CALLS,	     /* C */
	CPA_METRICS
};

enum cpa_metric_unit { CPA_IN_SECONDS, CPA_IN_NUMBERS, CPA_IN_RATIOS, CPA_IN_RATES };

struct cpa_metric_about {
	const char *symbol;  /* "T_cpu" */
	const char *key;     /* key in JSON and CSV: "t_cpu_s" */
	const char *meaning; /* short description */
	enum cpa_metric_unit unit;
	bool at[CPA_METRIC_LEVELS];
};

const struct cpa_metric_about *cpa_metric_about(enum cpa_metric metric);
const char *cpa_metric_level_name(enum cpa_metric_level level);

/*
 * Sums over the threads of a part of the program, over a part of its run, from which metrics are
 * derived. Seconds and numbers; NAN: not known.
 */
struct cpa_metric_base {
	double machines, processes, threads;
	double cores; /* processors that the threads could use at once */
	double time;  /* length of the part of the run, wall time */
	double cpu, wait, runqueue, external, probe;
	double path; /* growth of the critical path during it */
	double events, bytes, calls;
};

/* A base in which every value is not known. */
struct cpa_metric_base cpa_metric_base_none(void);

/*
 * Compute the metrics of @base at @level. NAN: not defined at the level, not known, or a ratio to
 * 0.
 */
void cpa_metrics_derive(const struct cpa_metric_base *base, enum cpa_metric_level level,
			double value[CPA_METRICS]);

/* One row: a machine, process, thread, procedure or event (a node of the activity graph). */
struct cpa_metric_row {
	char *name;
	char *where;   /* location of a procedure or event, or NULL */
	uint32_t id;   /* pid, tid or node */
	uint32_t row;  /* thread row */
	uint32_t slot; /* slot of a procedure; 0: none */
	struct cpa_metric_base base;
	double value[CPA_METRICS];
};

struct cpa_metrics {
	size_t rows[CPA_METRIC_LEVELS];
	struct cpa_metric_row *row[CPA_METRIC_LEVELS]; /* by T_cpu; events: by T_wait */
};

/* Compute the metrics of @profile, which must outlive the result. The caller frees it. */
struct cpa_metrics *cpa_metrics_build(const struct cpa_profile *profile);
void cpa_metrics_free(struct cpa_metrics *metrics);

/*
 * The base of thread row @row (0: all threads) between samples @from (SIZE_MAX: the start of the
 * run) and @to.
 */
struct cpa_metric_base cpa_metric_base_between(const struct cpa_profile *profile, uint32_t row,
					       size_t from, size_t to);

/* One metric over time, for each row of a level. */
struct cpa_histogram {
	enum cpa_metric metric;
	enum cpa_metric_level level;
	size_t bins;
	double period_s; /* of the run from bin to bin; the last one may come sooner */
	/*
	 * [bins]: end of each bin, without what lies between parts of the run, so that a bin may
	 * have no length; the first bin starts with the run.
	 */
	const double *until_s;
	size_t rows;
	const struct cpa_metric_row **row;
	double *value; /* [rows * bins] */
};

/*
 * The metric of each row of @level in each interval. NULL: it is not sampled at that level. bins is
 * 0 if the run was too short.
 */
struct cpa_histogram *cpa_histogram_build(const struct cpa_profile *profile,
					  const struct cpa_metrics *metrics, enum cpa_metric metric,
					  enum cpa_metric_level level);
void cpa_histogram_free(struct cpa_histogram *histogram);

#endif
