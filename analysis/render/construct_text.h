/* SPDX-License-Identifier: MIT */
/* analysis/render/construct_text.h - names of OpenMP constructs in the columns of a table */
#ifndef CPA_ANALYSIS_RENDER_CONSTRUCT_TEXT_H
#define CPA_ANALYSIS_RENDER_CONSTRUCT_TEXT_H

#include "analysis/profile/profile.h"

/* Texts for the columns "component" and "where". */
struct cpa_columns {
	char *name, *where;
};

/*
 * Of @component: "solve()" and "solve.c:88" for "solve() parallel at solve.c:88", the name and its
 * place for all others.
 */
struct cpa_columns cpa_columns_of(const struct cpa_component_figures *component);
void cpa_columns_fini(struct cpa_columns *columns);

/*
 * The name of a parallel region under a heading that says what it is: "solve() solve.c:88", "under
 * solve() +0x1234". The caller frees it.
 */
char *cpa_text_region(const char *name);

#endif
