/* SPDX-License-Identifier: MIT */
/*
 * analysis/derived/nameless.h - modules whose functions have no names, and what would give them
 * some
 */
#ifndef CPA_ANALYSIS_DERIVED_NAMELESS_H
#define CPA_ANALYSIS_DERIVED_NAMELESS_H

#include "analysis/profile/profile.h"

#define CPA_NAMELESS_MOST 3 /* modules */

/* A module with functions that matter and have no name. */
struct cpa_nameless_module {
	uint32_t module;		 /* its number in the profile */
	double total_s, critical_path_s; /* of these functions */
	char *package;			 /* that has its symbols; NULL: not known */
};

struct cpa_nameless {
	size_t modules; /* by critical_path_s, most first */
	struct cpa_nameless_module module[CPA_NAMELESS_MOST];
};

/*
 * Find the modules with at least 1 % of the critical path, or of the CPU time, in functions without
 * names, and their packages of symbols that are not installed. Takes some 50 ms a module. The
 * caller frees it with cpa_nameless_fini().
 */
void cpa_nameless_init(struct cpa_nameless *nameless, const struct cpa_profile *profile);
void cpa_nameless_fini(struct cpa_nameless *nameless);

/* One sentence or two for @nameless, which the caller frees; NULL: all that matters has a name. */
char *cpa_nameless_sentence(const struct cpa_nameless *nameless, const struct cpa_profile *profile);

#endif
