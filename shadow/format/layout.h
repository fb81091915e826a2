/* SPDX-License-Identifier: MIT */
/*
 * shadow/format/layout.h - the session file, byte by byte
 *
 * One file holds everything the tool knows about a process, while the process runs and after it
 * ended. It is written through a shared mapping by the threads of the target and read by
 * cpa-report, live or after any kind of death. Rules:
 *
 *   - Little-endian integers, natural alignment. Positions are offsets in bytes from the start of
 *     the file; offset 0 (the header) serves as "none". No pointers.
 *   - Times are ticks of the time stamp counter. header.start_* and header.last_* give two points
 *     from which the reader derives ticks per nanosecond.
 *   - A table is up to CPA_CHUNKS chunks; chunk k has place for (first_rows << k) rows of row_size
 *     bytes, so rows never move. Rows are numbered from 1; 0 means "none". A reader uses row_size
 *     from the table, not sizeof, and skips the bytes at the end of a row that it does not know.
 *   - A row whose key is 0 is unused: it is being filled, or lost a race with an equal key.
 *   - Fields are written by whoever the struct's comment names. Nothing but `used` counters and
 *     index words is written by several threads unless it says "atomic".
 */
#ifndef CPA_SHADOW_FORMAT_LAYOUT_H
#define CPA_SHADOW_FORMAT_LAYOUT_H

#include <stdint.h>

#include "shadow/format/layout_machine.h"

#define CPA_MAGIC	 "CPADUMP\n"
#define CPA_FORMAT	 12u
#define CPA_BYTE_ORDER	 0x01020304u
#define CPA_HEADER_SIZE	 16384u
#define CPA_CHUNKS	 20u
#define CPA_CACHE_LINE	 64u
#define CPA_INDEX_LEVELS 7u
#define CPA_INDEX_LINE	 8u /* entries of one index probe: one cache line */
#define CPA_PATH_DELTAS	 30u
#define CPA_HELD_MAX	 16u
#define CPA_EDGE_CACHE	 128u
#define CPA_MIX		 4u
#define CPA_ROUNDS	 4u
#define CPA_THREADS_KEPT 1024u
#define CPA_TREE_KEPT	 128u /* the same, in a tree of more than this / 2 processes */
#define CPA_MIX_CREDIT	 14u  /* its lowest bit */
#define CPA_MIX_SAMPLES	 ((UINT64_C(1) << CPA_MIX_CREDIT) - 1)
#define CPA_EARLIER	 12u
#define CPA_ITEMS_MAX	 (UINT32_C(1) << 20) /* items in queues at once */
#define CPA_MARKS_MAX	 4096u
#define CPA_ROLE_WORDS	 16u /* bitmaps of thread rows */
#define CPA_NAME_SIZE	 112u
#define CPA_PERIOD	 (UINT64_C(1) << 27) /* header.period: 45 to 90 ms on today's processors */
#define CPA_NOTE	 (1u << 20)	     /* header.note: some 0.4 ms; for a thread */
#define CPA_NOTES	 4096u /* twice that each time that so many of its activities were noted */
#define CPA_SAMPLES	 64u   /* of a series, a power of two */
#define CPA_BORDERS	 64u   /* the latest changes of the epoch */
#define CPA_HEAP_CLASSES 80u
#define CPA_PLACED	 256u
/* Buckets of a histogram of ticks: four per power of two, see shadow/edge/queue.h. */
#define CPA_HISTOGRAM 192u

enum cpa_table_id {
	CPA_TABLE_THREADS,    /* struct cpa_thread */
	CPA_TABLE_OBJECTS,    /* struct cpa_object */
	CPA_TABLE_COMPONENTS, /* struct cpa_component */
	CPA_TABLE_SITES,      /* struct cpa_site */
	CPA_TABLE_MODULES,    /* struct cpa_module */
	CPA_TABLE_NODES,      /* struct cpa_node */
	CPA_TABLE_EDGES,      /* struct cpa_edge */
	CPA_TABLE_TOKENS,     /* struct cpa_token: of no meaning to readers */
	CPA_TABLE_NAMES,      /* struct cpa_name */
	CPA_TABLE_QUEUES,     /* struct cpa_queue */
	CPA_TABLE_MARKS,      /* struct cpa_mark */
	CPA_TABLE_SERIES,     /* struct cpa_slot_series */
	CPA_TABLE_BASES,      /* struct cpa_base */
	CPA_TABLE_POINTS,     /* struct cpa_thread_series */
	CPA_TABLE_PROCESSES,  /* struct cpa_process_row */
	CPA_TABLE_PATHS,      /* struct cpa_path, of objects: of no meaning to readers */
	CPA_TABLES
};

