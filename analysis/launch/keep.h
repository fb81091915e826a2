/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/keep.h - copies of the profile while the program runs: its history, in bounded
 * space
 *
 * Each copy has the sums since the run's start, and cpa-report --at subtracts one copy from a later
 * one. So copies can be removed without changing the others. All copies of the latest hour are
 * kept, one of each hour of the latest day, and one of each day before that. If the clock was set back,
 * copies lie ahead of it: they go as those do that are as old. A process of its own makes a copy, so that
 * the launcher goes on passing signals.
 */
#ifndef CPA_ANALYSIS_LAUNCH_KEEP_H
#define CPA_ANALYSIS_LAUNCH_KEEP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct cpa_keep {
	uint64_t every_ns; /* from one copy to the next; 0: none */
	uint64_t most_ns;  /* older ones are removed, */
	uint64_t bytes;	   /* and the oldest, if all take more on the disk */
	const char *session;
	uint64_t started_ns; /* CLOCK_REALTIME: the session of a run before is another one */
	/* Private. */
	uint64_t next_ns; /* of the next copy; 0: not planned yet */
	pid_t copier;	  /* 0: none */
	bool made;	  /* a copy */
	unsigned failed;  /* copies in a row that were not made */
};

/* Parse "7d", "500M" or "7d,500M". Return false if @text is none of them. */
bool cpa_keep_parse(const char *text, struct cpa_keep *keep);

/* Time of the next copy, ns after the start of the program; UINT64_MAX: none. */
uint64_t cpa_keep_next(struct cpa_keep *keep);

/* Begin the copy that is due at @now, if the one before is complete. */
void cpa_keep_act(struct cpa_keep *keep, uint64_t now);

/* Remove what is too old, too large, or too dense from the folder @folder, at time @now. */
void cpa_keep_thin(const struct cpa_keep *keep, const char *folder, int64_t now);

#endif
