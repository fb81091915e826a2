/* SPDX-License-Identifier: MIT */
/*
 * analysis/symbols/construct.h - names of OpenMP constructs, from those that compilers give their
 * code
 *
 * A compiler moves the body of a parallel region or task to a function of its own: solve._omp_fn.0
 * of gcc, .omp_outlined..1 of clang. Reports name the construct: "solve() parallel at solve.c:88".
 */
#ifndef CPA_ANALYSIS_SYMBOLS_CONSTRUCT_H
#define CPA_ANALYSIS_SYMBOLS_CONSTRUCT_H

#include "analysis/symbols/symbols.h"

/* "parallel", "task": what the component @row is, if it is a construct; else NULL. */
const char *cpa_construct_word(const struct cpa_component *row);

/*
 * Rename the construct at @place, whose word is @what. @under is a function in or below which a
 * thread meets it, for one whose code has no name; NULL: not known.
 *
 *	solve() parallel at solve.c:88
 *	solve() parallel [_omp_fn.1]			no line numbers
 *	parallel under solve() [libsolve.so+0x1234]	no names, either
 */
void cpa_construct_name(struct cpa_place *place, const char *what, const char *under);

/*
 * The place at which a construct is met is in the functions @inlined (analysis/symbols/inlined.h), or in none if
 * that is NULL: name the innermost. Before cpa_construct_name().
 */
void cpa_construct_met(struct cpa_place *place, const char *inlined);

/* Whether cpa_construct_name() needs @under, which takes a search. */
bool cpa_construct_is_nameless(const struct cpa_place *place);

/* The function in which @name, which a compiler made or not, is written: "solve()". The caller frees it. */
char *cpa_construct_call(const char *name);

/* Whether the function at @place is a body of which the compiler does not tell in which function it is written. */
bool cpa_construct_lacks_function(const struct cpa_place *place);

/*
 * Rename a function that is the body of a construct: "solve() body at solve.c:88", or only "solve()
 * body" where @place is somewhere in it. Other functions keep their names. @within: "solve()" where
 * cpa_construct_lacks_function(); NULL: not known.
 */
void cpa_construct_body(struct cpa_place *place, bool begins, const char *within);

/* Whether the function @name belongs to a runtime of OpenMP, which calls the bodies of constructs. */
bool cpa_construct_is_runtime(const char *name);

/* Rename the start routine of the threads of a runtime's pool, if it has no name: "OpenMP pool". */
void cpa_construct_pool(struct cpa_place *place);

/* Whether threads that start at @routine are of such a pool; "OpenMP pool", or a function of the runtime. */
bool cpa_construct_is_pool(const char *routine);

/* Rename the variable of a critical section: "critical(update)". Others keep their names. */
void cpa_construct_critical(struct cpa_place *place);

#endif
