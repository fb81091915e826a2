/* SPDX-License-Identifier: MIT */
/* analysis/launch/tell.h - ask cpa-report for the verdict on a run that has just ended */
#ifndef CPA_ANALYSIS_LAUNCH_TELL_H
#define CPA_ANALYSIS_LAUNCH_TELL_H

#include <signal.h>

/*
 * Print the first line of what the cpa-report at @path says of @dump on stderr; nothing if it says
 * nothing. It runs with the signal mask @mask, and is stopped if it takes long.
 */
void cpa_tell_verdict(const char *path, const char *dump, const sigset_t *mask);

#endif