struct cpa_table {
	uint32_t row_size;
	uint32_t first_rows; /* rows of chunk 0, a power of two */
	uint32_t used;	     /* atomic: rows handed out so far */
	uint32_t refused;    /* atomic: rows that were wanted when there was no space */
	uint32_t usable;     /* atomic: rows for which the file has space, used or not */
	uint32_t pad;
	uint64_t chunk[CPA_CHUNKS];
	/*
	 * The index by key, for readers of no interest: level k has (64 << 2k) lines of
	 * CPA_INDEX_LINE words {hash:32, row:32}; see shadow/store/table.h.
	 */
	uint64_t index[CPA_INDEX_LEVELS];
};

/* Counters of what was lost or not seen; all atomic. The names are those of the report. */
enum cpa_diagnostic {
	CPA_DIAG_SAMPLES,	   /* program counter samples taken */
	CPA_DIAG_SAMPLES_LOST,	   /* dropped by the kernel or for want of space */
	CPA_DIAG_OBJECTS_REFUSED,  /* operations on objects that found no row, or none for a path */
	CPA_DIAG_EDGES_REFUSED,	   /* operations whose PAG summary rows found no space */
	CPA_DIAG_THREADS_REFUSED,  /* threads that run unprofiled */
	CPA_DIAG_VERSIONS_REFUSED, /* paths that could not be extended: no memory */
	CPA_DIAG_TOKENS_REFUSED,   /* signals and posts that found no token */
	CPA_DIAG_UNMATCHED_WAKES,  /* waits that returned without a release that we saw */
	CPA_DIAG_NESTED,	   /* operations in signal handlers that interrupted our own code */
	CPA_DIAG_FOREIGN_UNLOCKS,  /* unlocks by a thread that does not hold the lock */
	CPA_DIAG_FORKS,		   /* children of fork that could not join */
	CPA_DIAG_FUTEX_CALLS,	   /* futex waits and wakes through syscall() */
	CPA_DIAG_CLOCK_SLOW,	   /* re-bases of the CPU clock */
	CPA_DIAG_HELD_OVERFLOW,	   /* locks held beyond CPA_HELD_MAX by one thread */
	CPA_DIAG_SAMPLERS_REFUSED, /* threads without a sampler */
	CPA_DIAG_ALIASED_CLASSES,  /* lock classes or functions that share a slot */
	CPA_DIAG_ITEMS_REFUSED,	   /* enqueued items that found no space: their edges are missing */
	CPA_DIAG_ITEMS_UNMATCHED,  /* dequeues of items that nobody had enqueued */
	CPA_DIAG_ITEMS_TWICE,	   /* items enqueued while they were in the queue already */
	CPA_DIAG_ITEMS_UNBALANCED, /* CPA_ITEM_DONE without a dequeue, too many items at once */
	CPA_DIAG_REGIONS_UNBALANCED, /* region ends alone, begins alone, or nested too deep */
	CPA_DIAG_MARKS_REFUSED,	     /* marks beyond CPA_MARKS_MAX */
	CPA_DIAG_UNTIMED,	     /* uses of locks that were counted and not timed */
	CPA_DIAG_UNTIMED_HANDOFFS,   /* other threads' first uses of such locks */
	CPA_DIAG_UNTIMED_TICKS,	     /* what their edges may be short of */
	CPA_DIAG_CALLS_UNBALANCED,   /* instrumented functions left in ways that we did not see */
	CPA_DIAG_SEARCH_STEPS,	     /* of the search for the top components */
	CPA_DIAG_SEARCH_WAITS,	     /* heavy buckets that found no slot to be refined with */
	CPA_DIAG_PART_LATE,	     /* threads that met a stop when the next part had begun */
	CPA_DIAG_PART_LATE_TICKS,    /* what of their time others then had not known of */
	CPA_DIAG_PART_BLOCKED_TICKS, /* of threads that were blocked, nobody knows in what, at a start */
	CPA_DIAG_PART_ITEMS,	     /* items that were in queues at a stop, and are forgotten */
	CPA_DIAG_PART_UNLOCKS,	     /* unlocks of locks that were taken in no part */
	CPA_DIAG_PART_FORGOTTEN,    /* borders that a thread met when they were not kept any more */
	CPA_DIAG_PROCESSES_REFUSED, /* children that found no row */
	CPA_DIAG_UNSEEN_CHILDREN,   /* children that were waited for and had not joined */
	CPA_DIAG_PROCESSES_LOST,    /* that ended without a word */
	CPA_DIAG_INTERRUPTS,	    /* that samples took: those of perf events */
	CPA_DIAG_USED,
	CPA_DIAG_COUNT = 48
};

