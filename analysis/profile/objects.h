/* SPDX-License-Identifier: MIT */
/* analysis/profile/objects.h - figures of classes of locks */
#ifndef CPA_ANALYSIS_PROFILE_OBJECTS_H
#define CPA_ANALYSIS_PROFILE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "shadow/format/layout.h"

/* One lock class. */
struct cpa_object_figures {
	uint32_t row;  /* of the class in the components table */
	uint32_t slot; /* 0: none */
	const char *kind;
	char *class;
	char *location;
	char *queue; /* the queue whose own lock it is, or NULL */
	enum cpa_class_by by;
	uint64_t objects; /* ever made */
	uint64_t acquisitions, contended, handoffs;
	double wait_s, hold_s;
	double wait_margin_s, hold_margin_s; /* see margins.h; NAN: not known */
	bool has_slot; /* the two below are known; with a shared slot, of all that share it */
	double saved_s, critical_path_s;
	double saved_margin_s, critical_path_margin_s; /* see margins.h; NAN: not known */
};

#endif
