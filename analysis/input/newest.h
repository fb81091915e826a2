/* SPDX-License-Identifier: MIT */
/* analysis/input/newest.h - the default dump: the newest one in the current folder */
#ifndef CPA_ANALYSIS_INPUT_NEWEST_H
#define CPA_ANALYSIS_INPUT_NEWEST_H

/* The newest *.dump in the current folder, which the caller frees; NULL if there is none. */
char *cpa_newest_dump(void);

#endif
