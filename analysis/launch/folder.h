/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/folder.h - the folder .cpa, in which cpa run keeps profiles by default
 *
 * It is in the folder where cpa run is called. A file .gitignore in it keeps it out of git.
 * Profiles are named EXE.PID.DATE-TIME.dump, so that they never meet an older one of the same
 * process number.
 */
#ifndef CPA_ANALYSIS_LAUNCH_FOLDER_H
#define CPA_ANALYSIS_LAUNCH_FOLDER_H

#include <stddef.h>

#define CPA_FOLDER ".cpa"

/*
 * Make the folder if there is none, and write the pattern of a new profile in it to @pattern of
 * @size bytes. Return 0, or an exit status after one line on stderr.
 */
int cpa_folder_pattern(char *pattern, size_t size);

/* The part of @file that is enough in this folder: without the path of the current one. */
const char *cpa_folder_short(const char *file);

/* cpa ls, and cpa rm [--older TIME] [PROFILE...]. Return the exit status. */
int cpa_folder_list(int argc, char **argv);
int cpa_folder_remove(int argc, char **argv);

#endif
