/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/wait.h - an acquire: when the thread arrived, when it went on, and after whom
 */
#ifndef CPA_SHADOW_PATH_WAIT_H
#define CPA_SHADOW_PATH_WAIT_H

#include <stdbool.h>
#include <stdint.h>

/* An acquire, from its arrival to its return. All times are clock ticks. */
struct cpa_wait {
	uint64_t arrived, now;
	uint64_t runqueue; /* ready, without a processor, at the end of the wait */
	/*
	 * The object is a queue's own: the join is of the observed path only (Online CP 4.1). For
	 * cpa_acquire_path() the caller says so; the others know it from their object.
	 */
	bool observed_only;
	/* Results. */
	bool matched;  /* a release was found */
	bool followed; /* its path is the longer one */
	uint32_t from; /* node of the latest release, 0 if none */
};

#endif
