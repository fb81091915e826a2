/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/function.h - functions, which may be divided by who called them
 *
 * Of a divided function each part is a component (analysis/symbols/chain.h). Times of the function
 * are the sums of its parts. What all of it would save is not known: savings do not add up.
 */
#ifndef CPA_ANALYSIS_DERIVED_FUNCTION_H
#define CPA_ANALYSIS_DERIVED_FUNCTION_H

#include "analysis/profile/components.h"
#include "analysis/profile/profile.h"

/* The function that a component is, or is a part of. Texts belong to the profile. */
struct cpa_function {
	const struct cpa_component_figures *first; /* of its parts, in the order of the profile */
	const char *name;
	bool divided;
	double critical_path_s, total_s;
};

/* Of @component, which is of kind CPA_FUNCTION. */
struct cpa_function cpa_function_of(const struct cpa_profile *profile,
				    const struct cpa_component_figures *component);

/* Whether @pattern names @component, or the function that it is or is a part of. */
bool cpa_is_component_named(const struct cpa_profile *profile,
			    const struct cpa_component_figures *component, const char *pattern);

/* The same, of the component in row @number. */
bool cpa_is_row_named(const struct cpa_profile *profile, struct cpa_names *names, uint32_t number,
		      const char *pattern);

/*
 * Whether @pattern names @component, of kind CPA_FUNCTION, or the function that it is a part of, or
 * one of these.
 */
bool cpa_is_function_named(const struct cpa_profile *profile,
			   const struct cpa_component_figures *component, const char *pattern);

/* "mergelines <- main": the callers of @part, the @most innermost ones. The caller frees it. */
char *cpa_part_of_function_callers(const struct cpa_part_of_function *part, size_t most);

#endif
