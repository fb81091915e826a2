/* SPDX-License-Identifier: MIT */
/*
 * analysis/top/top.h - cpa top without the terminal: from profiles to lines of text
 *
 * A moment is a profile of the session as read at one time (analysis/input/snapshot.h):
 *
 * - All threads are shown in one state in which the program could have been stopped. A thread that
 *   has not synchronized for long does not delay the reading; its work since its last event is in
 *   no path yet. While the process lives, CPU time and thread states come from the kernel and are
 *   current.
 * - The lengths of both paths never shrink from one moment to the next. If rows had to be read
 *   without a common state, which is noted, the lengths are kept here.
 * - Counters of locks and queues are a little newer than the paths: a hand-off may be counted
 *   before the path through it is known.
 *
 * Savings may shrink from one moment to the next, when another path gets longer.
 */
#ifndef CPA_ANALYSIS_TOP_TOP_H
#define CPA_ANALYSIS_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/input/process.h"
#include "analysis/profile/profile.h"

#define CPA_TOP_HISTORY	   60 /* moments for which savings are remembered */
#define CPA_TOP_COLUMNS	   8
#define CPA_TOP_CPU_COLUMN 1 /* of the threads view: CPU time since the thread's start */

enum cpa_top_state {
	CPA_TOP_RUNNING,
	CPA_TOP_FINISHED,
	CPA_TOP_EXECED,
	CPA_TOP_KILLED,	 /* its process is gone without having finished */
	CPA_TOP_COPIED,	 /* by cpa ctl snapshot, while it ran */
	CPA_TOP_UNKNOWN, /* it did not finish, and ran on another machine */
	CPA_TOP_LOST	 /* its file cannot be read any more */
};

struct cpa_top_moment {
	double at_s;	    /* CLOCK_MONOTONIC, time of the reading */
	double queues_at_s; /* time at which the counters of queues were read, a little later */
	double run_s;	    /* from the program's start to the reading, or to its end */
	uint32_t pid;
	enum cpa_top_state state;
	struct cpa_profile *profile; /* NULL: no such moment */
	bool edges;		     /* the profile includes edges of the activity graph */
	size_t tasks;
	struct cpa_process_task *task; /* sorted by tid */
};

enum cpa_top_view {
	CPA_TOP_COMPONENTS,
	CPA_TOP_LOCKS,
	CPA_TOP_QUEUES,
	CPA_TOP_THREADS,
	CPA_TOP_MARKS,
	CPA_TOP_STREAMS,
	CPA_TOP_VIEWS
};

/*
 * An item with a details page, the same in all moments. id depends on @view: for a component (or
 * components that share a slot) CPA_TOP_COMPONENT_ID, for locks and queues their class row + 1, for
 * a thread its id, for a mark its row, for a stream cpa_top_stream_id().
 */
struct cpa_top_key {
	enum cpa_top_view view;
	uint64_t id; /* 0: none */
};

#define CPA_TOP_COMPONENT_ID(slot, kind) ((uint64_t)(kind) << 32 | (slot))

/* Ring of a figure of the detailed item, one value per reading since its page was opened. */
struct cpa_top_trail {
	struct cpa_top_key of;
	size_t readings;
	double value[CPA_TOP_HISTORY]; /* a thread's CPU share, a queue's depth; NAN: unknown */
};

struct cpa_top_order {
	size_t column;
	bool reversed; /* figures: smallest first; names: last first */
};

struct cpa_top {
	struct cpa_top_moment now, before;
	/*
	 * For each lock class, queue class, thread and stream of now: its index in `before`,
	 * SIZE_MAX: none.
	 */
	size_t *lock_before, *queue_before, *thread_before, *stream_before;
	/* Ring of the savings by slot, for the latest moments. */
	uint32_t slots;
	double *saved; /* [CPA_TOP_HISTORY * slots] */
	size_t moments;

	/* The user's choices. */
	enum cpa_top_view view;
	struct cpa_top_order order[CPA_TOP_VIEWS];
	char filter[64];
	bool typing; /* a filter is being typed */
	bool frozen, help, ascii;
	size_t selected, first;	   /* row at the cursor, and first row shown */
	struct cpa_top_key at;	   /* item at the cursor */
	struct cpa_top_key detail; /* item with its details page open */
	struct cpa_top_trail trail;
	char *message; /* shown in the last line until the next key; NULL: none */
};

/* Begin with no moment. @slots: of the session. @ascii: use ASCII characters only. */
void cpa_top_init(struct cpa_top *top, uint32_t slots, bool ascii);
void cpa_top_fini(struct cpa_top *top);

/* Make @moment, which @top then owns, the present one, and the present one the one before. */
void cpa_top_advance(struct cpa_top *top, struct cpa_top_moment moment);

/* Seconds between the two moments; 0: there is only one. */
double cpa_top_interval(const struct cpa_top *top);

/* Saving of @slot @back moments ago (0: now), seconds; NAN: none. */
double cpa_top_saved(const struct cpa_top *top, uint32_t slot, size_t back);

/* The index of item @key in its table of the present profile; SIZE_MAX: it no longer exists. */
size_t cpa_top_index(const struct cpa_top *top, struct cpa_top_key key);

/* A number for stream @i of @profile, the same in all moments; not 0. */
uint64_t cpa_top_stream_id(const struct cpa_profile *profile, size_t i);

/* CPU seconds of thread @thread in the last interval; NAN: not known. */
double cpa_top_cpu(const struct cpa_top *top, size_t thread);

/* The kernel's present data on thread @tid; NULL: none. */
const struct cpa_process_task *cpa_top_task(const struct cpa_top_moment *moment, uint32_t tid);

enum cpa_top_keys {
	CPA_KEY_BACKSPACE = 8,
	CPA_KEY_ENTER = 13,
	CPA_KEY_ESCAPE = 27,
	CPA_KEY_UP = 256,
	CPA_KEY_DOWN,
	CPA_KEY_PAGE_UP,
	CPA_KEY_PAGE_DOWN,
	CPA_KEY_HOME,
	CPA_KEY_END,
	CPA_KEY_LEFT,
	CPA_KEY_RIGHT
};

enum cpa_top_action { CPA_TOP_STAY, CPA_TOP_WRITE, CPA_TOP_OPEN, CPA_TOP_QUIT };

/* Handle a key: a byte of text, or one of enum cpa_top_keys. Return what the caller must do. */
enum cpa_top_action cpa_top_press(struct cpa_top *top, int key);

enum cpa_top_style {
	CPA_TOP_PLAIN,
	CPA_TOP_STRONG,
	CPA_TOP_FAINT,
	CPA_TOP_HEAD, /* head of a table */
	CPA_TOP_SELECTED
};

struct cpa_top_line {
	char *text; /* at most as many characters as the screen has columns */
	enum cpa_top_style style;
};

struct cpa_top_screen {
	size_t columns, lines, used;
	struct cpa_top_line *line;
};

/* Draw the present moment for a screen of the given size, and keep the cursor inside. */
struct cpa_top_screen cpa_top_draw(struct cpa_top *top, size_t columns, size_t lines);
void cpa_top_screen_free(struct cpa_top_screen *screen);

#endif
