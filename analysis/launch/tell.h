/* SPDX-License-Identifier: MIT */
/* analysis/launch/tell.h - ask cpa-report for the verdict on a run that has just ended */
#ifndef CPA_ANALYSIS_LAUNCH_TELL_H
#define CPA_ANALYSIS_LAUNCH_TELL_H

#include <signal.h>

/*
 * Print the verdict of the cpa-report at @path on @dump on stderr, and in a second line why it may
 * be off if there is a reason; nothing if it says nothing. It runs with the signal mask @mask, and
 * is stopped if it takes long.
 */
void cpa_tell_verdict(const char *path, const char *dump, const sigset_t *mask);

#endif
