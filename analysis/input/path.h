/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/path.h - paths of the session with a value for each component slot
 *
 * In the file a path is a shared version and a few deltas; here all values are stored. Lengths and
 * values are ticks.
 */
#ifndef CPA_ANALYSIS_INPUT_PATH_H
#define CPA_ANALYSIS_INPUT_PATH_H

#include "analysis/input/load.h"

struct cpa_vector {
	uint64_t len;	   /* L */
	uint64_t released; /* clock at the last release on the path */
	uint32_t slots;
	uint64_t *slack;	       /* S[slots]: saving by zeroing the component, at most L */
	uint64_t *share;	       /* H[slots]: ticks of L with the component active */
	uint64_t *observed;	       /* O[slots]: ticks on the observed path */
	uint64_t kind[CPA_TIME_KINDS]; /* time on the observed path, by kind */
	uint32_t stack;		       /* latest stack on the path; 0: none */
};

/* Make @vector a path of length 0. The caller frees its arrays with cpa_vector_fini(). */
void cpa_vector_init(struct cpa_vector *vector, uint32_t slots);
void cpa_vector_fini(struct cpa_vector *vector);

/*
 * Read all values of @path into @vector. Return false, leaving @vector undefined, if the path
 * refers to a version or slot that does not exist.
 */
bool cpa_vector_read(struct cpa_vector *vector, const struct cpa_dump *dump,
		     const struct cpa_path *path);

/*
 * @local acquires @remote: @local becomes the longer of the two (itself on a tie), and each slack
 * that of the new longest path without the component. The observed path of @local is unchanged.
 */
void cpa_vector_join(struct cpa_vector *local, const struct cpa_vector *remote);

#endif
