/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout_series.h - what threads and slots had at boundaries; a part of shadow/format/layout.h
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_SERIES_H
#define CPA_SHADOW_FORMAT_LAYOUT_SERIES_H

/* The sums of struct cpa_thread, from `before` on; ticks, but for the last. */
struct cpa_sums {
	uint64_t before, process, external, runqueue, wait, wait_cpu, probe, events;
};

/*
 * What a thread's row held at the boundaries after `from` up to `label`: see shadow/graph/checkpoint.h.
 * Written by its thread.
 */
struct cpa_checkpoint {
	uint64_t label; /* atomic; 0: none, or it is being written */
	uint64_t from;
	uint64_t slots; /* of total */
	uint64_t room;
	struct cpa_sums sums;
	struct cpa_path path, retired;
	uint64_t total[];
};

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
 * Cumulative values at boundaries; which sample is where: shadow/graph/series.h. A sample is whole if its
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
 * boundary, whose clock is `released`; all 0: the row was not there yet. Ticks, but for the last
 * two.
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
