/* SPDX-License-Identifier: MIT */
/*
 * shadow/layout_series.h - the part of shadow/layout.h that tells when: cumulative samples
 *
 * Included by layout.h, whose rules hold.
 */
#ifndef CPA_SHADOW_LAYOUT_SERIES_H
#define CPA_SHADOW_LAYOUT_SERIES_H

#include "shadow/layout.h"

/* What a sample tells of the program; ticks, but for the last. */
enum cpa_series_field {
	CPA_SERIES_LEN,	     /* L */
	CPA_SERIES_RELEASED, /* clock of the latest event; up to there: */
	CPA_SERIES_OBSERVED, /* the observed path by kind */
	/* Sums of all threads, in the order of struct cpa_sums. */
	CPA_SERIES_BEFORE = CPA_SERIES_OBSERVED + CPA_TIME_KINDS,
	CPA_SERIES_PROCESS,
	CPA_SERIES_EXTERNAL,
	CPA_SERIES_RUNQUEUE,
	CPA_SERIES_WAIT,
	CPA_SERIES_WAIT_CPU,
	CPA_SERIES_PROBE,
	CPA_SERIES_EVENTS,
	CPA_SERIES_FIELDS
};

/*
 * Cumulative values at boundaries; which sample is where: shadow/series.h. A sample is whole if its
 * label is {boundary:62, CPA_SAMPLE_DONE}. Written by the thread that set the label.
 */
enum cpa_sample_state { CPA_SAMPLE_NONE, CPA_SAMPLE_WRITING, CPA_SAMPLE_DONE };

struct cpa_program_series {
	uint64_t label[CPA_SAMPLES]; /* atomic */
	uint64_t value[CPA_SAMPLES][CPA_SERIES_FIELDS];
};

/* The same of one component slot, key: the slot. */
struct cpa_slot_series {
	uint64_t key;
	struct {
		uint64_t share, slack, total; /* H, S; as cpa_thread.totals */
	} value[CPA_SAMPLES];
};

/*
 * The same of one thread row, key: its number. What the row held at its latest event before the
 * boundary, whose clock is `released`; all 0: the row was not there yet. Ticks, but for the last two.
 * `bytes` are those that the row had when the sample was taken: up to a period later.
 */
struct cpa_thread_series {
	uint64_t key;
	struct cpa_thread_point {
		uint64_t released;
		uint64_t process, external, runqueue, wait, probe;
		uint64_t events;
		uint64_t bytes; /* read and written */
	} value[CPA_SAMPLES];
};

#endif
