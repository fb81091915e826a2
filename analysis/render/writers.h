/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/writers.h - the formats of the report
 *
 * A new format is one file that writes it and one row in writers.c.
 */
#ifndef CPA_ANALYSIS_RENDER_WRITERS_H
#define CPA_ANALYSIS_RENDER_WRITERS_H

#include "analysis/profile/metrics.h"
#include "analysis/profile/profile.h"
#include "analysis/render/text.h"

/* The part of a profile that was asked for. */
struct cpa_selection {
	enum cpa_level level;
	bool metrics; /* instead of the level: */
	enum cpa_metric_level metric_level;
	bool phases;
	size_t top; /* rows of a table */
};

struct cpa_writer {
	const char *name; /* as in --format */
	bool has_sites;	  /* it always shows call sites, whose names take time to look up */
	bool is_json;	  /* answers to --what-if and --cores are JSON, too */
	/*
	 * Write @profile to standard output; @page: the size and colours of a text. Return 0, or
	 * less: the output cannot be written, and errno says why.
	 */
	int (*write)(const struct cpa_profile *profile, const struct cpa_selection *show,
		     const struct cpa_page *page);
};

/* The writer of @name; NULL: there is none. */
const struct cpa_writer *cpa_writer_find(const char *name);

/* That of a report for people. */
extern const struct cpa_writer *const cpa_writer_text;

#endif
