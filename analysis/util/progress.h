/* SPDX-License-Identifier: MIT */
/*
 * analysis/util/progress.h - one line on the terminal while something takes longer than a second
 *
 * For one thread, and one thing at a time.
 */
#ifndef CPA_ANALYSIS_UTIL_PROGRESS_H
#define CPA_ANALYSIS_UTIL_PROGRESS_H

/* From now on progress is shown, as "@program: ...", if stderr is a terminal. Before it is not. */
void cpa_progress_allow(const char *program);

/*
 * It goes on: call this often. The first call since the last end begins to count time; a second
 * later the line appears, and is written again some times a second.
 */
void cpa_progress_show(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* It is done: erase the line, if there is one. */
void cpa_progress_end(void);

#endif
