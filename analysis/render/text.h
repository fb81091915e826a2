/* SPDX-License-Identifier: MIT */
/* analysis/render/text.h - the report as text */
#ifndef CPA_ANALYSIS_RENDER_TEXT_H
#define CPA_ANALYSIS_RENDER_TEXT_H

#include "analysis/util/format.h"
#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

enum cpa_level {
	CPA_LEVEL_ALL, /* everything except the activity graph */
	CPA_LEVEL_VERDICT,
	CPA_LEVEL_PROGRAM,
	CPA_LEVEL_COMPONENT,
	CPA_LEVEL_REGION,
	CPA_LEVEL_PROCESS,
	CPA_LEVEL_THREAD,
	CPA_LEVEL_OBJECT,
	CPA_LEVEL_QUEUE,
	CPA_LEVEL_STREAM,
	CPA_LEVEL_INTERVAL,
	CPA_LEVEL_CONTEXT, /* cpa_text_contexts() writes it */
	CPA_LEVEL_PAG,
	CPA_LEVELS
};

/* The word for a level on the command line. */
const char *cpa_level_name(enum cpa_level level);

/* Write the first lines of the report: the program, its run time, and how it ended. */
void cpa_text_program(const struct cpa_page *page, const struct cpa_profile *profile);

/* Write the part of @profile that @level selects, at most @top rows of each table. */
void cpa_text_write(const struct cpa_profile *profile, const struct cpa_page *page,
		    enum cpa_level level, size_t top);

/* Sort the @number edges @edges by their time on the critical path, and write the first @top. */
void cpa_text_edges(const struct cpa_page *page, const struct cpa_profile *profile,
		    struct cpa_edge_figures *edges, size_t number, size_t top);

/* Whether hand-offs are counted for the object; semaphores and the like have none. */
bool cpa_text_hands_off(const struct cpa_object_figures *object);

/* The number of hand-offs; "-" if they are not counted. */
struct cpa_figure cpa_text_handoffs(const struct cpa_object_figures *object);

/*
 * "mutex q.lock"; a class known by a site keeps its name, such as "mutex from init". The caller
 * frees it.
 */
char *cpa_text_class(const struct cpa_object_figures *object);

#endif
