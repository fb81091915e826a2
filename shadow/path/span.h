/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/span.h - how a thread spent the time between two events
 */
#ifndef CPA_SHADOW_PATH_SPAN_H
#define CPA_SHADOW_PATH_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct cpa_calls;

#define CPA_SAMPLED 16u

/* How the wall time since the last event was spent; all in ticks. */
struct cpa_span {
	uint64_t process, external, runqueue, probe;
	uint32_t external_slot; /* of external, */
	uint32_t earlier_slot;	/* but for `earlier` ticks, which passed before */
	uint64_t earlier;
	/* Instrumented builds: functions, exact. Samples are of the rest. NULL: none. */
	struct cpa_calls *calls;
	/* Functions that samples found in it, by id. */
	uint32_t sampled;
	uint64_t sampled_ticks; /* process time that the samples stand for, */
	uint64_t sample_period; /* and that one does; 0: they do not stand for all of it */
	bool open; /* they are of a section that goes on and began untimed: preload/core/untimed.h */
	uint32_t sample_function[CPA_SAMPLED], sample_count[CPA_SAMPLED];
};

#endif
