/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/copy.h - copy the session of a running process in one consistent state
 *
 * Copying takes time, and the process goes on meanwhile. So cpa reads the threads' rows first, in
 * one state (analysis/input/snapshot.h); then copies the pages, which still hold everything that
 * these rows refer to; then writes the state into the copy. Counters and tables that only grow are
 * a little newer than the state, as in every report on a running process.
 */
#ifndef CPA_ANALYSIS_INPUT_COPY_H
#define CPA_ANALYSIS_INPUT_COPY_H

/*
 * Copy the session @file to the new file @to, mode 0600. Return 0; or -1 with *@error the message,
 * which the caller frees; then @to does not exist.
 */
int cpa_copy_session(const char *file, const char *to, char **error);

#endif
