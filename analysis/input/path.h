/* SPDX-License-Identifier: MIT */
/*
 * analysis/input/path.h - paths of the session with a value for each component slot
 *
 * In the file a path is a shared version and a few deltas; here it is spread out. Lengths and
 * values are ticks.
 */
#ifndef CPA_ANALYSIS_INPUT_PATH_H
#define CPA_ANALYSIS_INPUT_PATH_H

#include "analysis/input/load.h"

struct cpa_vector {
	uint64_t len;	   /* L */
	uint64_t released; /* clock at the path's last release */
	uint32_t slots;
	uint64_t *slack;    /* S[slots]: what zeroing a component takes off L, at most L */
	uint64_t *share;    /* H[slots]: its share of L */
	uint64_t *observed; /* O[slots]: its share of the observed path */
	uint64_t kind[CPA_TIME_KINDS]; /* the observed path's time by kind */
};

/* A path of no length. cpa_vector_fini frees what it holds. */
void cpa_vector_init(struct cpa_vector *vector, uint32_t slots);
void cpa_vector_fini(struct cpa_vector *vector);

/*
 * Spread @path out into @vector. Return false, with the content of @vector undefined, if the path
 * names a version or a slot that does not exist.
 */
bool cpa_vector_read(struct cpa_vector *vector, const struct cpa_dump *dump,
		     const struct cpa_path *path);

/*
 * Let @local acquire @remote: the longer of the two remains, @local on a tie, and each slack is
 * that of the new longest path without the component. The observed path stays that of @local.
 */
void cpa_vector_join(struct cpa_vector *local, const struct cpa_vector *remote);

#endif
