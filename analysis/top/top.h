/* SPDX-License-Identifier: MIT */
/*
 * analysis/top/top.h - cpa top without the terminal: from profiles to lines of text
 *
 * A moment is a profile of the session as it was read at that time: analysis/input/snapshot.h. So:
 *
 *   - All threads are shown in one state that the program could have been stopped in. A thread that
 *     has not synchronized for long holds nobody back, and what it did since is in no path yet. Its
 *     CPU time and state come from the kernel while the process lives, and are current.
 *   - The lengths of both paths never go back from one moment to the next. If rows had to be taken
 *     as they were, which is noted, they are kept from it here.
 *   - Counters of locks and queues are of the reading, and so a little newer: a hand-off may be
 *     counted and the path behind it not be there. Savings may go down from one moment to the next:
 *     another path has come near.
 */
#ifndef CPA_ANALYSIS_TOP_TOP_H
#define CPA_ANALYSIS_TOP_TOP_H

#include <stdbool.h>
#include <stddef.h>

#include "analysis/input/process.h"
#include "analysis/profile/profile.h"

#define CPA_TOP_HISTORY	   60 /* moments of which savings are remembered */
#define CPA_TOP_COLUMNS	   8
#define CPA_TOP_CPU_COLUMN 1 /* of the threads: their CPU time since their start */

enum cpa_top_state {
	CPA_TOP_RUNNING,
	CPA_TOP_FINISHED,
	CPA_TOP_EXECED,
	CPA_TOP_KILLED,	 /* its process is gone, and it did not finish */
	CPA_TOP_COPIED,	 /* by cpa ctl snapshot, while it ran */
	CPA_TOP_UNKNOWN, /* it did not finish, on another machine */
	CPA_TOP_LOST	 /* its file cannot be read any more */
};

struct cpa_top_moment {
	double at_s;	    /* when it was read */
	double queues_at_s; /* when the counters of queues were, which comes later */
	double run_s;	    /* from the program's start to then, or to its end */
	uint32_t pid;
	enum cpa_top_state state;
	struct cpa_profile *profile; /* NULL: there is no such moment */
	bool edges;		     /* it has those of the activity graph */
	size_t tasks;
	struct cpa_process_task *task; /* by tid */
};

enum cpa_top_view {
	CPA_TOP_COMPONENTS,
	CPA_TOP_LOCKS,
	CPA_TOP_QUEUES,
	CPA_TOP_THREADS,
	CPA_TOP_MARKS,
	CPA_TOP_VIEWS
};

/*
 * A thing that has a page of its own, the same one in all moments. id, by @view: of a component (or
 * of what shares its slot) CPA_TOP_COMPONENT_ID, of locks and queues the row of their class plus 1,
 * of a thread its id, of a mark its row.
 */
struct cpa_top_key {
	enum cpa_top_view view;
	uint64_t id; /* 0: none */
};

#define CPA_TOP_COMPONENT_ID(slot, kind) ((uint64_t)(kind) << 32 | (slot))

/* A figure of what is looked into, in the readings since its page was opened; in a ring. */
struct cpa_top_trail {
	struct cpa_top_key of;
	size_t readings;
	double value[CPA_TOP_HISTORY]; /* a thread's CPU share, a queue's depth; NAN: not known */
};

struct cpa_top_order {
	size_t column;
	bool reversed; /* figures: the least first; names: the last first */
};

struct cpa_top {
	struct cpa_top_moment now, before;
	/*
	 * By lock class, queue class and thread of now: their index in before, SIZE_MAX: not there.
	 */
	size_t *lock_before, *queue_before, *thread_before;
	/* Savings of the latest moments by slot, in a ring. */
	uint32_t slots;
	double *saved; /* [CPA_TOP_HISTORY * slots] */
	size_t moments;

	/* What the user chose. */
	enum cpa_top_view view;
	struct cpa_top_order order[CPA_TOP_VIEWS];
	char filter[64];
	bool typing; /* the filter */
	bool frozen, help, ascii;
	size_t selected, first;	   /* row at the cursor, and at the top */
	struct cpa_top_key at;	   /* what is at the cursor */
	struct cpa_top_key detail; /* what is looked into */
	struct cpa_top_trail trail;
	char *message; /* in the last line until the next key; NULL: none */
};

/* @slots: of the session. @ascii: show no other characters. */
void cpa_top_init(struct cpa_top *top, uint32_t slots, bool ascii);
void cpa_top_fini(struct cpa_top *top);

/* Take @moment, which belongs to @top from then on, as now, and what was now as before. */
void cpa_top_advance(struct cpa_top *top, struct cpa_top_moment moment);

/* Seconds between the two moments; 0: there is one only. */
double cpa_top_interval(const struct cpa_top *top);

/* The savings of @slot @back moments ago (0: now), NAN if there was none. */
double cpa_top_saved(const struct cpa_top *top, uint32_t slot, size_t back);

/* The index of what @key means in its table of the profile now, SIZE_MAX: it is no more. */
size_t cpa_top_index(const struct cpa_top *top, struct cpa_top_key key);

/* CPU seconds of thread @thread in the last interval, NAN if they are not known. */
double cpa_top_cpu(const struct cpa_top *top, size_t thread);

/* What the kernel said now of the thread @tid, NULL: nothing. */
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

enum cpa_top_action { CPA_TOP_STAY, CPA_TOP_WRITE, CPA_TOP_QUIT };

/* What the user wants by a key: a byte of text, or one of enum cpa_top_keys. */
enum cpa_top_action cpa_top_press(struct cpa_top *top, int key);

enum cpa_top_style {
	CPA_TOP_PLAIN,
	CPA_TOP_STRONG,
	CPA_TOP_FAINT,
	CPA_TOP_HEAD, /* of a table */
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

/* Draw what is now on a screen of that size, and keep the cursor inside. */
struct cpa_top_screen cpa_top_draw(struct cpa_top *top, size_t columns, size_t lines);
void cpa_top_screen_free(struct cpa_top_screen *screen);

#endif
