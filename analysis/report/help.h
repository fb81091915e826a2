/* SPDX-License-Identifier: MIT */
/* analysis/report/help.h - what cpa-report --help says */
#ifndef CPA_ANALYSIS_REPORT_HELP_H
#define CPA_ANALYSIS_REPORT_HELP_H

extern const char cpa_report_help[];

#endif