enum cpa_clock_kind { CPA_CLOCK_RSEQ = 1, CPA_CLOCK_PERF = 2, CPA_CLOCK_SYSCALL = 3 };
enum cpa_sampler_kind { CPA_SAMPLER_NONE = 0, CPA_SAMPLER_PERF = 1, CPA_SAMPLER_TIMER = 2 };
enum cpa_session_state { CPA_RUNNING = 0, CPA_COMPLETE = 1, CPA_EXECED = 2 };

/*
 * Of a copy that was taken while the process ran: what its thread rows are. Of a state they need no
 * checkpoints, and have none.
 */
enum cpa_copy { CPA_COPY_NONE = 0, CPA_COPY_ROWS = 1, CPA_COPY_STATE = 2 };

/*
 * A change of the epoch: profiling is switched on or off (Online CP 2.3). What happens while it is
 * off is as if it were cut out of the run.
 */
struct cpa_border {
	uint64_t ticks;
	uint64_t on; /* ticks of all parts before */
};

struct cpa_header {
	char magic[8];
	uint32_t byte_order;
	uint32_t format;
	uint32_t header_size;
	uint32_t tables;   /* CPA_TABLES of the writer */
	uint64_t used;	   /* atomic: bytes handed out */
	uint64_t reserved; /* atomic: of these, those that have file space, or a table sees to it */
	uint64_t limit;	   /* bytes of address space mapped */
	uint32_t state;	   /* enum cpa_session_state; set once, at the end */
	uint32_t pid;
	uint32_t cores;	  /* processors the process could run on at its start */
	uint32_t clock;	  /* enum cpa_clock_kind */
	uint32_t sampler; /* enum cpa_sampler_kind, of the first thread */
	uint32_t sample_hz;
	uint32_t slots;	      /* component slots, the fixed ones included */
	uint32_t exit_thread; /* row of the thread that called exit, 0 if none did */
	uint64_t start_ticks; /* the start of the observed path: our constructor */
	uint64_t start_ns;    /* CLOCK_MONOTONIC at start_ticks */
	uint64_t last_ticks;  /* the latest pair of both clocks, written at re-bases */
	uint64_t last_ns;
	uint64_t end_ticks;  /* 0 while running */
	uint64_t cpu_end_ns; /* CLOCK_PROCESS_CPUTIME_ID at the end, ours included */
	uint64_t started;    /* atomic: threads profiled over the run */
	uint64_t done;	     /* atomic: see shadow/edge/thread.h */
	uint64_t diag[CPA_DIAG_COUNT];
	/* Of no meaning to readers: items in queues, see shadow/edge/item.h. */
	uint64_t items;			       /* atomic: how many */
	uint64_t item_index[CPA_INDEX_LEVELS]; /* offsets of the levels */
	char exe[256];			       /* NUL-terminated path, cut on the left if longer */
	char host[64];
	struct cpa_table table[16];
	/*
	 * Boundary n is at clock n * period, a power of two. Of the boundaries since `first_period`
	 * each (1 << series_level)-th has a sample in `series`, a struct cpa_program_series.
	 */
	uint64_t period, first_period;
	uint64_t passed;       /* atomic: the latest boundary that any thread has passed */
	uint64_t series;       /* offset; 0: there is none */
	uint32_t series_level; /* atomic: only grows */
	uint32_t copied;       /* enum cpa_copy */
	/*
	 * Atomic: the changes so far; odd: on. 1 from the start, or 2 if the run begins off; 0 in
	 * sessions that know no parts. Read at each event, so what shares its line changes rarely.
	 * Written by whoever switches, in the process or not: shadow/store/epoch.h.
	 */
	uint64_t epoch __attribute__((aligned(CPA_CACHE_LINE)));
	uint64_t first_epoch; /* 1 or 2 */
	/* Atomic, of no meaning to readers, as the next two: see shadow/graph/component.h. */
	uint64_t search_due;
	uint32_t moves;
	uint32_t note;	     /* ticks: see struct cpa_edge; 0: each activity is noted */
	uint64_t slot_state; /* offset */
	uint64_t part;	/* atomic, of no meaning to readers, as the next: see shadow/edge/part.h */
	uint64_t final; /* atomic: a cell, the join of the threads' paths at the latest stops */
	struct cpa_border border[CPA_BORDERS]; /* of epoch e in e % CPA_BORDERS */
	uint64_t journal;		       /* offset of a struct cpa_journal_pool; 0: none */
	uint64_t secret;      /* of no meaning to readers: children show it to join */
	uint64_t process_ids; /* atomic: processes so far */
	uint64_t running;     /* atomic: that have not ended */
	/* Of no meaning to readers, all atomic: piles (shadow/store/stack.h). */
	uint64_t tokens;		 /* free token rows */
	uint64_t free_processes;	 /* rows */
	uint64_t heap[CPA_HEAP_CLASSES]; /* free blocks, see shadow/store/heap.h */
	uint32_t heap_made[CPA_HEAP_CLASSES];
	uint64_t placed[CPA_PLACED]; /* items so far, by hash: see shadow/edge/item.h */
	uint64_t note_most;	     /* atomic: the same of any thread, as it is by now */
	struct cpa_machine machine;  /* 0 in sessions of earlier versions */
};

