/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/writers.h - the formats of the report
 *
 * A new format is one file that writes it and one row in writers.c.
 */
#ifndef CPA_ANALYSIS_REPORT_WRITERS_H
#define CPA_ANALYSIS_REPORT_WRITERS_H

#include "analysis/export/frames.h"
#include "analysis/metrics/metrics.h"
#include "analysis/profile/profile.h"
#include "analysis/render/text.h"

/* The requested part of a profile. */
struct cpa_selection {
	enum cpa_level level;
	uint32_t callers; /* of CPA_LEVEL_CONTEXT: at most; 0: all */
	bool metrics;	  /* show metrics, instead of `level`: */
	enum cpa_metric_level metric_level;
	bool phases;
	size_t top;		/* rows of a table */
	enum cpa_weight weight; /* of folded stacks */
	size_t cores; /* of `core`: numbers of cores to replay a journal on, for html; 0: choose */
	const uint32_t *core;
};

struct cpa_writer {
	const char *name; /* value of --format */
	bool has_sites;	  /* it always shows call sites, whose names take time to look up */
	bool has_stacks;  /* it always shows the functions on stacks, inlined ones too */
	bool has_lines;	  /* it always shows the lines of these functions, too */
	bool is_page;	  /* a page for a browser; replays a journal on the cores of --cores */
	bool is_json;	  /* answers to --what-if and --cores are JSON too */
	bool is_binary;	  /* nothing for a terminal */
	/*
	 * Write @profile, of @dump, to @page. Its width and colours are for text. Return 0; below 0
	 * with errno set if the output cannot be written; or an exit status after a line on stderr.
	 */
	int (*write)(struct cpa_dump *dump, const struct cpa_profile *profile,
		     const struct cpa_selection *show, const struct cpa_page *page);
};

/* What @writer needs of the graph to @show that, and @stacks. */
enum cpa_graph cpa_writer_graph(const struct cpa_writer *writer, const struct cpa_selection *show,
				bool stacks);

/* The writer with @name; NULL: none. */
const struct cpa_writer *cpa_writer_find(const char *name);

/* The default writer: text. */
extern const struct cpa_writer *const cpa_writer_text;

#endif
