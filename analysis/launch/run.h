/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/run.h - cpa run: a program with libcpa.so, then its verdict and the next command
 */
#ifndef CPA_ANALYSIS_LAUNCH_RUN_H
#define CPA_ANALYSIS_LAUNCH_RUN_H

/*
 * Run the command line of cpa run; argv[0] is "run", and @argv0 is how cpa was called. Ends as the
 * program does. Returns an exit status after one line on stderr if that was not started, or is run
 * several times.
 */
int cpa_run(const char *argv0, int argc, char **argv);

#endif