/* Of what kind the time of the observed path is; the sum tiles the wall time. */
enum cpa_time_kind {
	CPA_TIME_PROCESS,  /* CPU time of activities */
	CPA_TIME_EXTERNAL, /* blocked outside synchronization */
	CPA_TIME_RUNQUEUE, /* ready, without a processor */
	CPA_TIME_HANDOFF,  /* from a release to the return of its acquire, but for run-queue time */
	CPA_TIME_PROBE,	   /* inside cpa */
	CPA_TIME_KINDS
};

/* What a path has more than its versions in one slot of S, H and O; ticks. */
struct cpa_delta {
	uint32_t slot; /* 0: unused, and so are those behind it */
	int32_t s, h, o;
};

/*
 * A path (design 3): the longest inherent path to here, and the chain of activities observed.
 * S, H and O of all components are those of the versions plus the deltas.
 */
struct cpa_path {
	uint64_t len;	   /* L, ticks of process and external time */
	uint64_t released; /* clock at the release that published it */
	uint64_t version;  /* of S and H: offset of a struct cpa_version; 0: all zero */
	uint32_t owner;	   /* id of the thread that published it; 0: nothing was published yet */
	uint32_t node;	   /* PAG node of that release */
	uint64_t observed[CPA_TIME_KINDS]; /* ticks of the observed path, by kind */
	uint64_t event; /* of that release in the journal, see shadow/format/layout_journal.h; 0: none */
	uint64_t observed_version;		 /* of O, as `version` */
	uint64_t most;				 /* no delta is larger; of no meaning to readers */
	struct cpa_delta delta[CPA_PATH_DELTAS]; /* each at a multiple of 16 bytes */
} __attribute__((aligned(CPA_CACHE_LINE)));

#define CPA_VERSION_BLOCK 8u

/*
 * Immutable once another path names it. value of a version of S and H: S[slots], then H[slots];
 * then, of no meaning to readers, the most that each CPA_VERSION_BLOCK of S have. Of a version of
 * O: O[slots].
 */
struct cpa_version {
	uint32_t refs; /* atomic: paths that name it */
	uint32_t slots;
	uint64_t slack; /* of no meaning to readers: all with this number have the same S; 0: that of none */
	uint64_t max_slack; /* of S */
	uint64_t value[];
};

enum cpa_slot {
	CPA_SLOT_NONE,
	CPA_SLOT_UNSAMPLED, /* function time of which no sample tells the function */
	CPA_SLOT_FIRST
};

enum cpa_component_kind {
	CPA_FUNCTION = 1,
	CPA_LOCK = 2,
	CPA_REGION = 3,
	CPA_THREAD = 4,
	CPA_QUEUE = 5,
	CPA_EXTERNAL = 6,
	CPA_ACTIVITY = 7 /* an activity edge of the PAG summary; not listed among components */
};

