/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/child.h - run a program so that the launcher can stand for it
 *
 * Whoever started the launcher signals it, stops it, kills it and reads its exit status as if it
 * were the program.
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
	sigset_t old_mask;   /* the launcher's own before the start */
};

/* Start @path. Return 0, or -errno when it could not be started (fork or exec failed). */
int cpa_child_start(struct cpa_child *child, const char *path, char **argv);

/* Pass signals on until the program ended, and see to @parts. Return its wait status. */
int cpa_child_wait(const struct cpa_child *child, struct cpa_parts *parts);

/* End the launcher as @status says the program ended. */
_Noreturn void cpa_child_end_alike(int status);

#endif
