/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/control.h - change the session of a running process
 *
 * The file is mapped for writing, so it is checked first: its owner, its format, and that each
 * write lies inside it. A file that is truncated meanwhile is reported. The file is never enlarged;
 * only its process does that. cpa run uses it, too.
 */
#ifndef CPA_ANALYSIS_CTL_CONTROL_H
#define CPA_ANALYSIS_CTL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_control {
	const char *file; /* belongs to the caller */
	struct cpa_header *header;
	uint64_t size; /* size of the mapping, bytes */
	int fd;
};

/*
 * All functions return 0; or -1 with *@error the message, which the caller frees. Call
 * cpa_control_close() only after cpa_control_open() succeeded.
 */
int cpa_control_open(struct cpa_control *control, const char *file, char **error);
void cpa_control_close(struct cpa_control *control);

/* Switch profiling on or off. It is an error if it is so already. */
int cpa_control_switch(struct cpa_control *control, bool on, char **error);

/*
 * Switch profiling on for one tick, and off: whoever keeps a budget sees that somebody else has
 * switched.
 */
int cpa_control_touch(struct cpa_control *control, char **error);

/* CPU time so far, of the program and of profiling. Sums over all threads. */
struct cpa_control_cost {
	uint64_t process;    /* ticks of the program's own work */
	uint64_t probe;	     /* ticks of cpa's operations, without those that are counted below */
	uint64_t untimed;    /* number of untimed uses of locks */
	uint64_t samples;    /* number of samples */
	double ticks_per_ns; /* of the counter */
};
void cpa_control_cost(struct cpa_control *control, struct cpa_control_cost *cost);

/* Record the present moment as mark @name. */
int cpa_control_mark(struct cpa_control *control, const char *name, char **error);

/*
 * Record that the first process of the session has just ended with wait status @status, unless it
 * recorded its own end.
 */
void cpa_control_ended(struct cpa_control *control, int status);

/*
 * Offset of @size zeroed bytes of the session that are ours from now on, with space in the file; 0:
 * there are none.
 */
uint64_t cpa_control_space(struct cpa_control *control, uint64_t size);

/* Set *@error to the message for a session whose process has ended. Return -1. */
int cpa_control_dead(const struct cpa_control *control, char **error);

#endif