/* What the address of a component or of a lock class means. */
enum cpa_class_by {
	CPA_BY_ADDRESS = 0,    /* function start, start routine */
	CPA_BY_VARIABLE = 1,   /* a lock in static storage: the variable's address */
	CPA_BY_INIT_SITE = 2,  /* return address of the *_init call */
	CPA_BY_FIRST_SITE = 3, /* return address of the first operation seen */
	CPA_BY_EXTERNAL = 4,   /* address is an enum cpa_external */
	CPA_BY_NAME = 5,       /* address is a row of the names table */
	CPA_BY_CALL = 6	       /* a function with all that it calls, in instrumented builds */
};

enum cpa_external {
	CPA_EXT_OTHER = 0, /* a block in a call that is not wrapped, or a page fault */
	CPA_EXT_SLEEP = 1,
	CPA_EXT_READ = 2,
	CPA_EXT_WRITE = 3,
	CPA_EXT_POLL = 4,
	CPA_EXT_ACCEPT = 5,  /* accept and connect */
	CPA_EXT_SYNC = 6,    /* fsync and kin */
	CPA_EXT_CHILD = 7,   /* waitpid and kin */
	CPA_EXT_SIGNAL = 8,  /* sigwait, pause */
	CPA_EXT_TIMEOUT = 9, /* a timed wait for synchronization that timed out */
	CPA_EXT_UNSEEN = 10, /* a wait in synchronization whose release we did not see */
	CPA_EXTERNALS
};

/*
 * key: {kind:4, by:4, layer:8, address:48}, the layer being the module's. Written by its creator
 * before it is indexed; slot is atomic.
 */
struct cpa_component {
	uint64_t key;
	uint32_t kind; /* enum cpa_component_kind */
	uint32_t by;   /* enum cpa_class_by */
	uint64_t address;
	uint32_t module;      /* row of the module that holds the address, 0 if none does */
	uint32_t slot;	      /* several components of one kind share a slot when slots ran out */
	uint32_t shared;      /* 1: it has not been given to this one alone */
	uint32_t object_kind; /* of a lock class: enum cpa_object_kind */
	/* Of a lock class: what its destroyed objects had counted (atomic adds). */
	uint64_t retired_objects, retired_acquisitions, retired_contended, retired_handoffs;
	uint64_t retired_wait, retired_hold;
	/* Of a function of an instrumented build, by address (atomic adds); calls 0: it is none. */
	uint64_t calls;
	uint64_t inclusive; /* ticks of process + external time with what it called */
	/*
	 * Of one that the search moved (shadow/graph/search.h): its slot has its time since the clock
	 * was `since`, and the longest path `since_len`. Its time before is in the slots `earlier`,
	 * and in others as well if there are more of them than places.
	 */
	uint64_t since, since_len;
	uint32_t first;		/* slot at first use; never changes */
	uint32_t among;		/* components that shared the slot it left first */
	uint32_t earlier_count; /* slots that it left; may be more than there are places */
	uint16_t earlier[CPA_EARLIER];
};

/*
 * What a slot had when the search gave it to others, by the path that was the longest then. key:
 * the slot. No path had more than `most` of it. Written by the search before the components get the
 * slot.
 */
struct cpa_base {
	uint64_t key;
	uint64_t slack, share, observed; /* S, H, O */
	uint64_t total;			 /* of all threads' totals */
	uint64_t most;			 /* ticks charged to it in all threads */
};

/*
 * A work queue, key: its address. All counters are atomic; times in ticks. Mean depth follows from
 * Little's law: (left - entered + depth * end) / run time.
 */
struct cpa_queue {
	uint64_t key;
	uint32_t component;	   /* row, kind CPA_QUEUE: its class */
	uint32_t done_used;	   /* 1: the program says when an item is done */
	uint64_t depth, max_depth; /* max_depth: before each dequeue; at the end look at depth */
	uint64_t twice, unmatched; /* see CPA_DIAG_ITEMS_TWICE, CPA_DIAG_ITEMS_UNMATCHED */
	uint64_t pad[2];
	/* Written by producers. */
	uint64_t enqueued;
	uint64_t entered; /* sum of clocks since header.start_ticks of items that found space */
	uint64_t producers[CPA_ROLE_WORDS]; /* bit: thread row modulo the size */
	/* Written by consumers. */
	uint64_t dequeued; /* matched ones */
	uint64_t left;	   /* sum of their clocks, as `entered` */
	uint64_t waited;   /* sum of the time they were in the queue */
	uint64_t services; /* items whose processing has ended */
	uint64_t service;  /* sum of process + external time of the processing */
	uint64_t consumers[CPA_ROLE_WORDS];
	uint32_t histogram[CPA_HISTOGRAM]; /* of the time in the queue; halved as one gets full */
} __attribute__((aligned(CPA_CACHE_LINE)));

