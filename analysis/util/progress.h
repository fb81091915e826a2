/* SPDX-License-Identifier: MIT */
/*
 * analysis/util/progress.h - one line on the terminal for work that takes more than a second
 *
 * For one thread, and one piece of work at a time.
 */
#ifndef CPA_ANALYSIS_UTIL_PROGRESS_H
#define CPA_ANALYSIS_UTIL_PROGRESS_H

/* Enable progress lines, "@program: ...", if stderr is a terminal. Until then none is shown. */
void cpa_progress_allow(const char *program);

/*
 * Report progress; call often. The line appears one second after the first call since
 * cpa_progress_end(), and is updated a few times a second.
 */
void cpa_progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The work is done: erase the line, if shown. */
void cpa_progress_end(void);

#endif
