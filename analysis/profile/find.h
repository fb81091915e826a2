/* SPDX-License-Identifier: MIT */
/* analysis/profile/find.h - components that a sentence of the report may name */
#ifndef CPA_ANALYSIS_PROFILE_FIND_H
#define CPA_ANALYSIS_PROFILE_FIND_H

#include "analysis/profile/profile.h"

typedef bool cpa_sort(const struct cpa_profile *profile,
		      const struct cpa_component_figures *component);

/*
 * Whether @lock makes threads wait for each other, or goes from one to another. An uncontested lock
 * does not: one that a single thread holds for the whole run would "save" the whole program.
 */
cpa_sort cpa_is_contested;

cpa_sort cpa_is_contested_lock; /* a lock, and that */

/*
 * Whether @component comes last in tables: rows of many functions, or of nobody knows which, help nobody, nor do locks that make
 * nobody wait, nor queues of few items.
 */
cpa_sort cpa_comes_last;

/*
 * Whether a queue had so few items that each is rather a thread's start, as in a pool whose threads run
 * one long function each: what they do says less about the queue than about the threads.
 */
cpa_sort cpa_is_short_queue;

/*
 * Whether the code of @component can be made cheaper: not a wait, not all code of a thread, and not
 * one of many functions.
 */
cpa_sort cpa_is_work;
cpa_sort cpa_is_external;
cpa_sort cpa_is_thread;

/* The component of @sort with the largest saving; NULL: none saves anything. */
const struct cpa_component_figures *cpa_find_best(const struct cpa_profile *profile, cpa_sort sort);

/* The external component @name ("read"); NULL: none. */
const struct cpa_component_figures *cpa_find_external(const struct cpa_profile *profile,
						      const char *name);

/*
 * Whether @pattern, which may have * and ? for any characters, names a component of @kind with @slot
 * and @name. A class of threads also has the start routine and the name (pthread_setname_np()) that
 * all its threads have.
 */
bool cpa_is_named(const struct cpa_profile *profile, enum cpa_component_kind kind, uint32_t slot,
		  const char *name, const char *pattern);

/* "the lock q.lock (queue.c:88)"; with a capital if @start. The caller frees it. */
char *cpa_describe(const struct cpa_component_figures *component, bool start);

#endif