/* A moment the program marked. key: 1, 2, 3 ... */
struct cpa_mark {
	uint64_t key;
	uint64_t ticks;
	uint64_t len;	 /* L of the thread's path */
	uint32_t name;	 /* row of the names table */
	uint32_t thread; /* id */
};

#include "shadow/format/layout_module.h"
#include "shadow/format/layout_object.h"

enum cpa_event_kind {
	CPA_EV_START = 1, /* of a thread */
	CPA_EV_EXIT = 2,
	CPA_EV_CREATE = 3,
	CPA_EV_JOIN = 4,
	CPA_EV_LOCK = 5, /* also rwlock for writing, spin lock */
	CPA_EV_UNLOCK = 6,
	CPA_EV_RDLOCK = 7,
	CPA_EV_WAIT = 8, /* return of a condition wait */
	CPA_EV_SIGNAL = 9,
	CPA_EV_BROADCAST = 10,
	CPA_EV_ARRIVE = 11, /* at a barrier */
	CPA_EV_LEAVE = 12,
	CPA_EV_SEM_WAIT = 13,
	CPA_EV_POST = 14,
	CPA_EV_ONCE = 15,
	CPA_EV_EXTERNAL = 16, /* return of a call that blocked */
	CPA_EV_FUTEX_WAIT = 17,
	CPA_EV_FUTEX_WAKE = 18,
	CPA_EV_TRY_FAILED = 19,
	CPA_EV_SLEEP = 20, /* begin of a condition wait: gives the mutex up */
	CPA_EV_AFTER = 21, /* annotations */
	CPA_EV_BEFORE = 22,
	CPA_EV_ENQUEUE = 23, /* class: the queue's component; so below */
	CPA_EV_DEQUEUE = 24,
	CPA_EV_DONE = 25,
	CPA_EV_REGION = 26, /* begin; class: the region's component */
	CPA_EV_REGION_END = 27,
	CPA_EV_MARK = 28,
	CPA_EV_STOP = 29,    /* a part of the run ends here for the thread, */
	CPA_EV_RESTART = 30, /* and another begins */
	CPA_EV_FORK = 31,    /* of a process, by whatever means */
	CPA_EV_CHILD = 32,   /* a child is waited for */
	CPA_EV_EXEC = 33,    /* the process becomes another program */
	CPA_EV_KINDS
};

/* PAG summary, node: key {kind:8, class:24, site:32}, each a row number. */
struct cpa_node {
	uint64_t key;
	uint32_t kind; /* enum cpa_event_kind */
	uint32_t site;
	uint32_t class;
	uint32_t pad;
};

#define CPA_EDGE_SLOTLESS 1u /* slot of an edge for which none was free */

/*
 * PAG summary, edge: key {dependency:1, from:31, to:32}. Activities lead from one event of a
 * thread to its next; weight is process + external ticks. Dependencies lead from a release to an
 * acquire; weight is the time the acquirer waited. Counts not yet added here are in the threads'
 * edge caches.
 */
struct cpa_edge {
	uint64_t key;
	uint32_t from, to;
	uint32_t dependency;
	/*
	 * Atomic: its component slot; 0: none yet. H and O there, without any S, are what the path
	 * has of its `noted`: of activities shorter than header.note one in so many ticks of a
	 * thread.
	 */
	uint32_t slot;
	uint64_t count;		  /* atomic */
	uint64_t weight;	  /* atomic, ticks */
	uint64_t followed;	  /* atomic: times the longer path came along this dependency */
	uint64_t followed_weight; /* atomic: the weight of those times */
	uint64_t mix[CPA_MIX]; /* atomic: {function:32, credit:18, signed, samples:14}, see shadow/graph/mix.h */
	uint64_t noted; /* atomic: what those that were noted stand for, on any path */
};

/* A thread's own sums for one edge, added to the row when another edge takes the place. */
struct cpa_edge_cache {
	uint32_t edge;
	uint32_t count;
	uint64_t weight;
	uint64_t followed;
	uint64_t followed_weight;
	uint64_t mix[CPA_MIX];
};

