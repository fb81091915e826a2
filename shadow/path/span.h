/* SPDX-License-Identifier: MIT */
/*
 * shadow/path/span.h - how a thread spent the time between two events
 */
#ifndef CPA_SHADOW_PATH_SPAN_H
#define CPA_SHADOW_PATH_SPAN_H

#include <stdbool.h>
#include <stdint.h>

struct cpa_calls;
struct cpa_stacks;

/* Samples of one function, by its id. */
struct cpa_sampled {
	uint32_t function, count;
};

/* How a thread spent the wall time since its last event; all in ticks. */
struct cpa_span {
	uint64_t process, runqueue, probe;
	uint64_t external;	/* that weighs in the inherent path: service */
	uint32_t external_slot; /* slot for that, */
	uint32_t earlier_slot;	/* except for its first `earlier` ticks, which go to this slot */
	uint64_t earlier;
	/* External time that weighs nothing there, in the same way. */
	uint64_t idle;
	uint32_t idle_slot, earlier_idle_slot;
	uint64_t earlier_idle;
	/* Instrumented builds: exact function times; samples cover the rest. NULL: none. */
	struct cpa_calls *calls;
	/* Samples taken during the span: `sampled` functions, each once. Whoever ends the span keeps them. */
	const struct cpa_sampled *sample;
	uint32_t sampled;
	uint64_t sampled_ticks; /* process time that the samples stand for, ticks */
	/* process time per sample, ticks; 0: samples do not cover all process time */
	uint64_t sample_period;
	/* the samples belong to an unfinished section that began untimed: preload/core/untimed.h */
	bool open;
	/*
	 * It ended early, because the thread lost its processor in a call, or because a lock that mostly goes untimed
	 * was timed behind a sample or switch. This may happen to any such activity: its functions are those of
	 * activities that went on from the same event.
	 */
	bool cut;
	struct cpa_stacks *stacks; /* taken during the span; NULL: none */
};

#endif
