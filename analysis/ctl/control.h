/* SPDX-License-Identifier: MIT */
/*
 * analysis/ctl/control.h - change the session of another process, which goes on
 *
 * The file is mapped for writing, so it is looked at first: whose it is, what it is, and that what
 * is written lies within it; one that is cut meanwhile is told. Nothing of the file is ever
 * enlarged: that is for its process. Needs no library of the others in this folder; cpa run uses
 * it, too.
 */
#ifndef CPA_ANALYSIS_CTL_CONTROL_H
#define CPA_ANALYSIS_CTL_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

struct cpa_control {
	const char *file; /* the caller's */
	struct cpa_header *header;
	uint64_t size; /* of the mapping */
	int fd;
};

/*
 * All return 0; or -1 with *@error the message, which the caller frees. Close after success only.
 */
int cpa_control_open(struct cpa_control *control, const char *file, char **error);
void cpa_control_close(struct cpa_control *control);

/* Switch on or off. It is an error if it is so already. */
int cpa_control_switch(struct cpa_control *control, bool on, char **error);

/* Let the report list this moment as @name. */
int cpa_control_mark(struct cpa_control *control, const char *name, char **error);

/*
 * The first process of the session has ended just now, and was waited for: @status is what wait()
 * told. If the process did not say so itself, it ends here.
 */
void cpa_control_ended(struct cpa_control *control, int status);

/* The message for a session whose process is no more. Returns -1. */
int cpa_control_dead(const struct cpa_control *control, char **error);

#endif