/*
 * A release on its way to one acquirer or several; see shadow/edge/fifo.h, shadow/edge/merge.h,
 * shadow/edge/item.h and shadow/edge/cell.h.
 */
struct cpa_token {
	uint64_t key;	  /* atomic: of a barrier's its round + 1; of an item's the item */
	uint64_t next;	  /* atomic: tagged row number of the queue node behind */
	uint64_t payload; /* atomic: of a queue node row number of the token it brings; items */
	uint64_t left;	  /* atomic: acquirers that have read it (barriers), pins (cells); items */
	void *free_next;  /* of the free list; a pointer of the target */
	uint32_t row;	  /* its number */
	uint32_t below;	  /* row below this one on header.tokens */
	struct cpa_path path;
} __attribute__((aligned(CPA_CACHE_LINE)));

#include "shadow/format/layout_series.h"
#include "shadow/format/layout_process.h"

enum cpa_thread_state {
	CPA_THREAD_FREE = 0,
	CPA_THREAD_RUNNING = 1,
	CPA_THREAD_EXITED = 2,	 /* and not joined: its path is still wanted */
	CPA_THREAD_DETACHED = 3, /* running, and nobody will join it */
	CPA_THREAD_DONE = 4	 /* joined, or exited after it was detached */
};

/*
 * A thread; written by itself but for `state` (atomic). key: the thread's id, never 0. When
 * CPA_THREADS_KEPT rows exist, or CPA_TREE_KEPT where they may be of thousands of processes, rows
 * of DONE threads are used again: sums go on, `earlier` counts the former users, `retired` is the
 * join of their last paths.
 */
struct cpa_thread {
	uint64_t key;
	uint32_t state;
	uint32_t next_done; /* row below this one on header.done */
	uint32_t tid;
	uint32_t component;   /* component row, kind CPA_THREAD */
	uint32_t thread_slot; /* its slot */
	uint32_t writing; /* atomic: odd while paths and sums change, see shadow/graph/checkpoint.h */
	uint64_t handle; /* pthread_t */
	uint64_t start_ticks, end_ticks;
	/*
	 * Sums up to the last event, ticks. CPU clock: before + process + wait_cpu + probe + off.
	 */
	uint64_t before; /* CPU time before the first activity: the loader, our constructor */
	uint64_t process;
	uint64_t external;
	uint64_t runqueue;
	uint64_t wait;	   /* blocked in synchronization */
	uint64_t wait_cpu; /* CPU time inside such waits: spinning, system calls */
	uint64_t probe;
	uint64_t events;
	uint64_t off;		/* CPU time between parts of the run */
	uint32_t node;		/* PAG node of its last event */
	uint32_t last_function; /* of the last sample, see shadow/graph/component.h */
	uint32_t held_count;
	uint32_t held_slot[CPA_HELD_MAX];  /* slots of the classes of the locks it holds */
	uint32_t held_times[CPA_HELD_MAX]; /* locks of that class */
	uint32_t earlier; /* threads that used the row before, and whose sums it holds too */
	uint64_t left; /* atomic: the latest epoch whose final node has its path; shadow/edge/part.h */
	char name[16];
	uint64_t totals; /* offset of uint64_t[totals_slots]: process time by slot, on any path;
			    external time for slots of kind CPA_EXTERNAL */
	uint64_t totals_slots;
	/* See shadow/graph/checkpoint.h: the latest boundary passed, that passed when the row was new. */
	uint64_t period, first_period; /* atomic */
	uint64_t checkpoint[2];	       /* atomic: offsets of struct cpa_checkpoint; 0: none */
	uint64_t held_external;	 /* offset of uint64_t[totals_slots]: external time in held slots;
				   0: there was none */
	struct cpa_path path;	 /* the thread's own; `released` is the clock of its last event */
	struct cpa_path retired; /* join of the last paths of earlier users of the row */
	uint64_t edges; /* offset of struct cpa_edge_cache[CPA_EDGE_CACHE] while it runs; 0: none */
	uint64_t bytes_read, bytes_written; /* by calls of its own, see preload/sync/external.c */
	/* Whose thread it is, or was; the sums when it began, or were last given to the process. */
	uint32_t process_row, pad;
	uint64_t process_key;
	struct cpa_process_sums given;
} __attribute__((aligned(CPA_CACHE_LINE)));

#endif
