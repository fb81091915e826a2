/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/beside.h - the library and the tools that belong to this cpa
 *
 * They are found by where the executable is: installed, or freshly built.
 */
#ifndef CPA_ANALYSIS_LAUNCH_BESIDE_H
#define CPA_ANALYSIS_LAUNCH_BESIDE_H

#include <stdbool.h>

/*
 * Write the path of tool @name ("cpa-report") to @found [PATH_MAX]. Return false if there is none.
 */
bool cpa_beside_find_tool(const char *name, char *found);

/*
 * Write the path of libcpa.so, or of what CPA_LIB names, to @library [PATH_MAX]. Return 0, or an
 * exit status after one line on stderr.
 */
int cpa_beside_find_library(char *library);

/*
 * Execute tool @name with the arguments behind argv[0], which becomes its path. Return an exit
 * status, after one line on stderr, if that fails.
 */
int cpa_beside_become(const char *name, char **argv);

#endif
