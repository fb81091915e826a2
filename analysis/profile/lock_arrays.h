/* SPDX-License-Identifier: MIT */
/* analysis/profile/lock_arrays.h - locks in arrays: "bank.m[0..63]" as a whole */
#ifndef CPA_ANALYSIS_PROFILE_LOCK_ARRAYS_H
#define CPA_ANALYSIS_PROFILE_LOCK_ARRAYS_H

#include "analysis/profile/profile.h"

/*
 * Objects of one kind whose variables differ in their indices alone. Each is a class of its own in
 * the profile. What all of them together would save is not known: savings of classes do not add up.
 */
struct cpa_lock_array {
	char *name; /* "bank.m[0..63]": smallest and largest index that was used */
	const char *kind;
	size_t locks;
	uint32_t *row; /* [locks]: of their classes in the components table */
	uint64_t acquisitions, contended, handoffs;
	double wait_s, hold_s;
	double wait_margin_s, hold_margin_s; /* see margins.h; NAN: not known */
	/* the one that was waited for longest; of equals the one used most often */
	const struct cpa_object_figures *busiest;
};

struct cpa_lock_arrays {
	size_t arrays; /* by wait_s, most first */
	struct cpa_lock_array *array;
};

/*
 * Find the arrays of at least two used locks among the objects of @profile, to which the result
 * points. No margin is known yet.
 */
struct cpa_lock_arrays *cpa_lock_arrays_build(const struct cpa_profile *profile);
void cpa_lock_arrays_free(struct cpa_lock_arrays *arrays);

#endif
