/* SPDX-License-Identifier: MIT */
/*
 * analysis/render/sections.h - text for queues, marks and instrumented procedures
 *
 * Each function writes nothing if the profile has no data for its section.
 */
#ifndef CPA_ANALYSIS_RENDER_SECTIONS_H
#define CPA_ANALYSIS_RENDER_SECTIONS_H

#include "analysis/profile/profile.h"
#include "analysis/util/table.h"

void cpa_text_queues(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);
void cpa_text_intervals(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);

/* Write one queue: the side that limits it, its items, master and workers. */
void cpa_text_queue(const struct cpa_page *page, const struct cpa_queue_figures *queue);

/* Write what threads were blocked in that weighs nothing in the critical path. */
void cpa_text_idle(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);

/* Write what the profiler cost, who used the processors, and which rule made time idle. */
void cpa_text_diagnostics(const struct cpa_page *page, const struct cpa_profile *profile);

/* Write arrays of locks, each as a whole, with its busiest lock. */
void cpa_text_lock_arrays(const struct cpa_page *page, const struct cpa_profile *profile,
			  size_t top);

void cpa_text_marks(const struct cpa_page *page, const struct cpa_profile *profile, size_t top);

/* Write the functions of a build with -finstrument-functions; calls and times are exact. */
void cpa_text_procedures(const struct cpa_page *page, const struct cpa_profile *profile,
			 size_t top);

#endif
