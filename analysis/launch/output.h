/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/output.h - the file that the library will write, by the pattern that names it
 *
 * The library runs inside the program, which goes on without a profile when the file cannot be
 * made. So the launcher finds that out before it starts the program.
 */
#ifndef CPA_ANALYSIS_LAUNCH_OUTPUT_H
#define CPA_ANALYSIS_LAUNCH_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/*
 * Write the name that the library makes of @pattern to @name, in a program that is called @exe and
 * has @pid; 0: not known yet, "PID" stands for it. Return -1 if it does not fit.
 */
int cpa_output_name(const char *pattern, const char *exe, pid_t pid, char *name, size_t size);

/*
 * Check that the file of @pattern, a setting that the user knows as @source, can be made: one that exists is removed
 * if @force, else refused. Return 0, or an exit status after one line on stderr.
 */
int cpa_output_check(const char *pattern, const char *source, const char *exe, bool force);

/*
 * The program @pid has ended with wait status @status: tell the readers of its profile @name, and
 * cut that to its used size. Where others may write into the folder, the name may be that of
 * something else by now, which is left alone.
 */
void cpa_output_ended(const char *name, pid_t pid, int status);

#endif
