/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/copy.h - a session of a running process, kept as it is at one moment
 *
 * To copy a file takes a while, in which the process goes on. So the threads' rows are read first,
 * in one state (analysis/input/snapshot.h); then comes a copy of the pages, in which all that those rows
 * name is still there; and then that state is put into the copy. Tables that only grow, and
 * counters, are a little newer than the state, as in each report of a running process.
 */
#ifndef CPA_ANALYSIS_INPUT_COPY_H
#define CPA_ANALYSIS_INPUT_COPY_H

/*
 * Copy the session @file to the new file @to, mode 0600. Return 0; or -1 with *@error the message,
 * freed by the caller, and no file @to.
 */
int cpa_copy_session(const char *file, const char *to, char **error);

#endif
