/* SPDX-License-Identifier: MIT */
/* analysis/profile/modules.h - the executable and its libraries */
#ifndef CPA_ANALYSIS_PROFILE_MODULES_H
#define CPA_ANALYSIS_PROFILE_MODULES_H

#include <stdint.h>

/* The executable or a library. */
struct cpa_module_figures {
	char *path;	     /* NULL: the row is unused */
	char *build_id;	     /* hexadecimal digits; NULL: it has none */
	uint64_t start, end; /* mapped range, as the file has addresses */
	uint64_t bias;	     /* address in the run minus address in the file */
};

#endif
