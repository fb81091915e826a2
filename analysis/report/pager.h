/* SPDX-License-Identifier: MIT */
/*
 * analysis/report/pager.h - show long text page by page, as git does
 *
 * The pager is CPA_PAGER, else PAGER, else less; "cat" or an empty value is none. less gets
 * LESS=FRX unless that is set: text that fits the screen is only printed, colours stay, and so does
 * the text.
 */
#ifndef CPA_ANALYSIS_REPORT_PAGER_H
#define CPA_ANALYSIS_REPORT_PAGER_H

/* If standard output is a terminal, lead it through a pager, if there is one. */
void cpa_pager_start(void);

/*
 * Flush standard output, and wait until the user has left the pager. Return 0, or EOF with errno.
 */
int cpa_pager_end(void);

#endif
