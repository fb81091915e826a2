/* SPDX-License-Identifier: MIT */
/*
 * analysis/verdict/jobs.h - processes that have one command, as those of a build
 *
 * All are of one class of threads. They are told apart by their arguments: "cc1 slow.c".
 */
#ifndef CPA_ANALYSIS_VERDICT_JOBS_H
#define CPA_ANALYSIS_VERDICT_JOBS_H

#include "analysis/profile/components.h"
#include "analysis/profile/processes.h"
#include "analysis/profile/profile.h"

/* Whether @class is that of the first threads of processes of one command. */
bool cpa_jobs_are(const struct cpa_profile *profile, const struct cpa_component_figures *class);

/*
 * The process of that command with most process time, of those that have one thread and are known one by one. NULL:
 * none.
 */
const struct cpa_process_figures *cpa_jobs_busiest(const struct cpa_profile *profile,
						   const char *command);

/*
 * "The last job was cc1 slow.c: ...", of the command with most of the critical path, if its processes ran at the same
 * time and are told apart; else NULL. The caller frees it.
 */
char *cpa_jobs_last(const struct cpa_profile *profile);

#endif
