/* SPDX-License-Identifier: MIT */
/* analysis/derived/find.h - components that a sentence of the report may name */
#ifndef CPA_ANALYSIS_DERIVED_FIND_H
#define CPA_ANALYSIS_DERIVED_FIND_H

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
 * Whether @component comes last in tables: a row that stands for several functions or for code that is
 * not known, a lock for which no thread waits, or a queue of few items.
 */
cpa_sort cpa_comes_last;

/*
 * Whether a queue had fewer items than make it a queue. A pool may start each of its threads with one
 * item: the work in that item is then work of the thread.
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

/*
 * The processes of the threads of class @slot, one thread in each: `n`, the work of all of them, and the
 * thread with most of it. n 0: there are no such threads, two in one process, or too many.
 */
struct cpa_processes_of {
	size_t n;
	double work_s;
	const struct cpa_thread_figures *most;
};
struct cpa_processes_of cpa_find_processes(const struct cpa_profile *profile, uint32_t slot);

/*
 * The title of the process whose first thread @thread is, if that has an argument and the thread is named by the
 * command; else NULL. The caller frees it.
 */
char *cpa_thread_title(const struct cpa_profile *profile, const struct cpa_thread_figures *thread);

#endif
