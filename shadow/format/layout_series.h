/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_series.h - values of threads and slots at boundaries; part of
 * shadow/format/layout.h
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_SERIES_H
#define CPA_SHADOW_FORMAT_LAYOUT_SERIES_H

/* Sums of struct cpa_thread, from `before` to `events`; ticks, except for events. */
struct cpa_sums {
	uint64_t before, process, external, runqueue, wait, wait_cpu, probe, events;
};

/*
 * Contents of a thread's row at the boundaries after `from` up to `label`: see
 * shadow/graph/checkpoint.h. Written by that thread.
 */
struct cpa_checkpoint {
	uint64_t label; /* atomic; 0: none, or being written */
	uint64_t from;
	uint64_t slots; /* length of `total` */
	uint64_t room;
	struct cpa_sums sums;
	struct cpa_path path, retired;
	uint64_t total[];
};

/* Fields of a sample of the whole program; ticks, except for the last. */
enum cpa_series_field {
	CPA_SERIES_LEN,	     /* L of the longest path */
	CPA_SERIES_RELEASED, /* clock of the latest event, up to which the fields below count */
	CPA_SERIES_OBSERVED, /* observed path by kind of time */
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
 * Cumulative values at boundaries; shadow/graph/series.h says which sample is where. A sample is
 * complete if its label is {boundary:62, CPA_SAMPLE_DONE}. Written by the thread that set the
 * label.
 */
enum cpa_sample_state { CPA_SAMPLE_NONE, CPA_SAMPLE_WRITING, CPA_SAMPLE_DONE };

struct cpa_program_series {
	uint64_t label[CPA_SAMPLES]; /* atomic */
	uint64_t value[CPA_SAMPLES][CPA_SERIES_FIELDS];
};

/* Cumulative values of one component slot; key: the slot. */
struct cpa_slot_series {
	uint64_t key;
	struct {
		uint64_t share, slack, total; /* H, S, and the sum of cpa_thread.totals */
	} value[CPA_SAMPLES];
};

/*
 * Cumulative values of one thread row; key: its number. Values are those of its latest event before
 * the boundary, at clock `released`; all 0 if the row did not exist yet. Ticks, except for events
 * and bytes. `bytes` is read when the sample is taken: up to a period later.
 */
struct cpa_thread_series {
	uint64_t key;
	struct cpa_thread_point {
		uint64_t released;
		uint64_t process, external, runqueue, wait, probe;
		uint64_t events;
		uint64_t bytes; /* bytes read and written */
	} value[CPA_SAMPLES];
};

#endif
