/* SPDX-License-Identifier: MIT */
/*
 * analysis/launch/repeat.h - several runs of a program, one after the other
 *
 * Each is a cpa run of its own, which a process of its own executes. It gets the same options.
 */
#ifndef CPA_ANALYSIS_LAUNCH_REPEAT_H
#define CPA_ANALYSIS_LAUNCH_REPEAT_H

#include <stdbool.h>

#define CPA_REPEAT_MOST 1000

struct cpa_repeat {
	unsigned runs;	    /* 0: not repeated */
	const char *output; /* profiles are OUTPUT.1.dump, OUTPUT.2.dump ... */
	bool force;	    /* replace such files */
	int options;	    /* number of options, at argv[1] */
	char **argv;	    /* of cpa run; the program is behind the options */
	char **program;
};

/* Parse the number of runs. Return false if it is not a number from 0 to CPA_REPEAT_MOST. */
bool cpa_repeat_read(const char *text, unsigned *runs);

/*
 * Run the program ->runs times. If a run fails, say so and end as it did. Return 0, or an exit
 * status after one line on stderr.
 */
int cpa_repeat_run(const struct cpa_repeat *repeat);

#endif
