/* SPDX-License-Identifier: MIT */
/* analysis/profile/components.h - figures of components: their time, and what zeroing them saves */
#ifndef CPA_ANALYSIS_PROFILE_COMPONENTS_H
#define CPA_ANALYSIS_PROFILE_COMPONENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shadow/format/layout.h"

/* A part of a function: where certain functions called it. */
struct cpa_part_of_function {
	uint32_t row;	/* of the components table */
	char *function; /* its name */
	size_t callers;
	char **caller; /* names, the innermost first; the last may be "(callers not found)" */
	bool unknown;  /* no caller was found: that text is the only one */
};

struct cpa_component_figures {
	enum cpa_component_kind kind;
	enum cpa_class_by by;
	char *name;			   /* of a part of a function, "compare <- mergelines" */
	struct cpa_part_of_function *part; /* NULL: it is none, or shared */
	char *location;
	char *callers; /* of a function: those with most of its path, "compare <- mergelines"; or NULL */
	enum cpa_external_class class; /* of an external */
	bool nameless; /* its name is an offset, because its module has no symbols */
	bool shared;   /* other components may use its slot: figures of all; `name` lists them */
	uint32_t slot;
	uint32_t module; /* of its code or variable: number in the profile, from 1; 0: none */
	uint64_t offset; /* of its code or variable in the module's file; no module: address */
	double total_s;	 /* process time of all threads; of an external, time blocked */
	double critical_path_s, observed_path_s; /* its share of either path */
	double saved_s;				 /* what zeroing it takes off the inherent path */
	/* see margins.h; NAN: not known */
	double total_margin_s, critical_path_margin_s, saved_margin_s;
	/*
	 * Of a run in windows: its share of the critical path if each window is weighted by the time that it stands
	 * for (evenness.h). NAN: not known.
	 */
	double run_share, run_share_margin;
	/*
	 * For a component that the search found in its bucket: its figures begin at since_s, and
	 * may be error_s too small or too large. It had at most before_s of the path before, which
	 * was since_path_s long.
	 */
	uint32_t among; /* 0: it was not found by the search */
	double since_s, since_path_s, before_s, error_s;
	/* Of a function of an instrumented build, exact; calls 0: it is none. */
	uint64_t calls;
	double inclusive_s; /* process and external time with what it called */
	bool has_whole;	    /* whole_*: the function together with what it called */
	double whole_saved_s, whole_critical_path_s;
	double whole_saved_margin_s, whole_critical_path_margin_s; /* NAN: not known */
	uint32_t whole_slot; /* slot of these figures; 0: not known */
};

/* Whether both are the same component, or parts of one function. NULL is allowed. */
bool cpa_is_same_function(const struct cpa_component_figures *a,
			  const struct cpa_component_figures *b);

#endif
