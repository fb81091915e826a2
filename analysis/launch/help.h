/* SPDX-License-Identifier: MIT */
/* analysis/launch/help.h - what cpa --help says */
#ifndef CPA_ANALYSIS_LAUNCH_HELP_H
#define CPA_ANALYSIS_LAUNCH_HELP_H

/* The size that --journal means by itself. */
#define CPA_JOURNAL_USUAL "256M"

extern const char cpa_help[];

#endif
