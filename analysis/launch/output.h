/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/output.h - the name of the profile, and whether it can be written
 *
 * The library runs inside the program, which goes on without a profile if the file cannot be
 * created. So the launcher tests this before it starts the program.
 */
#ifndef CPA_ANALYSIS_LAUNCH_OUTPUT_H
#define CPA_ANALYSIS_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "shadow/format/layout.h"

/*
 * Write to @name the file name that the library makes from @pattern in program @exe with process id
 * @pid; 0: not known yet, "PID" stands for it. Return -1 if it does not fit.
 */
int cpa_output_name(const char *pattern, const char *exe, pid_t pid, char *name, size_t size);

/* Write to @stamped the @pattern with the time, in UTC, for %t. Return -1 if it does not fit. */
int cpa_output_stamp(const char *pattern, char *stamped, size_t size);

/*
 * Check that the file of @pattern can be created; @source: the setting's name in messages. An
 * existing file is removed if @force, else it is an error. Return 0, or an exit status after one
 * line on stderr.
 */
int cpa_output_check(const char *pattern, const char *source, const char *exe, bool force);

/*
 * The program @pid has ended with wait status @status: record that in its profile @name, with
 * @load, the use of the processors by this and other programs while it ran. Cut the file to the
 * size that is in use. Where others may write to the folder, somebody may have put another file at
 * @name: that one is left alone.
 */
void cpa_output_ended(const char *name, pid_t pid, int status, const struct cpa_load *load);

#endif
