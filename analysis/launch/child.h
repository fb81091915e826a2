/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/child.h - run a program in place of the launcher
 *
 * The parent signals, stops and kills the launcher, and reads its exit status, as if it were the
 * program.
 */
#ifndef CPA_ANALYSIS_LAUNCH_CHILD_H
#define CPA_ANALYSIS_LAUNCH_CHILD_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "analysis/launch/parts.h"

struct cpa_child {
	pid_t pid;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
	sigset_t old_mask;   /* signal mask of the launcher before the start */
};

/* Start @path. Return 0, or -errno if fork or exec failed. */
int cpa_child_start(struct cpa_child *child, const char *path, char **argv);

/*
 * Pass signals on until the program ends, and switch profiling as @parts says. Return its wait
 * status.
 */
int cpa_child_wait(const struct cpa_child *child, struct cpa_parts *parts);

/* End the launcher in the way that wait status @status describes. */
_Noreturn void cpa_child_end_alike(int status);

#endif
